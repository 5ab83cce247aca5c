// Directives that bound launches: most threads a block, least blocks a multiprocessor.
extern "C" __global__ __launch_bounds__(128) void bounded(int* a) {
  a[threadIdx.x] += 1;
}

extern "C" __global__ __launch_bounds__(256, 4) void boundedBlocks(const int4* a, int4* b) {
  int4 v = a[blockIdx.x * 256 + threadIdx.x];
  b[blockIdx.x * 256 + threadIdx.x] = make_int4(v.w, v.z, v.y, v.x);
}
