// Products of a 16x8 tile by the matrix unit (mma.sync), its fragments put together by hand or by ldmatrix.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// A is 16 x depth by rows, B is 8 x depth by columns, D 16 x 8 by rows; depth in words of 32 bits.
#define FRAGMENTS(a, b, depth)                                                                                         \
  const unsigned group = threadIdx.x / 4, inGroup = threadIdx.x % 4;                                                   \
  const unsigned *rowA = (a) + group * (depth) + inGroup, *columnB = (b) + group * (depth) + inGroup;

template <typename T> __device__ void storeTile(T* d, T d0, T d1, T d2, T d3) {
  T* to = d + threadIdx.x / 4 * 8 + threadIdx.x % 4 * 2;
  to[0] = d0;
  to[1] = d1;
  to[64] = d2;
  to[65] = d3;
}

extern "C" __global__ void gemmHalf(const unsigned* a, const unsigned* b, float* d, int depth) {
  FRAGMENTS(a, b, depth)
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  for (int k = 0; k < depth; k += 8)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(rowA[k]), "r"(rowA[k + 8 * depth]), "r"(rowA[k + 4]), "r"(rowA[k + 8 * depth + 4]), "r"(columnB[k]),
          "r"(columnB[k + 4]));
  storeTile(d, d0, d1, d2, d3);
}

extern "C" __global__ void gemmBfloat(const unsigned* a, const unsigned* b, float* d, int depth) {
  FRAGMENTS(a, b, depth)
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  for (int k = 0; k < depth; k += 8)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(rowA[k]), "r"(rowA[k + 8 * depth]), "r"(rowA[k + 4]), "r"(rowA[k + 8 * depth + 4]), "r"(columnB[k]),
          "r"(columnB[k + 4]));
  storeTile(d, d0, d1, d2, d3);
}

extern "C" __global__ void gemmTf32(const unsigned* a, const unsigned* b, float* d, int depth) {
  FRAGMENTS(a, b, depth)
  float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  for (int k = 0; k < depth; k += 8)
    asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3)
        : "r"(rowA[k]), "r"(rowA[k + 8 * depth]), "r"(rowA[k + 4]), "r"(rowA[k + 8 * depth + 4]), "r"(columnB[k]),
          "r"(columnB[k + 4]));
  storeTile(d, d0, d1, d2, d3);
}

extern "C" __global__ void gemmBytes(const unsigned* a, const unsigned* b, int* d, int depth) {
  FRAGMENTS(a, b, depth)
  int d0 = 0, d1 = 0, d2 = 0, d3 = 0;
  for (int k = 0; k < depth; k += 8)
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(d0), "+r"(d1), "+r"(d2), "+r"(d3)
        : "r"(rowA[k]), "r"(rowA[k + 8 * depth]), "r"(rowA[k + 4]), "r"(rowA[k + 8 * depth + 4]), "r"(columnB[k]),
          "r"(columnB[k + 4]));
  storeTile(d, d0, d1, d2, d3);
}

// Sums in half precision; the tiles come through shared memory and ldmatrix.
extern "C" __global__ void gemmLdmatrix(const uint4* a, const uint4* b, __half2* d) {
  __shared__ uint4 tileA[32], tileB[16];
  unsigned t = threadIdx.x, a0, a1, a2, a3, b0, b1, d0 = 0, d1 = 0;
  tileA[t] = a[t];
  if (t < 16) tileB[t] = b[t];
  __syncthreads();
  unsigned fromA = (unsigned)__cvta_generic_to_shared(tileA + t % 16 * 2 + t / 16);
  unsigned fromB = (unsigned)__cvta_generic_to_shared(tileB + t % 8 * 2 + t / 8 % 2);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3)
               : "r"(fromA));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(fromB));
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
      : "+r"(d0), "+r"(d1)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
  unsigned* to = reinterpret_cast<unsigned*>(d) + t / 4 * 4 + t % 4;
  to[0] = d0;
  to[32] = d1;
}
