// Static shared memory: a tile of two dimensions, bank-conflict padding, several arrays in one kernel.
extern "C" __global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  x = blockIdx.y * 16 + threadIdx.x;
  y = blockIdx.x * 16 + threadIdx.y;
  if (x < height && y < width) out[y * height + x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void twoArrays(const int* in, int* out) {
  __shared__ int forward[128];
  __shared__ short backward[128];
  int i = threadIdx.x;
  forward[i] = in[i];
  backward[127 - i] = (short)in[i];
  __syncthreads();
  out[i] = forward[127 - i] - backward[i];
}
