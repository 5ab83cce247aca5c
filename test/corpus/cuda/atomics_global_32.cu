// Atomic operations on 32 bits in global memory whose old value is used; each lane has a cell of its own, so it is
// known.
extern "C" __global__ void atomics32(int* cells, unsigned* unsignedCells, float* floatCells, int* out) {
  int t = threadIdx.x;
  int* c = cells + 8 * t;
  unsigned* u = unsignedCells + 6 * t;
  int* o = out + 16 * t;
  o[0] = atomicAdd(c + 0, t);
  o[1] = atomicSub(c + 1, 3);
  o[2] = atomicMin(c + 2, -t);
  o[3] = atomicMax(c + 3, t);
  o[4] = atomicAnd(c + 4, 0xf0f0);
  o[5] = atomicOr(c + 5, t);
  o[6] = atomicXor(c + 6, 0x5555);
  o[7] = atomicExch(c + 7, t * 2);
  o[8] = atomicInc(u + 0, 17);
  o[9] = atomicDec(u + 1, 17);
  o[10] = atomicMin(u + 2, 100u);
  o[11] = atomicMax(u + 3, 100u);
  o[12] = atomicCAS(u + 4, 0u, (unsigned)t);
  o[13] = (int)atomicAdd(floatCells + t, 1.5f);
}

extern "C" __global__ void sumByCas(const float* in, float* total) {
  int* address = reinterpret_cast<int*>(total);
  int old = *address, assumed;
  do {
    assumed = old;
    old = atomicCAS(address, assumed, __float_as_int(__int_as_float(assumed) + in[threadIdx.x]));
  } while (assumed != old);
}
