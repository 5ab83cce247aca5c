// Points in a quarter of a circle, drawn by a linear congruential generator with a jump for each thread.

extern "C" __global__ void quarterCircle(unsigned long long seed, int draws, unsigned* hits, unsigned* total) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long a = 6364136223846793005ull, c = 1442695040888963407ull, state = seed;
  for (unsigned n = t * 1000u; n != 0; n >>= 1) {
    if (n & 1) state = state * a + c;
    c *= a + 1;
    a *= a;
  }
  unsigned inside = 0;
  for (int i = 0; i < draws; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    unsigned x = (unsigned)(state >> 40);
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    unsigned y = (unsigned)(state >> 40);
    inside += (unsigned long long)x * x + (unsigned long long)y * y < 1ull << 48;
  }
  hits[t] = inside;
  atomicAdd(total, inside);
}
