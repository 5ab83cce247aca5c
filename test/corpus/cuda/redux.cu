// Warp-wide integer reductions in one instruction.
extern "C" __global__ void reduxAll(const int* a, int* out) {
  int t = threadIdx.x, x = a[t];
  out[8 * t + 0] = __reduce_add_sync(0xffffffffu, x);
  out[8 * t + 1] = __reduce_min_sync(0xffffffffu, x);
  out[8 * t + 2] = __reduce_max_sync(0xffffffffu, x);
  out[8 * t + 3] = __reduce_min_sync(0xffffffffu, (unsigned)x);
  out[8 * t + 4] = __reduce_max_sync(0xffffffffu, (unsigned)x);
  out[8 * t + 5] = __reduce_and_sync(0xffffffffu, (unsigned)x);
  out[8 * t + 6] = __reduce_or_sync(0xffffffffu, (unsigned)x);
  out[8 * t + 7] = __reduce_xor_sync(0xffffffffu, (unsigned)x);
}
