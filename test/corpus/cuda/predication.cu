// Short conditions that should become predicated instructions, on loads, stores and arithmetic.
extern "C" __global__ void predicated(const int* a, const int* b, int* out, int* side) {
  int i = threadIdx.x;
  int x = a[i], y = b[i];
  if (x > y) x = y;
  if (x < 0) side[i] = y;
  if (y & 1) x += a[i + 1];
  out[i] = x > 100 ? x - 100 : x;
}

extern "C" __global__ void compoundConditions(const float* a, const int* b, int* out) {
  int i = threadIdx.x;
  bool small = a[i]<0.5f, even = (b[i] & 1) == 0, positive = b[i]> 0;
  int r = 0;
  if (small && even) r |= 1;
  if (small || positive) r |= 2;
  if (small != even) r |= 4;
  if (!(small && (even || positive))) r |= 8;
  out[i] = r;
}
