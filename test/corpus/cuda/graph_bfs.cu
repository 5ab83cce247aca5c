// One step of a breadth-first search: vertices of the frontier mark their neighbours; counts in shared memory.

extern "C" __global__ void bfsStep(const int* rows, const int* columns, int* level, int depth, int n, int* found) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v < n && level[v] == depth) {
    for (int e = rows[v]; e < rows[v + 1]; ++e)
      if (atomicCAS(&level[columns[e]], -1, depth + 1) == -1) atomicAdd(&count, 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(found, count);
}
