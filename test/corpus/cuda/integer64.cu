// 64-bit arithmetic, which the machine does in 32-bit halves with carries.
extern "C" __global__ void arith64(const long long* a, const long long* b, long long* out) {
  int i = threadIdx.x;
  long long x = a[i], y = b[i];
  out[8 * i + 0] = x + y;
  out[8 * i + 1] = x - y;
  out[8 * i + 2] = x * y;
  out[8 * i + 3] = __mul64hi(x, y);
  out[8 * i + 4] = -x;
  out[8 * i + 5] = x < 0 ? -x : x;
  out[8 * i + 6] = x > y ? x : y;
  out[8 * i + 7] = x * 1000003 + y;
}

extern "C" __global__ void arithU64(const unsigned long long* a, unsigned long long* out, unsigned long long k) {
  int i = threadIdx.x;
  unsigned long long x = a[i];
  out[4 * i + 0] = __umul64hi(x, k);
  out[4 * i + 1] = x * k + 1;
  out[4 * i + 2] = x < k ? x : k;
  out[4 * i + 3] = (x >> 7) + (x << 9);
}
