// Scalar arithmetic and comparisons in half precision and bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halfArith(const __half* a, const __half* b, __half* out) {
  int i = threadIdx.x;
  __half x = a[i], y = b[i];
  out[6 * i + 0] = __hadd(x, y);
  out[6 * i + 1] = __hsub(x, y);
  out[6 * i + 2] = __hmul(x, y);
  out[6 * i + 3] = __hfma(x, y, x);
  out[6 * i + 4] = __hlt(x, y) ? __hneg(x) : __habs(y);
  out[6 * i + 5] = __hmax(x, y);
}

extern "C" __global__ void bfloatArith(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* out) {
  int i = threadIdx.x;
  __nv_bfloat16 x = a[i], y = b[i];
  out[3 * i + 0] = __hadd(x, y);
  out[3 * i + 1] = __hfma(x, y, y);
  out[3 * i + 2] = __hgt(x, y) ? x : y;
}
