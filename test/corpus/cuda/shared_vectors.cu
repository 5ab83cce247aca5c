// Vector and narrow accesses to shared memory.
extern "C" __global__ void sharedVectors(const float4* in, float2* out, unsigned char* bytes) {
  __shared__ float4 wide[64];
  __shared__ unsigned char narrow[256];
  __shared__ double pairs[64];
  int i = threadIdx.x;
  wide[i] = in[i];
  narrow[4 * i + 0] = i;
  narrow[4 * i + 1] = i >> 1;
  narrow[4 * i + 2] = i * 3;
  narrow[4 * i + 3] = ~i;
  pairs[i] = i * 0.5;
  __syncthreads();
  float4 v = wide[63 - i];
  const float2* halves = reinterpret_cast<const float2*>(wide);
  float2 h = halves[i];
  out[i] = make_float2(v.x + v.w + h.x, v.y * v.z - h.y + (float)pairs[63 - i]);
  bytes[i] = narrow[255 - i] + (signed char)narrow[i];
}
