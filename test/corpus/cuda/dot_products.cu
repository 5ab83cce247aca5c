// Dot products of packed bytes and shorts, and other multiply-add shortcuts.
extern "C" __global__ void dotProducts(const int* a, const int* b, int* out) {
  int i = threadIdx.x;
  out[4 * i + 0] = __dp4a(a[i], b[i], 10);
  out[4 * i + 1] = __dp4a((unsigned)a[i], (unsigned)b[i], 10u);
  out[4 * i + 2] = __dp2a_lo(a[i], b[i], 0);
  out[4 * i + 3] = __mul24(a[i], b[i]) + __vabsdiffu4(a[i], b[i]);
}
