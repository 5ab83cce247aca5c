// Gravitation of bodies in shared tiles; reciprocal square roots.
extern "C" __global__ void forces(const float4* bodies, float3* out, int n) {
  __shared__ float4 tile[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  float4 me = bodies[i];
  float3 f = make_float3(0, 0, 0);
  for (int base = 0; base < n; base += 64) {
    tile[threadIdx.x] = bodies[base + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < 64; ++j) {
      float4 b = tile[j];
      float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
      float d = dx * dx + dy * dy + dz * dz + 1e-3f;
      float w = rsqrtf(d);
      w = b.w * w * w * w;
      f.x += dx * w;
      f.y += dy * w;
      f.z += dz * w;
    }
    __syncthreads();
  }
  out[i] = f;
}
