// A barrier object in shared memory: producers arrive, consumers wait for the phase; twice.

extern "C" __global__ void phases(const int* in, int* out) {
  __shared__ unsigned long long barrier;
  __shared__ int values[64];
  unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
  int t = threadIdx.x;
  if (t == 0) asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(at) : "memory");
  __syncthreads();
  for (unsigned phase = 0; phase < 2; ++phase) {
    values[t] = in[64 * phase + t];
    asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(at) : "memory");
    unsigned done;
    do
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(at), "r"(phase)
                   : "memory");
    while (!done);
    out[64 * phase + t] = values[63 - t];
    __syncthreads();
  }
}
