// Two-dimensional convolution: weights in constant memory, a tile with its border in shared memory.

__constant__ float kernel5[25] = {1, 4, 6, 4, 1, 4, 16, 24, 16, 4, 6, 24, 36, 24, 6, 4, 16, 24, 16, 4, 1, 4, 6, 4, 1};

extern "C" __global__ void convolve(const float* in, float* out, int width, int height) {
  __shared__ float tile[12][20];
  int x0 = blockIdx.x * 16, y0 = blockIdx.y * 8;
  for (int i = threadIdx.y * 16 + threadIdx.x; i < 12 * 20; i += 128) {
    int x = x0 + i % 20 - 2, y = y0 + i / 20 - 2;
    tile[i / 20][i % 20] = x >= 0 && x < width && y >= 0 && y < height ? in[y * width + x] : 0.0f;
  }
  __syncthreads();
  int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x >= width || y >= height) return;
  float s = 0;
#pragma unroll
  for (int dy = 0; dy < 5; ++dy)
#pragma unroll
    for (int dx = 0; dx < 5; ++dx)
      s += kernel5[dy * 5 + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
  out[y * width + x] = s / 256.0f;
}
