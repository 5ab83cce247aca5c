// Inclusive prefix sum of a block in shared memory (two barriers a step).
extern "C" __global__ void blockScan(const int* in, int* out) {
  __shared__ int values[256];
  int t = threadIdx.x;
  values[t] = in[t];
  for (int d = 1; d < 256; d *= 2) {
    __syncthreads();
    int x = t >= d ? values[t - d] : 0;
    __syncthreads();
    values[t] += x;
  }
  out[t] = values[t];
}
