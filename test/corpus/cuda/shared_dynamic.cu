// Dynamic shared memory, its size chosen at launch, cut into parts of different types.
extern __shared__ unsigned char pool[];

extern "C" __global__ void dynamicParts(const double* in, double* out, int n) {
  double* values = reinterpret_cast<double*>(pool);
  int* indices = reinterpret_cast<int*>(values + n);
  int i = threadIdx.x;
  if (i < n) {
    values[i] = in[i];
    indices[i] = (i * 7 + 3) % n;
  }
  __syncthreads();
  if (i < n) out[i] = values[indices[i]] + pool[i % 8];
}
