// 64-bit division, a subroutine or a long inline sequence on this machine.
extern "C" __global__ void divide64(const long long* a, const long long* b, long long* out) {
  int i = threadIdx.x;
  long long d = b[i] | 1;
  out[2 * i + 0] = a[i] / d;
  out[2 * i + 1] = a[i] % d;
}

extern "C" __global__ void divideU64(const unsigned long long* a, unsigned long long d, unsigned long long* out) {
  int i = threadIdx.x;
  out[2 * i + 0] = a[i] / (d | 1);
  out[2 * i + 1] = a[i] % (d | 1);
}
