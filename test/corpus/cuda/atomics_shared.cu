// Atomic operations in shared memory, native ones and those that become loops.
extern "C" __global__ void sharedAtomics(const int* in, int* out, double* outD) {
  __shared__ int bins[16];
  __shared__ unsigned long long wide;
  __shared__ float sum;
  __shared__ double sumD;
  int t = threadIdx.x;
  if (t < 16) bins[t] = 0;
  if (t == 0) {
    wide = 0;
    sum = 0;
    sumD = 0;
  }
  __syncthreads();
  int x = in[t];
  atomicAdd(&bins[x & 7], 1);
  atomicMax(&bins[8], x);
  atomicMin(&bins[9], x);
  atomicOr(&bins[10], 1 << (t & 31));
  atomicXor(&bins[11], x);
  atomicAnd(&bins[12], x);
  atomicAdd(&wide, (unsigned long long)x);
  atomicAdd(&sum, 0.25f);
  atomicAdd(&sumD, 0.5);
  int swapped = atomicCAS(&bins[13], 0, 99);
  __syncthreads();
  if (t < 13) out[t] = bins[t];
  out[16 + t] = (swapped == 0 || swapped == 99);
  if (t == 0) {
    out[13] = (int)wide;
    outD[0] = sum;
    outD[1] = sumD;
  }
}
