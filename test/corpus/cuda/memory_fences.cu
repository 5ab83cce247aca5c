// Fences of every scope, and the release and acquire forms of stores and loads.
extern "C" __global__ void fences(int* data, int* flag) {
  int t = threadIdx.x;
  data[t] = t * t;
  __threadfence_block();
  data[t + 32] = t;
  __threadfence();
  if (t == 0) *flag = 1;
  __threadfence_system();
  data[t + 64] = *flag | 1;
}

extern "C" __global__ void orderedAccess(unsigned* a, unsigned* out) {
  unsigned t = threadIdx.x, r;
  unsigned* p = a + t;
  asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(t * 3) : "memory");
  asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(r + 1) : "memory");
  asm volatile("fence.acq_rel.gpu;" ::: "memory");
  asm volatile("ld.relaxed.cta.global.u32 %0, [%1];" : "=r"(r) : "l"(p) : "memory");
  asm volatile("fence.sc.sys;" ::: "memory");
  out[t] = r;
}
