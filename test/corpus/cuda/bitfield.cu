// Bit-field extract and insert, bit reverse, population count, leading zeros, find, byte permutation.
extern "C" __global__ void bitfield32(const unsigned* a, const unsigned* b, const unsigned* position,
                                      const unsigned* length, unsigned* out) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i], p = position[i], n = length[i], r;
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(p), "r"(n));
  out[12 * i + 0] = r;
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(p), "r"(n));
  out[12 * i + 1] = r;
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r) : "r"(x), "r"(y), "r"(p), "r"(n));
  out[12 * i + 2] = r;
  out[12 * i + 3] = __brev(x);
  out[12 * i + 4] = __popc(x);
  out[12 * i + 5] = __clz(x);
  out[12 * i + 6] = __ffs(x);
  out[12 * i + 7] = __byte_perm(x, y, 0x5410);
  out[12 * i + 8] = __byte_perm(x, y, p);
  out[12 * i + 9] = (x >> 4) & 0x3f;
  out[12 * i + 10] = (int)(x << 11) >> 21;
  asm("bfe.u32 %0, %1, 8, 8;" : "=r"(r) : "r"(y));
  out[12 * i + 11] = r;
}

extern "C" __global__ void bitfield64(const unsigned long long* a, unsigned long long* out) {
  int i = threadIdx.x;
  unsigned long long x = a[i], r;
  asm("bfe.u64 %0, %1, 20, 30;" : "=l"(r) : "l"(x));
  out[6 * i + 0] = r;
  asm("bfi.b64 %0, %1, %2, 12, 40;" : "=l"(r) : "l"(x), "l"(~x));
  out[6 * i + 1] = r;
  out[6 * i + 2] = __brevll(x);
  out[6 * i + 3] = __popcll(x);
  out[6 * i + 4] = __clzll(x);
  out[6 * i + 5] = __ffsll(x);
}
