// Cache operators of loads and stores, the read-only path, prefetches and volatile accesses.
extern "C" __global__ void cacheLoads(const int* __restrict__ a, const float4* b, int* out, float4* out4) {
  int i = threadIdx.x;
  int r =
      __ldg(a + i) + __ldca(a + i + 1) + __ldcg(a + i + 2) + __ldcs(a + i + 3) + __ldlu(a + i + 4) + __ldcv(a + i + 5);
  out[i] = r;
  float4 v = __ldcs(b + i);
  float4 w = __ldg(b + i + 1);
  out4[i] = make_float4(v.x + w.x, v.y + w.y, v.z + w.z, v.w + w.w);
}

extern "C" __global__ void cacheStores(int* a, long long* b, float4* c, int x) {
  int i = threadIdx.x;
  __stwb(a + i, x);
  __stcg(a + i + 32, x + 1);
  __stcs(a + i + 64, x + 2);
  __stwt(a + i + 96, x + 3);
  __stcs(b + i, (long long)x);
  __stcg(c + i, make_float4(x, 1, 2, 3));
}

extern "C" __global__ void prefetches(const char* p, int* out) {
  int i = threadIdx.x;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p + 128 * i));
  asm volatile("prefetch.global.L1 [%0];" ::"l"(p + 128 * i + 64));
  out[i] = p[128 * i];
}

extern "C" __global__ void volatiles(volatile int* a, volatile float* b) {
  int i = threadIdx.x;
  a[i] = a[i] + a[i];
  b[i] = b[i] * 2.0f;
}
