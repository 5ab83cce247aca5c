__global__ void child(float* p, float v) { p[threadIdx.x] *= v; }
__device__ __noinline__ int start(float* p, int n, float v) {
  child<<<(n + 31) / 32, 32>>>(p, v);
  return cudaGetLastError();
}
__global__ void parent(float* p, int n, int* errors) { errors[threadIdx.x] = start(p, n, 2.0f) + start(p + n, n, 3.0f); }
int main() { parent<<<1, 2>>>(nullptr, 5, nullptr); }
