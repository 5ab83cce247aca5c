// Atomic operations on 64 bits in global memory.
extern "C" __global__ void atomics64(unsigned long long* cells, long long* signedCells, double* doubles,
                                     unsigned long long* out) {
  int t = threadIdx.x;
  unsigned long long *c = cells + 8 * t, *o = out + 12 * t;
  unsigned long long x = 0x100000001ull * (t + 1);
  o[0] = atomicAdd(c + 0, x);
  o[1] = atomicMin(c + 1, x);
  o[2] = atomicMax(c + 2, x);
  o[3] = atomicAnd(c + 3, x);
  o[4] = atomicOr(c + 4, x);
  o[5] = atomicXor(c + 5, x);
  o[6] = atomicExch(c + 6, x);
  o[7] = atomicCAS(c + 7, 0ull, x);
  o[8] = atomicMin(signedCells + 2 * t, -(long long)x);
  o[9] = atomicMax(signedCells + 2 * t + 1, (long long)x);
  o[10] = (unsigned long long)atomicAdd(doubles + t, 2.5);
}
