// Softmax of a row a block: a maximum and a sum over the block, exponentials between them.

__device__ float reduceMax(float x, float* scratch) {
  for (int d = 16; d > 0; d >>= 1)
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, d));
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = x;
  __syncthreads();
  x = scratch[0];
  for (int w = 1; w < (int)blockDim.x >> 5; ++w)
    x = fmaxf(x, scratch[w]);
  __syncthreads();
  return x;
}

__device__ float reduceSum(float x, float* scratch) {
  for (int d = 16; d > 0; d >>= 1)
    x += __shfl_xor_sync(0xffffffffu, x, d);
  if ((threadIdx.x & 31) == 0) scratch[threadIdx.x >> 5] = x;
  __syncthreads();
  x = 0;
  for (int w = 0; w < (int)blockDim.x >> 5; ++w)
    x += scratch[w];
  __syncthreads();
  return x;
}

extern "C" __global__ void softmax(const float* in, float* out, int columns) {
  __shared__ float scratch[32];
  const float* row = in + blockIdx.x * columns;
  float most = -__int_as_float(0x7f800000);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    most = fmaxf(most, row[i]);
  most = reduceMax(most, scratch);
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    sum += __expf(row[i] - most);
  sum = reduceSum(sum, scratch);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[blockIdx.x * columns + i] = __expf(row[i] - most) / sum;
}

// Layer normalisation: mean and variance of a row, then a scale and a shift of each column.
extern "C" __global__ void layerNorm(const float* in, const float* scale, const float* shift, float* out, int columns) {
  __shared__ float scratch[32];
  const float* row = in + blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x) {
    sum += row[i];
    squares += row[i] * row[i];
  }
  float mean = reduceSum(sum, scratch) / columns;
  float variance = reduceSum(squares, scratch) / columns - mean * mean;
  float factor = rsqrtf(variance + 1e-5f);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[blockIdx.x * columns + i] = (row[i] - mean) * factor * scale[i] + shift[i];
}
