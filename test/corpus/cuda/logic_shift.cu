// Logic of one to three inputs on 16, 32 and 64 bits, shifts by constants, by variables and past the width, funnel
// shifts.
extern "C" __global__ void logic32(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i], z = c[i];
  out[8 * i + 0] = x & y;
  out[8 * i + 1] = x | y;
  out[8 * i + 2] = x ^ y;
  out[8 * i + 3] = ~x;
  out[8 * i + 4] = (x & y) | (~x & z);
  out[8 * i + 5] = (x & y) ^ (x & z) ^ (y & z);
  out[8 * i + 6] = x & ~0xff00u;
  out[8 * i + 7] = (x | 0x80000000u) ^ z;
}

extern "C" __global__ void logic64(const unsigned long long* a, const unsigned long long* b, unsigned long long* out) {
  int i = threadIdx.x;
  unsigned long long x = a[i], y = b[i];
  out[4 * i + 0] = x & y;
  out[4 * i + 1] = x | ~y;
  out[4 * i + 2] = x ^ 0x0123456789abcdefull;
  out[4 * i + 3] = ~(x & y);
}

extern "C" __global__ void shifts(const int* a, const int* n, int* out, long long* out64) {
  int i = threadIdx.x;
  int x = a[i];
  unsigned s = n[i], r;
  long long w = ((long long)x << 20) ^ x, v;
  out[8 * i + 0] = x << 5;
  out[8 * i + 1] = x >> 5;
  out[8 * i + 2] = (unsigned)x >> 5;
  // PTX clamps shift counts, C leaves them undefined: hence the assembly.
  asm("shl.b32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(s));
  out[8 * i + 3] = r;
  asm("shr.s32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(s));
  out[8 * i + 4] = r;
  asm("shr.u32 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(s));
  out[8 * i + 5] = r;
  out[8 * i + 6] = __funnelshift_l(x, n[i], s);
  out[8 * i + 7] = __funnelshift_rc(x, n[i], s);
  asm("shl.b64 %0, %1, %2;" : "=l"(v) : "l"(w), "r"(s));
  out64[4 * i + 0] = v;
  asm("shr.s64 %0, %1, %2;" : "=l"(v) : "l"(w), "r"(s));
  out64[4 * i + 1] = v;
  asm("shr.u64 %0, %1, %2;" : "=l"(v) : "l"(w), "r"(s));
  out64[4 * i + 2] = v;
  out64[4 * i + 3] = (w << 3) + (w >> 33);
}
