// Two kernels that share functions: some through pointers, some that call themselves, with shared memory and a frame.
#include <cstdio>
__constant__ int factors[4] = {1, 2, 3, 4};
__device__ int start = 7;
extern __shared__ int sized[];
typedef int (*Step)(int);
__device__ __noinline__ int wide(int x) {
  __shared__ int t[8];
  t[x & 7] = x;
  __syncthreads();
  int a[20];
  for (int i = 0; i < 20; i++) a[i] = x * i;
  return a[x % 20] + t[1] + sized[3];
}
__device__ __noinline__ int triple(int x) { return x * 3; }
__device__ __noinline__ int faculty(int x) { return x < 2 ? 1 : x * faculty(x - 1); }
__device__ Step steps[2] = {wide, triple};
__global__ void first(int *out, int n) {
  __shared__ int lanes[32];
  lanes[threadIdx.x] = n;
  __syncthreads();
  if (n == 77) printf("%d\n", n);
  out[threadIdx.x] = wide(n) + factors[n & 3] + start + lanes[31 - threadIdx.x] + steps[n & 1](n) + faculty(n);
}
__global__ void second(int *out, int n) {
  __shared__ int lanes[40];
  lanes[threadIdx.x] = n;
  __syncthreads();
  Step step = n ? wide : triple;
  out[threadIdx.x] = wide(n) + lanes[31 - threadIdx.x] + step(n);
}
