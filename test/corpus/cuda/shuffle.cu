// Lane exchange in its four modes, with segments and with 64-bit values.
extern "C" __global__ void shuffles(const int* a, int* out) {
  int t = threadIdx.x, x = a[t];
  out[7 * t + 0] = __shfl_sync(0xffffffffu, x, 3);
  out[7 * t + 1] = __shfl_sync(0xffffffffu, x, (t * 7) & 31);
  out[7 * t + 2] = __shfl_up_sync(0xffffffffu, x, 2);
  out[7 * t + 3] = __shfl_down_sync(0xffffffffu, x, 1, 8);
  out[7 * t + 4] = __shfl_xor_sync(0xffffffffu, x, 16);
  out[7 * t + 5] = __shfl_xor_sync(0xffffffffu, x, a[0] & 31, 16);
  long long w = __shfl_down_sync(0xffffffffu, (long long)x << 20, 4);
  out[7 * t + 6] = (int)(w >> 13);
}

extern "C" __global__ void warpScan(const float* a, float* out) {
  int t = threadIdx.x;
  float x = a[t];
  for (int d = 1; d < 32; d *= 2) {
    float y = __shfl_up_sync(0xffffffffu, x, d);
    if (t >= d) x += y;
  }
  out[t] = x;
}
