// Loads and stores of 8 to 128 bits, scalars and vectors, sign and zero extension, immediate offsets of both signs.
extern "C" __global__ void scalars(const signed char* s8, const unsigned char* u8, const short* s16,
                                   const unsigned short* u16, const int* s32, const long long* s64, float* f,
                                   long long* out) {
  int i = threadIdx.x + 1;
  out[8 * i + 0] = s8[i] + u8[i + 1];
  out[8 * i + 1] = s16[i - 1] + u16[i + 1];
  out[8 * i + 2] = s32[i + 100];
  out[8 * i + 3] = s64[i - 1];
  f[i] = s32[i];
  f[i + 64] = u8[i];
}

extern "C" __global__ void vectors(const uchar4* c4, const ushort2* s2, const int2* w2, const int4* w4,
                                   const longlong2* l2, const float4* f4, const double2* d2, int4* out, double2* outD) {
  int i = threadIdx.x;
  uchar4 c = c4[i];
  ushort2 s = s2[i];
  int2 a = w2[i];
  int4 b = w4[i];
  longlong2 l = l2[i];
  float4 f = f4[i];
  double2 d = d2[i];
  out[2 * i] = make_int4(c.x + b.w, c.y + s.x, c.z * a.x, c.w - (int)l.x);
  out[2 * i + 1] = make_int4(a.y, s.y, b.x ^ b.y, (int)l.y + b.z);
  outD[i] = make_double2(d.y + f.x * f.y, d.x - f.z * f.w);
}

extern "C" __global__ void copyBytes(const uchar2* in, uchar2* out, ushort4* wide) {
  int i = threadIdx.x;
  uchar2 v = in[i];
  out[i] = make_uchar2(v.y, v.x);
  wide[i] = make_ushort4(v.x, v.y, v.x + v.y, v.x - v.y);
}
