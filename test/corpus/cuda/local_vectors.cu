// Vectors in local memory, passed by reference to a function that is not inlined.
__device__ __noinline__ void rotate(float4* v, int n) {
  for (int i = 0; i < n; ++i)
    v[i] = make_float4(v[i].y, v[i].z, v[i].w, v[i].x * 2.0f);
}

extern "C" __global__ void localVectors(const float4* in, float4* out, int n) {
  float4 v[4];
  int t = threadIdx.x;
  for (int i = 0; i < 4; ++i)
    v[i] = in[t * 4 + i];
  rotate(v, n & 3);
  float4 s = v[t & 3];
  out[t] = make_float4(s.x + v[0].x, s.y + v[1].y, s.z - v[2].z, s.w * v[3].w);
}
