// Minimum, maximum, absolute value and negation in every type, clamping, and what they do with NaN.
extern "C" __global__ void minMaxInt(const int* a, const int* b, int* out) {
  int i = threadIdx.x;
  int x = a[i], y = b[i];
  out[5 * i + 0] = min(x, y);
  out[5 * i + 1] = max(x, y);
  out[5 * i + 2] = min((unsigned)x, (unsigned)y);
  out[5 * i + 3] = max((unsigned)x, (unsigned)y);
  out[5 * i + 4] = min(max(x, -100), 100);
}

extern "C" __global__ void minMaxLong(const long long* a, const long long* b, long long* out) {
  int i = threadIdx.x;
  out[3 * i + 0] = min(a[i], b[i]);
  out[3 * i + 1] = max(a[i], b[i]);
  out[3 * i + 2] = llabs(a[i]);
}

extern "C" __global__ void minMaxFloat(const float* a, const float* b, float* out, double* outD) {
  int i = threadIdx.x;
  float x = a[i], y = b[i];
  out[5 * i + 0] = fminf(x, y);
  out[5 * i + 1] = fmaxf(x, y);
  out[5 * i + 2] = fabsf(x) - fabsf(y);
  out[5 * i + 3] = -x;
  out[5 * i + 4] = __saturatef(x);
  outD[3 * i + 0] = fmin((double)x, (double)y);
  outD[3 * i + 1] = fmax((double)x, -(double)y);
  outD[3 * i + 2] = fabs((double)x * y);
}
