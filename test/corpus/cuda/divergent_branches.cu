// Nested conditions on values that differ between lanes, with joins that later warp operations rely on.
extern "C" __global__ void nested(const int* a, int* out) {
  int i = threadIdx.x;
  int x = a[i], r = 0;
  if (x & 1) {
    if (x & 2) {
      r = x * 3;
      for (int k = 0; k < (x & 7); ++k)
        r ^= r << 1;
    } else {
      r = a[(i * 5) & 31] - x;
    }
    r += 1000;
  } else if (x > 50) {
    r = x / 3;
    out[64 + i] = r;
  } else {
    r = -x;
  }
  out[i] = r + __shfl_xor_sync(0xffffffffu, r, 1);
}

extern "C" __global__ void joinThenVote(const int* a, unsigned* out) {
  int i = threadIdx.x, x = a[i];
  if (x > 10) {
    x = a[x & 31];
    if (x > 20) x = a[(x + 1) & 31];
  }
  __syncwarp();
  out[i] = __ballot_sync(0xffffffffu, x & 1);
}
