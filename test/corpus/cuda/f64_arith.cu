// Double precision arithmetic with rounding modes; values live in register pairs.
extern "C" __global__ void arithDouble(const double* a, const double* b, double* out) {
  int i = threadIdx.x;
  double x = a[i], y = b[i];
  out[10 * i + 0] = x + y;
  out[10 * i + 1] = x - y;
  out[10 * i + 2] = x * y;
  out[10 * i + 3] = x * y + 0.5;
  out[10 * i + 4] = __dadd_rz(x, y);
  out[10 * i + 5] = __dmul_ru(x, y);
  out[10 * i + 6] = __fma_rd(x, y, x);
  out[10 * i + 7] = -x * fabs(y);
  out[10 * i + 8] = x < y ? x + 1.0 : y * 3.25;
  out[10 * i + 9] = 1e300 * x;
}

extern "C" __global__ void sumDoubles(const double* a, double* out, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i)
    s += a[i * blockDim.x + threadIdx.x] * i;
  out[threadIdx.x] = s;
}
