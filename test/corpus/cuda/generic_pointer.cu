// Generic addresses: one pointer may lead to global, shared or local memory, decided at run time.
__device__ __noinline__ int sumOf(const int* p, int n) {
  int s = 0;
  for (int i = 0; i < n; ++i)
    s += p[i];
  return s;
}

extern "C" __global__ void generic(const int* global, int* out, int n) {
  __shared__ int shared[32];
  int t = threadIdx.x;
  shared[t] = global[t] * 2;
  __syncthreads();
  const int* p = (global[t] & 1) ? global : shared;
  out[t] = p[(t + 1) & 31];
  out[32 + t] = sumOf(p, n);
}

extern "C" __global__ void addressSpaces(const int* p, int* out) {
  __shared__ int s;
  int local = 0;
  int* pointers[3] = {const_cast<int*>(p), &s, &local};
  int which = out[threadIdx.x] % 3u;
  int* q = pointers[which];
  out[threadIdx.x] = __isGlobal(q) * 1 + __isShared(q) * 2 + __isLocal(q) * 4 + __isConstant(q) * 8;
}
