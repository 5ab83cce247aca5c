// Correctly rounded double-precision division, reciprocal and square root.
extern "C" __global__ void divideDouble(const double* a, const double* b, double* out) {
  int i = threadIdx.x;
  out[i] = a[i] / b[i];
}

extern "C" __global__ void rootDouble(const double* a, double* out) {
  int i = threadIdx.x;
  out[2 * i + 0] = sqrt(a[i]);
  out[2 * i + 1] = 1.0 / a[i];
}
