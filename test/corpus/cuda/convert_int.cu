// Conversions between integers of 8, 16, 32 and 64 bits, signed and unsigned, and saturating packs.
extern "C" __global__ void widen(const signed char* c, const unsigned char* uc, const short* s,
                                 const unsigned short* us, const int* w, long long* out) {
  int i = threadIdx.x;
  out[8 * i + 0] = c[i];
  out[8 * i + 1] = uc[i];
  out[8 * i + 2] = s[i];
  out[8 * i + 3] = us[i];
  out[8 * i + 4] = w[i];
  out[8 * i + 5] = (unsigned)w[i];
  out[8 * i + 6] = (signed char)w[i];
  out[8 * i + 7] = (unsigned short)w[i];
}

extern "C" __global__ void narrow(const long long* a, signed char* c, short* s, int* w) {
  int i = threadIdx.x;
  c[i] = (signed char)a[i];
  s[i] = (short)a[i];
  w[i] = (int)a[i] + (signed char)(a[i] >> 8) + (short)(a[i] >> 16);
}

extern "C" __global__ void saturate(const int* a, const int* b, int* out) {
  int i = threadIdx.x;
  int r;
  asm("cvt.sat.s8.s32 %0, %1;" : "=r"(r) : "r"(a[i]));
  out[4 * i + 0] = r;
  asm("cvt.sat.u16.s32 %0, %1;" : "=r"(r) : "r"(a[i]));
  out[4 * i + 1] = r;
  asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(r) : "r"(a[i]), "r"(b[i]));
  out[4 * i + 2] = r;
  asm("add.sat.s32 %0, %1, %2;" : "=r"(r) : "r"(a[i]), "r"(b[i]));
  out[4 * i + 3] = r;
}
