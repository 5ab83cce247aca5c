typedef void (*Kernel)(int*, int);
__global__ void add(int* p, int v) { p[threadIdx.x] += v; }
__global__ void multiply(int* p, int v) { p[threadIdx.x] *= v; }
__device__ int errors;
__constant__ int factor;
__global__ void parent(int* p, int which) {
  if (which)
    add<<<1, 32>>>(p, factor);
  else
    multiply<<<1, 32>>>(p, factor);
  Kernel kernel = which > 1 ? add : multiply;
  kernel<<<1, 32>>>(p, 7);
  if (cudaPeekAtLastError() != cudaSuccess) atomicAdd(&errors, 1);
}
int main() { parent<<<1, 1>>>(nullptr, 1); }
