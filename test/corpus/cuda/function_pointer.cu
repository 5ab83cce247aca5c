// Indirect calls through a table of functions.
__device__ __noinline__ float twice(float x) {
  return x + x;
}
__device__ __noinline__ float square(float x) {
  return x * x;
}
__device__ __noinline__ float negate(float x) {
  return -x;
}

typedef float (*Function)(float);
__device__ Function functions[3] = {twice, square, negate};

extern "C" __global__ void indirectCalls(const float* a, float* out) {
  int i = threadIdx.x;
  out[i] = functions[i % 3](a[i]) + 1.0f;
}
