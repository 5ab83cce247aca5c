// Bitonic sort of a block: nested loops, barriers, divergent swaps.
extern "C" __global__ void bitonicSort(const unsigned* in, unsigned* out) {
  __shared__ unsigned keys[256];
  unsigned t = threadIdx.x;
  keys[t] = in[t];
  __syncthreads();
  for (unsigned size = 2; size <= 256; size *= 2)
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      unsigned other = t ^ stride;
      if (other > t) {
        bool up = (t & size) == 0;
        unsigned x = keys[t], y = keys[other];
        if ((x > y) == up) {
          keys[t] = y;
          keys[other] = x;
        }
      }
      __syncthreads();
    }
  out[t] = keys[t];
}
