// Half precision and bfloat16 as storage formats, and packed half arithmetic.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void halfStorage(const __half* h, const __nv_bfloat16* b, float* f, __half* outH,
                                       __nv_bfloat16* outB) {
  int i = threadIdx.x;
  float x = __half2float(h[i]), y = __bfloat162float(b[i]);
  f[i] = x + y;
  outH[i] = __float2half_rn(x * y);
  outB[i] = __float2bfloat16_rn(x - y);
}

extern "C" __global__ void halfPairs(const __half2* a, const __half2* b, __half2* out) {
  int i = threadIdx.x;
  out[3 * i + 0] = __hadd2(a[i], b[i]);
  out[3 * i + 1] = __hmul2(a[i], b[i]);
  out[3 * i + 2] = __hfma2(a[i], b[i], a[i]);
}

extern "C" __global__ void intToHalf(const int* a, __half* out, int* back) {
  int i = threadIdx.x;
  __half h = __int2half_rn(a[i]);
  out[i] = h;
  back[i] = __half2int_rz(h);
}
