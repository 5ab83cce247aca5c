// Threads that leave early, before and inside loops, and one that never does anything.
extern "C" __global__ void earlyReturn(const int* a, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i];
  if (x < 0) {
    out[i] = -1;
    return;
  }
  for (int k = 0; k < 10; ++k) {
    x = x * 7 % 31;
    if (x == 5) {
      out[i] = k;
      return;
    }
  }
  out[i] = x + 100;
}
