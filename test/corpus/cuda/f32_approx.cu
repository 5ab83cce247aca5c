// The special-function unit: reciprocal, square roots, exponential, logarithm, sine, cosine, hyperbolic tangent.
extern "C" __global__ void approximations(const float* a, float* out) {
  int i = threadIdx.x;
  float x = a[i], r;
  out[10 * i + 0] = __frcp_rn(x);
  out[10 * i + 1] = rsqrtf(x);
  out[10 * i + 2] = __expf(x);
  out[10 * i + 3] = __logf(x);
  out[10 * i + 4] = __sinf(x);
  out[10 * i + 5] = __cosf(x);
  out[10 * i + 6] = exp2f(x);
  out[10 * i + 7] = __fdividef(x, x + 3.0f);
  asm("tanh.approx.f32 %0, %1;" : "=f"(r) : "f"(x));
  out[10 * i + 8] = r;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  out[10 * i + 9] = r;
}
