// Votes and matches of a warp.
extern "C" __global__ void votes(const int* a, unsigned* out) {
  int t = threadIdx.x, x = a[t], same;
  out[6 * t + 0] = __ballot_sync(0xffffffffu, x > 5);
  out[6 * t + 1] = __any_sync(0xffffffffu, x == 7);
  out[6 * t + 2] = __all_sync(0xffffffffu, x >= 0);
  out[6 * t + 3] = __uni_sync(0xffffffffu, x & 1);
  out[6 * t + 4] = __match_any_sync(0xffffffffu, x & 3);
  out[6 * t + 5] = __match_all_sync(0xffffffffu, (unsigned long long)x >> 4, &same) + same;
}

extern "C" __global__ void activeLanes(const int* a, unsigned* out) {
  int t = threadIdx.x;
  out[t] = 0;
  if (a[t] & 1) out[t] = __popc(__ballot_sync(__activemask(), 1)) > 0;
}
