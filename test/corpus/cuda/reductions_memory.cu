// Atomics whose result nobody reads: the machine has shorter instructions for them.
extern "C" __global__ void reductions(int* a, unsigned* u, unsigned long long* w, float* f, double* d) {
  int t = threadIdx.x;
  atomicAdd(a + 0, t);
  atomicMin(a + 1, t);
  atomicMax(a + 2, t);
  atomicAnd(a + 3, t | 0xff00);
  atomicOr(a + 4, t);
  atomicXor(a + 5, t);
  atomicAdd(u + 0, 1u);
  atomicInc(u + 1, 1000u);
  atomicDec(u + 2, 1000u);
  atomicMax(u + 3, (unsigned)t);
  atomicAdd(w + 0, 1ull << 33);
  atomicMax(w + 1, (unsigned long long)t << 20);
  atomicOr(w + 2, 1ull << t);
  atomicAdd(f, 1.0f);
  atomicAdd(d, 1.0);
}

extern "C" __global__ void redForms(int* a, int x) {
  asm volatile("red.global.add.s32 [%0], %1;" ::"l"(a + 8), "r"(x) : "memory");
  asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" ::"l"(a + 9), "r"(x) : "memory");
  asm volatile("red.release.sys.global.or.b32 [%0], %1;" ::"l"(a + 10), "r"(x) : "memory");
}
