// More live values than a small register budget holds: what spilling is tested with.
extern "C" __global__ void manyLive(const float* in, float* out) {
  float v[48];
  int t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < 48; ++i)
    v[i] = in[i * 32 + t];
#pragma unroll
  for (int k = 0; k < 3; ++k)
#pragma unroll
    for (int i = 0; i < 48; ++i)
      v[i] = v[i] * v[(i + 17) % 48] + v[(i * 5 + k) % 48];
  float s = 0;
#pragma unroll
  for (int i = 0; i < 48; ++i)
    s = s * 1.25f + v[i];
  out[t] = s;
}

extern "C" __global__ void manyLiveDoubles(const double* in, double* out) {
  double v[24];
  int t = threadIdx.x;
#pragma unroll
  for (int i = 0; i < 24; ++i)
    v[i] = in[i * 32 + t];
#pragma unroll
  for (int i = 0; i < 24; ++i)
    v[i] = v[i] * v[(i + 7) % 24] - v[(i * 5) % 24];
  double s = 1;
#pragma unroll
  for (int i = 0; i < 24; ++i)
    s = s * 0.5 + v[i];
  out[t] = s;
}
