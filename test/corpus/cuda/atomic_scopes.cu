// Atomics of block and system scope, and with explicit ordering.
extern "C" __global__ void scopes(int* a, int* out) {
  int t = threadIdx.x;
  out[4 * t + 0] = atomicAdd_block(a + 4 * t, 1);
  out[4 * t + 1] = atomicAdd_system(a + 4 * t + 1, 2);
  out[4 * t + 2] = atomicCAS_system(a + 4 * t + 2, 0, t);
  int old;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;" : "=r"(old) : "l"(a + 4 * t + 3), "r"(t) : "memory");
  out[4 * t + 3] = old;
}
