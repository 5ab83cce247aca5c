// Kernels whose code depends on registers, order and waits: masked loads, tiles, hashes, divisions, atomics, shuffles,
// trees, chains. test/bench/pressure_kernels.py measures them.
#include "device.h"

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long u64;

__device__ inline u32 turn_left(u32 x, int n) {
  return x << n | x >> (32 - n);
}

// Triton's masked loads: zeros, and a guarded load over them.
extern "C" __global__ void masked_add(const int* a, const int* b, int* c, int n) {
  const int i = 4 * index();
  int x0, x1, x2, x3, y0, y1, y2, y3;
  asm("{ .reg .pred %%p; setp.lt.s32 %%p, %4, %5; mov.u32 %0, 0; mov.u32 %1, 0; mov.u32 %2, 0; mov.u32 %3, 0;\n\t"
      "@%%p ld.global.v4.b32 {%0, %1, %2, %3}, [%6]; }"
      : "=&r"(x0), "=&r"(x1), "=&r"(x2), "=&r"(x3)
      : "r"(i), "r"(n), "l"(a + i)
      : "memory");
  asm("{ .reg .pred %%p; setp.lt.s32 %%p, %4, %5; mov.u32 %0, 0; mov.u32 %1, 0; mov.u32 %2, 0; mov.u32 %3, 0;\n\t"
      "@%%p ld.global.v4.b32 {%0, %1, %2, %3}, [%6]; }"
      : "=&r"(y0), "=&r"(y1), "=&r"(y2), "=&r"(y3)
      : "r"(i), "r"(n), "l"(b + i)
      : "memory");
  asm volatile("{ .reg .pred %%p; setp.lt.s32 %%p, %4, %5;\n\t"
               "@%%p st.global.v4.b32 [%6], {%0, %1, %2, %3}; }" ::"r"(x0 + y0),
               "r"(x1 + y1), "r"(x2 + y2), "r"(x3 + y3), "r"(i), "r"(n), "l"(c + i)
               : "memory");
}

// A tile of 128 x 128 for a block of 256 threads, 8 x 8 for a thread.
extern "C" __global__ void __attribute__((launch_bounds(256)))
multiply_tiles(const float* a, const float* b, float* c, int n) {
  __shared__ float rows[8][128], columns[8][128];
  float sums[8][8] = {};
  const int t = thread(), x = t & 15, y = t >> 4;
  for (int k = 0; k < n; k += 8) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int e = t + i * 256;
      rows[e >> 7][e & 127] = a[(k + (e >> 7)) * 128 + (e & 127)];
      columns[e >> 7][e & 127] = b[(k + (e >> 7)) * 128 + (e & 127)];
    }
    barrier();
#pragma unroll
    for (int step = 0; step < 8; ++step)
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j)
          sums[i][j] += rows[step][y * 8 + i] * columns[step][x * 8 + j];
    barrier();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j)
      c[(block() * 128 + y * 8 + i) * 128 + x * 8 + j] = sums[i][j];
}

extern "C" __global__ void convolve_7x7(const float* image, const float* weights, float* out, int width) {
  const int x = index();
  float sum = 0;
#pragma clang loop unroll(disable)
  for (int i = 0; i < 7; ++i)
#pragma clang loop unroll(disable)
    for (int j = 0; j < 7; ++j)
      sum += image[i * width + x + j] * weights[i * 7 + j];
  out[x] = sum;
}

__constant__ u32 kSines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

extern "C" __global__ void md5(const u32* text, u32* digests) {
  constexpr int kTurns[16] = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};
  u32 w[16];
  const int t = index();
#pragma unroll
  for (int k = 0; k < 16; ++k)
    w[k] = text[k * 256 + t];
  u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const u32 f = i < 16 ? (b & c) | (~b & d) : i < 32 ? (d & b) | (~d & c) : i < 48 ? b ^ c ^ d : c ^ (b | ~d);
    const int g = i < 16 ? i : i < 32 ? 5 * i + 1 : i < 48 ? 3 * i + 5 : 7 * i;
    const u32 next = b + turn_left(a + f + kSines[i] + w[g & 15], kTurns[i / 16 * 4 + (i & 3)]);
    a = d;
    d = c;
    c = b;
    b = next;
  }
  digests[t] = a + 0x67452301;
  digests[t + 256] = b + 0xefcdab89;
  digests[t + 512] = c + 0x98badcfe;
  digests[t + 768] = d + 0x10325476;
}

extern "C" __global__ void sha1(const u32* text, u32* digests) {
  u32 w[16];
  const int t = index();
#pragma unroll
  for (int k = 0; k < 16; ++k)
    w[k] = text[k * 256 + t];
  u32 a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476, e = 0xc3d2e1f0;
#pragma unroll
  for (int i = 0; i < 80; ++i) {
    if (i >= 16) w[i & 15] = turn_left(w[(i + 13) & 15] ^ w[(i + 8) & 15] ^ w[(i + 2) & 15] ^ w[i & 15], 1);
    const u32 f = i < 20 ? (b & c) | (~b & d) : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
    const u32 round = i < 20 ? 0x5a827999 : i < 40 ? 0x6ed9eba1 : i < 60 ? 0x8f1bbcdc : 0xca62c1d6;
    const u32 next = turn_left(a, 5) + f + e + round + w[i & 15];
    e = d;
    d = c;
    c = turn_left(b, 30);
    b = a;
    a = next;
  }
  digests[t] = a;
  digests[t + 256] = b;
  digests[t + 512] = c;
  digests[t + 768] = d;
  digests[t + 1024] = e;
}

// Five divisions that do not depend on each other.
extern "C" __global__ void divide_five(const int* in, int* out, int a, int b, int c, int d, int e) {
  const int x = in[index()];
  out[index()] = x / a + 3 * (x / b) + 5 * (x / c) + 7 * (x / d) + 9 * (x / e);
}

extern "C" __global__ void gelu_backward(const float* x, const float* gradient, float* out) {
  const int t = index() * 8;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const float v = x[t + i], cube = 0.044715f * v * v * v;
    const float z = 0.7978845608f * (v + cube);
    const float power = __nvvm_ex2_approx_f(2.885390082f * z);
    const float tanh = 1 - 2 * __nvvm_rcp_rn_f(power + 1);
    const float slope = (1 - tanh * tanh) * 0.7978845608f * (1 + 3 * 0.044715f * v * v);
    out[t + i] = (0.5f * (1 + tanh) + 0.5f * v * slope) * gradient[t + i];
  }
}

// Atomic operations whose old values nobody reads.
extern "C" __global__ void exchange_all(u32* places) {
  const u32 t = index();
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    u32 old;
    asm volatile("atom.global.exch.b32 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(places + (t ^ i * 1024)), "r"(t + i)
                 : "memory");
  }
}

extern "C" __global__ void histogram_of_bytes(const u32* words, u32* counts, int n) {
  __shared__ u32 local[256];
  local[thread()] = 0;
  barrier();
  for (int i = index(); i < n; i += 256) {
    const u32 word = words[i];
#pragma unroll
    for (int byte = 0; byte < 4; ++byte)
      asm volatile("{ .reg .u32 %%old; atom.shared.add.u32 %%old, [%0], 1; }" ::"r"(static_cast<u32>(
          reinterpret_cast<size_t>((__attribute__((address_space(3))) u32*)&local[word >> 8 * byte & 255])))
                   : "memory");
  }
  barrier();
  counts[thread()] += local[thread()];
}

// Two sums over a warp at once, and predicates of shuffles that nobody reads.
extern "C" __global__ void normalize_backward(const float* x, const float* gradient, float* out, int n) {
  const int lane = thread() & 31, row = index() >> 5;
  float sum = 0, product = 0;
  for (int i = lane; i < n; i += 32) {
    sum += gradient[row * n + i];
    product += gradient[row * n + i] * x[row * n + i];
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    sum += __nvvm_shfl_sync_bfly_f32(-1, sum, step, 31);
    product += __nvvm_shfl_sync_bfly_f32(-1, product, step, 31);
  }
  for (int i = lane; i < n; i += 32)
    out[row * n + i] = gradient[row * n + i] - sum - x[row * n + i] * product;
}

// A loop with loads, whose trip count is known at run time only.
extern "C" __global__ void products_of_bytes(const int* a, const int* b, int* out, int n) {
  int sum = 0;
#pragma clang loop unroll(disable)
  for (int i = 0; i < n; ++i)
    asm("dp4a.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a[i * 256 + index()]), "r"(b[i]));
  out[index()] = sum;
}

// A balanced tree over 128 loads, one level after another: 128 values are live in this order, nine in the best one.
template <int kCount> __device__ inline float fold(float (&v)[128]) {
  if constexpr (kCount > 1) {
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i)
      v[i] = v[2 * i] * 0.5f + v[2 * i + 1];
    return fold<kCount / 2>(v);
  }
  return v[0];
}

extern "C" __global__ void sum_tree(const float* in, float* out) {
  float v[128];
#pragma unroll
  for (int i = 0; i < 128; ++i)
    v[i] = in[i * 256 + index()];
  out[index()] = fold<128>(v);
}

// Loads with a chain of eight dependent operations each.
extern "C" __global__ void chains(const float* in, float* out, float factor) {
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    float x = in[i * 256 + index()];
#pragma unroll
    for (int k = 0; k < 8; ++k)
      x = x * factor + static_cast<float>(k);
    out[i * 256 + index()] = x;
  }
}

// A stencil of 25 points with a queue of nine values in registers.
extern "C" __global__ void stencil_25(const float* in, float* out, int depth) {
  const int t = index() + 1024;
  float queue[9];
#pragma unroll
  for (int k = 0; k < 8; ++k)
    queue[k] = in[k * 4096 + t];
  for (int z = 4; z < depth - 4; ++z) {
    queue[8] = in[(z + 4) * 4096 + t];
    float sum = queue[4];
#pragma unroll
    for (int r = 1; r <= 4; ++r)
      sum += static_cast<float>(r) * (queue[4 - r] + queue[4 + r] + in[z * 4096 + t - r] + in[z * 4096 + t + r] +
                                      in[z * 4096 + t - 64 * r] + in[z * 4096 + t + 64 * r]);
    out[z * 4096 + t] = sum;
#pragma unroll
    for (int k = 0; k < 8; ++k)
      queue[k] = queue[k + 1];
  }
}

// A Fourier transform of 16 points in registers.
extern "C" __global__ void transform_16(float* data) {
  constexpr float kCosines[8] = {1, 0.92387953f, 0.70710678f, 0.38268343f, 0, -0.38268343f, -0.70710678f, -0.92387953f};
  constexpr float kSinesOf[8] = {0,  -0.38268343f, -0.70710678f, -0.92387953f,
                                 -1, -0.92387953f, -0.70710678f, -0.38268343f};
  float re[16], im[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    re[i] = data[i * 512 + index()];
    im[i] = data[i * 512 + 256 + index()];
  }
#pragma unroll
  for (int half = 8; half > 0; half /= 2)
#pragma unroll
    for (int i = 0; i < 16; ++i)
      if ((i & half) == 0) {
        const float dr = re[i] - re[i + half], di = im[i] - im[i + half];
        const int k = (i & (half - 1)) * (8 / half);
        re[i] += re[i + half];
        im[i] += im[i + half];
        re[i + half] = dr * kCosines[k] - di * kSinesOf[k];
        im[i + half] = dr * kSinesOf[k] + di * kCosines[k];
      }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    data[i * 512 + index()] = re[i];
    data[i * 512 + 256 + index()] = im[i];
  }
}
