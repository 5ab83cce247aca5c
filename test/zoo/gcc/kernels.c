/* OpenACC and OpenMP: what gcc's nvptx back end makes of loops, reductions, atomics and calls. */
#pragma omp declare target
#pragma acc routine seq
__attribute__((noinline)) static double polynomial(double x, int degree) {
  double sum = 0;
  for (int k = degree; k >= 0; --k)
    sum = sum * x + (k % 3 - 1);
  return sum;
}

struct complex_number {
  double re, im;
};

#pragma acc routine seq
__attribute__((noinline)) static void square(struct complex_number *z) {
  const double re = z->re * z->re - z->im * z->im;
  z->im = 2 * z->re * z->im;
  z->re = re;
}
#pragma omp end declare target

void saxpy(int n, float a, const float *x, float *y) {
#pragma acc parallel loop copyin(x[:n]) copy(y[:n])
  for (int i = 0; i < n; ++i)
    y[i] += a * x[i];
}

double dot(int n, const double *x, const double *y) {
  double sum = 0;
#pragma acc parallel loop reduction(+ : sum) copyin(x[:n], y[:n])
  for (int i = 0; i < n; ++i)
    sum += x[i] * y[i];
  return sum;
}

void multiply(int n, const float *a, const float *b, float *c) {
#pragma acc parallel loop gang copyin(a[:n * n], b[:n * n]) copyout(c[:n * n])
  for (int i = 0; i < n; ++i)
#pragma acc loop worker
    for (int j = 0; j < n; ++j) {
      float sum = 0;
#pragma acc loop vector reduction(+ : sum)
      for (int k = 0; k < n; ++k)
        sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}

void histogram(int n, const unsigned char *values, int *bins) {
#pragma acc parallel loop copyin(values[:n]) copy(bins[:256])
  for (int i = 0; i < n; ++i)
#pragma acc atomic update
    ++bins[values[i]];
}

void evaluate(int n, const double *x, double *y) {
#pragma acc parallel loop copyin(x[:n]) copyout(y[:n])
  for (int i = 0; i < n; ++i)
    y[i] = polynomial(x[i], i & 15);
}

void julia(int n, const double *x, int *rounds) {
#pragma acc parallel loop copyin(x[:2 * n]) copyout(rounds[:n])
  for (int i = 0; i < n; ++i) {
    struct complex_number z = {x[2 * i], x[2 * i + 1]}, c = {-0.4, 0.6};
    int k = 0;
    while (k < 100 && z.re * z.re + z.im * z.im < 4) {
      square(&z);
      z.re += c.re;
      z.im += c.im;
      ++k;
    }
    rounds[i] = k;
  }
}

void relax(int n, const float *before, float *after) {
#pragma omp target teams distribute parallel for collapse(2) map(to : before[:n * n]) map(from : after[:n * n])
  for (int i = 1; i < n - 1; ++i)
    for (int j = 1; j < n - 1; ++j)
      after[i * n + j] = 0.25f * (before[(i - 1) * n + j] + before[(i + 1) * n + j] + before[i * n + j - 1] + before[i * n + j + 1]);
}

long largest(int n, const long *x) {
  long most = x[0];
#pragma omp target teams distribute parallel for reduction(max : most) map(to : x[:n])
  for (int i = 0; i < n; ++i)
    if (x[i] > most) most = x[i];
  return most;
}

void scan_rows(int n, int *x) {
#pragma omp target map(x[:n * n])
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < n; ++i)
    for (int j = 1; j < n; ++j)
      x[i * n + j] += x[i * n + j - 1];
}

int main(void) { return 0; }
