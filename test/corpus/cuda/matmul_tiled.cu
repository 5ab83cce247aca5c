// Matrix product through shared tiles, with an unrolled inner loop.
extern "C" __global__ __launch_bounds__(256) void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float ta[16][16], tb[16][16];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float s = 0;
  for (int k = 0; k < n; k += 16) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i)
      s += ta[y][i] * tb[i][x];
    __syncthreads();
  }
  c[row * n + column] = s;
}
