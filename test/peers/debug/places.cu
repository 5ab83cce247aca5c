// Variables in registers, parameters, frame, shared, constant and global memory; a loop, blocks and a call.
struct Pair { float x; int n; };
__device__ int sums(int a, int b) {
  int s = 0;
  for (int i = 0; i < a; i++) s += b * i;
  return s;
}
__device__ int counters[4];
__constant__ int factor = 5;
__global__ void places(int *out, Pair p, int n) {
  __shared__ int lanes[32];
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  lanes[threadIdx.x] = i;
  __syncthreads();
  int r = sums(i, n) + factor + counters[i & 3];
  {
    int q = r * 2;
    out[i] = q + lanes[31 - threadIdx.x] + (int)p.x + p.n;
  }
}
