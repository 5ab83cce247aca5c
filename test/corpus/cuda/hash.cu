// Integer hashes: multiplications, rotations, 64-bit mixing.
extern "C" __global__ void murmur(const unsigned* data, unsigned* out, int n, unsigned seed) {
  unsigned h = seed ^ threadIdx.x;
  for (int i = 0; i < n; ++i) {
    unsigned k = data[i] * 0xcc9e2d51u;
    k = (k << 15) | (k >> 17);
    h ^= k * 0x1b873593u;
    h = ((h << 13) | (h >> 19)) * 5 + 0xe6546b64u;
  }
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  out[threadIdx.x] = h ^ (h >> 16);
}

extern "C" __global__ void splitMix(unsigned long long seed, unsigned long long* out) {
  unsigned long long z = seed + (blockIdx.x * blockDim.x + threadIdx.x + 1) * 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  out[blockIdx.x * blockDim.x + threadIdx.x] = z ^ (z >> 31);
}
