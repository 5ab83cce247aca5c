// Single precision with every rounding mode, flush to zero, and contraction to fused multiply-add.
extern "C" __global__ void roundingModes(const float* a, const float* b, float* out) {
  int i = threadIdx.x;
  float x = a[i], y = b[i];
  out[12 * i + 0] = __fadd_rn(x, y);
  out[12 * i + 1] = __fadd_rz(x, y);
  out[12 * i + 2] = __fadd_ru(x, y);
  out[12 * i + 3] = __fadd_rd(x, y);
  out[12 * i + 4] = __fmul_rn(x, y);
  out[12 * i + 5] = __fmul_rz(x, y);
  out[12 * i + 6] = __fmul_ru(x, y);
  out[12 * i + 7] = __fmul_rd(x, y);
  out[12 * i + 8] = __fmaf_rn(x, y, x);
  out[12 * i + 9] = __fmaf_rz(x, y, 1.0f);
  out[12 * i + 10] = __fmaf_ru(x, 2.0f, y);
  out[12 * i + 11] = __fmaf_rd(x, y, -y);
}

extern "C" __global__ void flushToZero(const float* a, const float* b, float* out) {
  int i = threadIdx.x;
  float r;
  asm("add.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a[i]), "f"(b[i]));
  out[4 * i + 0] = r;
  asm("mul.ftz.sat.f32 %0, %1, %2;" : "=f"(r) : "f"(a[i]), "f"(b[i]));
  out[4 * i + 1] = r;
  asm("fma.rn.ftz.f32 %0, %1, %2, %1;" : "=f"(r) : "f"(a[i]), "f"(b[i]));
  out[4 * i + 2] = r;
  asm("sub.sat.f32 %0, %1, %2;" : "=f"(r) : "f"(a[i]), "f"(b[i]));
  out[4 * i + 3] = r;
}

extern "C" __global__ void polynomial(const float* x, float* y) {
  int i = threadIdx.x;
  float t = x[i];
  y[i] = ((((0.125f * t - 1.5f) * t + 2.75f) * t - 3.0f) * t + 0.1f) * t - 7.25f;
}
