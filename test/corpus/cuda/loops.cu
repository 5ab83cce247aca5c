// Loops: counted, nested, with break and continue, bottom-tested, with trip counts that differ between lanes.
extern "C" __global__ void counted(const int* a, int* out, int n, int m) {
  int s = 0;
  for (int i = 0; i < n; ++i)
    for (int j = i; j < m; j += 2)
      s += a[i] * a[j] + threadIdx.x;
  out[threadIdx.x] = s;
}

extern "C" __global__ void breakContinue(const int* a, int* out, int n) {
  int t = threadIdx.x, s = 0;
  for (int i = 0; i < n; ++i) {
    int x = a[(i + t) % n];
    if (x == 0) continue;
    if (x < 0) {
      s -= 1;
      break;
    }
    s += x;
  }
  out[t] = s;
}

extern "C" __global__ void collatz(const unsigned* a, unsigned* steps) {
  unsigned x = a[threadIdx.x], n = 0;
  do {
    x = (x & 1) ? 3 * x + 1 : x >> 1;
    ++n;
  } while (x > 1 && n < 500);
  steps[threadIdx.x] = n;
}

extern "C" __global__ void unrolled(const float* a, float* out) {
  float s = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i)
    s = s * 0.5f + a[i * 32 + threadIdx.x];
  out[threadIdx.x] = s;
}
