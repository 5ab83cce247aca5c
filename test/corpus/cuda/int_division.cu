// 32-bit division and remainder by a variable, by a constant and by a power of two.
extern "C" __global__ void divideSigned(const int* a, const int* b, int* quotient, int* remainder) {
  int i = threadIdx.x;
  int d = b[i] | 1;
  quotient[i] = a[i] / d;
  remainder[i] = a[i] % d;
}

extern "C" __global__ void divideUnsigned(const unsigned* a, const unsigned* b, unsigned* quotient,
                                          unsigned* remainder) {
  int i = threadIdx.x;
  unsigned d = b[i] | 1;
  quotient[i] = a[i] / d;
  remainder[i] = a[i] % d;
}

extern "C" __global__ void divideByConstants(const int* a, int* out) {
  int i = threadIdx.x;
  int x = a[i];
  out[4 * i + 0] = x / 7;
  out[4 * i + 1] = x % 10;
  out[4 * i + 2] = x / 16;
  out[4 * i + 3] = (unsigned)x / 1000u;
}
