// Copies from global to shared memory that do not pass through registers, in two stages.
#include <cuda_pipeline.h>

extern "C" __global__ void asyncCopy(const float4* in, float4* out, int tiles) {
  __shared__ float4 buffer[2][64];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&buffer[0][t], in + t, sizeof(float4));
  __pipeline_commit();
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles) __pipeline_memcpy_async(&buffer[(k + 1) & 1][t], in + (k + 1) * 64 + t, sizeof(float4));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    float4 v = buffer[k & 1][63 - t];
    out[k * 64 + t] = make_float4(v.w, v.z, v.y, v.x);
    __syncthreads();
  }
}
