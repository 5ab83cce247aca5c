// Every comparison on signed, unsigned and floating-point values, and selects of 16, 32 and 64 bits on their results.
extern "C" __global__ void compareInt(const int* a, const int* b, unsigned* mask) {
  int i = threadIdx.x;
  int x = a[i], y = b[i];
  unsigned u = x, v = y, m = 0;
  m |= (x == y) << 0;
  m |= (x != y) << 1;
  m |= (x < y) << 2;
  m |= (x <= y) << 3;
  m |= (x > y) << 4;
  m |= (x >= y) << 5;
  m |= (u < v) << 6;
  m |= (u <= v) << 7;
  m |= (u > v) << 8;
  m |= (u >= v) << 9;
  m |= ((x < 10) && (y > -10)) << 10;
  m |= ((x == 3) || !(y == 4)) << 11;
  mask[i] = m;
}

extern "C" __global__ void compareInt64(const long long* a, const long long* b, unsigned* mask) {
  int i = threadIdx.x;
  long long x = a[i], y = b[i];
  unsigned long long u = x, v = y;
  mask[i] = (x == y) | (x < y) << 1 | (x >= y) << 2 | (u < v) << 3 | (u >= v) << 4 | (x != 0) << 5 | (u > 77) << 6;
}

extern "C" __global__ void compareFloat(const float* a, const float* b, unsigned* mask) {
  int i = threadIdx.x;
  float x = a[i], y = b[i];
  mask[i] = (x == y) | (x != y) << 1 | (x < y) << 2 | (x <= y) << 3 | (x > y) << 4 | (x >= y) << 5 | !(x < y) << 6 |
            !(x >= y) << 7 | isnan(x) << 8 | (!isnan(x) && !isnan(y)) << 9 | !(x == y) << 10;
}

extern "C" __global__ void compareDouble(const double* a, const double* b, unsigned* mask) {
  int i = threadIdx.x;
  double x = a[i], y = b[i];
  mask[i] = (x == y) | (x < y) << 1 | (x <= y) << 2 | !(x > y) << 3 | !(x >= y) << 4 | (x != y) << 5 | isnan(x) << 6;
}

extern "C" __global__ void selectValues(const int* c, const short* s, const int* w, const double* d, short* outS,
                                        int* outW, double* outD) {
  int i = threadIdx.x;
  bool p = c[i] > 0, q = c[i] & 1;
  outS[i] = p ? s[i] : s[i + 1];
  outW[i] = p ? (q ? w[i] : 17) : w[i + 1];
  outD[i] = p && q ? d[i] : -d[i];
}
