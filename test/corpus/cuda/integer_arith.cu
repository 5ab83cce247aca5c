// 32-bit add, sub, mul (low, high, wide), multiply-add, negation, absolute value and absolute difference.
extern "C" __global__ void signedArith(const int* a, const int* b, int* out, long long* wide) {
  int i = threadIdx.x;
  int x = a[i], y = b[i];
  out[8 * i + 0] = x + y;
  out[8 * i + 1] = x - y;
  out[8 * i + 2] = x * y;
  out[8 * i + 3] = __mulhi(x, y);
  out[8 * i + 4] = x * y + 12345;
  out[8 * i + 5] = -x;
  out[8 * i + 6] = abs(y);
  out[8 * i + 7] = __sad(x, y, 7);
  wide[i] = (long long)x * y;
}

extern "C" __global__ void unsignedArith(const unsigned* a, const unsigned* b, unsigned* out,
                                         unsigned long long* wide) {
  int i = threadIdx.x;
  unsigned x = a[i], y = b[i];
  out[6 * i + 0] = x * y + (x ^ y);
  out[6 * i + 1] = __umulhi(x, y);
  out[6 * i + 2] = __usad(x, y, x);
  out[6 * i + 3] = __uhadd(x, y);
  out[6 * i + 4] = __umul24(x, y);
  out[6 * i + 5] = x * 10u - y * 3u;
  wide[i] = (unsigned long long)x * y + x;
}
