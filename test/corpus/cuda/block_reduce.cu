// Sum of a block: warp shuffles, then shared memory.
extern "C" __global__ void blockSum(const float* in, float* out, int n) {
  __shared__ float partial[32];
  int t = threadIdx.x;
  float s = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
    s += in[i];
  for (int d = 16; d > 0; d >>= 1)
    s += __shfl_down_sync(0xffffffffu, s, d);
  if ((t & 31) == 0) partial[t >> 5] = s;
  __syncthreads();
  if (t < 32) {
    s = t < (blockDim.x >> 5) ? partial[t] : 0.0f;
    for (int d = 16; d > 0; d >>= 1)
      s += __shfl_xor_sync(0xffffffffu, s, d);
    if (t == 0) out[blockIdx.x] = s;
  }
}
