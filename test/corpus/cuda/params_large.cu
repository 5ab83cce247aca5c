// 4 KB of parameters, the most that the classic parameter space holds, read with varying indices.
struct Large {
  int values[1020];
};

extern "C" __global__ void largeParameters(Large large, int* out, int n) {
  int s = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    s += large.values[i];
  out[threadIdx.x] = s + large.values[1019];
}
