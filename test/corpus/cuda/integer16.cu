// 8- and 16-bit arithmetic: PTX has 16-bit registers, the machine has not.
extern "C" __global__ void arith16(const short* a, const short* b, short* out) {
  int i = threadIdx.x;
  short x = a[i], y = b[i];
  out[5 * i + 0] = x + y;
  out[5 * i + 1] = x - y;
  out[5 * i + 2] = x * y;
  out[5 * i + 3] = x < y ? x : y;
  out[5 * i + 4] = (x ^ y) >> 3;
}

extern "C" __global__ void arith8(const unsigned char* a, const signed char* b, unsigned char* out) {
  int i = threadIdx.x;
  unsigned char x = a[i];
  signed char y = b[i];
  out[4 * i + 0] = x + y;
  out[4 * i + 1] = x * 3 - y;
  out[4 * i + 2] = y < 0 ? x : (unsigned char)~x;
  out[4 * i + 3] = (x << 3) | (x >> 5);
}

extern "C" __global__ void wide16(const unsigned short* a, const unsigned short* b, unsigned* out) {
  int i = threadIdx.x;
  unsigned result;
  asm("mul.wide.u16 %0, %1, %2;" : "=r"(result) : "h"(a[i]), "h"(b[i]));
  out[i] = result;
}
