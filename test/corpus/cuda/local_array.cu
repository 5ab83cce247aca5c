// Local memory: an array per thread with indices known only at run time.
extern "C" __global__ void localArray(const int* in, int* out) {
  int stack[32];
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 32; ++i)
    stack[i] = in[t] * i + t;
  int s = 0;
#pragma unroll 1
  for (int i = 0; i < 32; ++i)
    s = s * 3 + stack[(s + i) & 31];
  out[t] = s;
}

extern "C" __global__ void localBytes(const unsigned char* in, double* out, int n) {
  unsigned char seen[64];
  double slots[4] = {0.0, 1.0, 2.0, 3.0};
  int t = threadIdx.x;
#pragma unroll 1
  for (int i = 0; i < 64; ++i)
    seen[i] = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) {
    ++seen[in[t + i] & 63];
    slots[in[i] & 3] += seen[in[t] & 63];
  }
  out[t] = slots[t & 3] + slots[in[t] & 3];
}
