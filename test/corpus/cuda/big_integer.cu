// Numbers of 256 bits: product by columns, and addition with a carry through eight words.

extern "C" __global__ void multiplyBig(const unsigned* a, const unsigned* b, unsigned* out) {
  const unsigned *x = a + 8 * threadIdx.x, *y = b + 8 * threadIdx.x;
  unsigned long long low = 0;
  unsigned high = 0;
#pragma unroll
  for (int column = 0; column < 16; ++column) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      int j = column - i;
      if (j < 0 || j > 7) continue;
      unsigned long long product = (unsigned long long)x[i] * y[j];
      low += product;
      high += low < product;
    }
    out[16 * threadIdx.x + column] = (unsigned)low;
    low = low >> 32 | (unsigned long long)high << 32;
    high = 0;
  }
}

extern "C" __global__ void addBig(const unsigned* a, const unsigned* b, unsigned* out) {
  unsigned long long carry = 0;
  for (int i = 0; i < 8; ++i) {
    carry += (unsigned long long)a[8 * threadIdx.x + i] + b[8 * threadIdx.x + i];
    out[9 * threadIdx.x + i] = (unsigned)carry;
    carry >>= 32;
  }
  out[9 * threadIdx.x + 8] = (unsigned)carry;
}
