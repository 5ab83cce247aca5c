// Correctly rounded single-precision division and square root: a fast path and a slow path each.
extern "C" __global__ void divide(const float* a, const float* b, float* out) {
  int i = threadIdx.x;
  out[i] = a[i] / b[i];
}

extern "C" __global__ void squareRoot(const float* a, float* out) {
  int i = threadIdx.x;
  out[2 * i + 0] = sqrtf(a[i]);
  out[2 * i + 1] = 1.0f / a[i];
}
