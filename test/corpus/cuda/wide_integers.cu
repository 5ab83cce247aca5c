// 128-bit integers: carry chains across add, sub and multiply-add.
extern "C" __global__ void add128(const unsigned long long* a, const unsigned long long* b, unsigned long long* out) {
  int i = 2 * threadIdx.x;
  unsigned __int128 x = ((unsigned __int128)a[i + 1] << 64) | a[i], y = ((unsigned __int128)b[i + 1] << 64) | b[i];
  unsigned __int128 s = x + y, d = x - y, p = x * y;
  out[3 * i + 0] = (unsigned long long)s;
  out[3 * i + 1] = (unsigned long long)(s >> 64);
  out[3 * i + 2] = (unsigned long long)d;
  out[3 * i + 3] = (unsigned long long)(d >> 64);
  out[3 * i + 4] = (unsigned long long)p;
  out[3 * i + 5] = (unsigned long long)(p >> 64);
}

extern "C" __global__ void carryChain(const unsigned* a, const unsigned* b, unsigned* out) {
  int i = 3 * threadIdx.x;
  unsigned r0, r1, r2;
  asm("add.cc.u32 %0, %3, %6;\n\t"
      "addc.cc.u32 %1, %4, %7;\n\t"
      "addc.u32 %2, %5, %8;"
      : "=r"(r0), "=r"(r1), "=r"(r2)
      : "r"(a[i]), "r"(a[i + 1]), "r"(a[i + 2]), "r"(b[i]), "r"(b[i + 1]), "r"(b[i + 2]));
  asm("sub.cc.u32 %0, %0, %3;\n\t"
      "subc.cc.u32 %1, %1, %4;\n\t"
      "subc.u32 %2, %2, %5;"
      : "+r"(r0), "+r"(r1), "+r"(r2)
      : "r"(a[i + 1]), "r"(a[i + 2]), "r"(a[i]));
  asm("mad.lo.cc.u32 %0, %2, %3, %0;\n\t"
      "madc.hi.u32 %1, %2, %3, %1;"
      : "+r"(r0), "+r"(r1)
      : "r"(a[i]), "r"(b[i]));
  out[i] = r0;
  out[i + 1] = r1;
  out[i + 2] = r2;
}
