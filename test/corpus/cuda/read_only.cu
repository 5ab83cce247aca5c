// Loads through the read-only path in every width, which `const __restrict__` asks for.
extern "C" __global__ void readOnly(const unsigned char* __restrict__ c, const short* __restrict__ s,
                                    const int* __restrict__ w, const long long* __restrict__ l,
                                    const float* __restrict__ f, const double* __restrict__ d,
                                    double* __restrict__ out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = c[i] + s[i] + w[i] + l[i] + f[i] + d[i];
}

extern "C" __global__ void readOnlyVectors(const uint2* __restrict__ w2, const uint4* __restrict__ w4,
                                           const ulonglong2* __restrict__ l2, const float2* __restrict__ f2,
                                           const float4* __restrict__ f4, const double2* __restrict__ d2,
                                           uint4* __restrict__ out, double2* __restrict__ outD) {
  int i = threadIdx.x;
  uint2 a = w2[i];
  uint4 b = w4[i];
  ulonglong2 l = l2[i];
  float2 f = f2[i];
  float4 g = f4[i];
  double2 d = d2[i];
  out[i] = make_uint4(a.x + b.x, a.y ^ b.y, b.z + (unsigned)l.x, b.w - (unsigned)l.y);
  outD[i] = make_double2(d.x * f.x + g.y, d.y + f.y - g.x * g.z + g.w);
}
