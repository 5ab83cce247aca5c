// Integers of all widths, bit fields, 128 bits, hashes, checksums, cyclic codes, big numbers.
#include "device.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef unsigned __int128 u128;

__constant__ u32 kRounds[64] = {0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
                                0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
                                0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174};

__device__ inline u32 turn(u32 x, int n) {
  return x >> n | x << (32 - n);
}

extern "C" __global__ void hash_blocks(const u32* text, u32* states) {
  u32 w[16], s[8];
  const int i = index();
  for (int k = 0; k < 16; ++k)
    w[k] = __builtin_bswap32(text[(i & 63) * 16 + k]);
  for (int k = 0; k < 8; ++k)
    s[k] = states[(i & 63) * 8 + k];
  for (int k = 0; k < 64; ++k) {
    const u32 a = s[0], e = s[4];
    const u32 t1 =
        s[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + kRounds[k] + w[k & 15];
    const u32 t2 = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    const u32 w1 = w[(k + 1) & 15], w14 = w[(k + 14) & 15];
    w[k & 15] += (turn(w1, 7) ^ turn(w1, 18) ^ w1 >> 3) + w[(k + 9) & 15] + (turn(w14, 17) ^ turn(w14, 19) ^ w14 >> 10);
    for (int j = 7; j > 0; --j)
      s[j] = s[j - 1];
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int k = 0; k < 8; ++k)
    states[(i & 63) * 8 + k] += s[k];
}

extern "C" __global__ void checksum(const u8* bytes, u16* sums, int n) {
  u32 a = 1, b = 0;
  for (int k = 0; k < n; ++k) {
    a = (a + bytes[index() + k]) % 65521;
    b = (b + a) % 65521;
  }
  sums[index()] = static_cast<u16>(a ^ b);
}

// Montgomery's products: the high and low halves of 128 bits.
__device__ u64 reduce(u128 x, u64 modulus, u64 inverse) {
  const u64 q = static_cast<u64>(x) * inverse;
  const u64 high = static_cast<u64>((x + static_cast<u128>(q) * modulus) >> 64);
  return high >= modulus ? high - modulus : high;
}

extern "C" __global__ void modular_power(const u64* base, const u64* exponent, u64* out, u64 modulus, u64 inverse) {
  const int i = index();
  u64 result = 1, power = base[i] % (modulus | 1);
  for (u64 e = exponent[i] & 0xffff; e; e >>= 1) {
    if (e & 1) result = reduce(static_cast<u128>(result) * power, modulus, inverse);
    power = reduce(static_cast<u128>(power) * power, modulus, inverse);
  }
  out[i] = result;
}

extern "C" __global__ void long_product(const u32* a, const u32* b, u32* c) {
  u32 sum[16] = {};
  const int at = (index() & 63) * 8;
  for (int i = 0; i < 8; ++i) {
    u64 carry = 0;
    for (int j = 0; j < 8; ++j) {
      carry += static_cast<u64>(a[at + i]) * b[at + j] + sum[i + j];
      sum[i + j] = static_cast<u32>(carry);
      carry >>= 32;
    }
    sum[i + 8] = static_cast<u32>(carry);
  }
  for (int i = 0; i < 16; ++i)
    c[2 * at + i] = sum[i];
}

struct Packed {
  u32 kind : 3, age : 7, weight : 13;
  int offset : 9;
};

extern "C" __global__ void bit_fields(Packed* items, int n) {
  const int i = index();
  if (i >= n) return;
  Packed item = items[i];
  item.weight = item.weight * 3 + item.age;
  item.offset = item.offset - item.kind;
  items[i] = item;
}

extern "C" __global__ void narrow(const signed char* a, const short* b, long* out, int n) {
  const int i = index();
  if (i < n) out[i] = (a[i] / (b[i] | 1)) + (static_cast<u8>(a[i]) >> (b[i] & 7)) - static_cast<short>(a[i] * b[i]);
}

extern "C" __global__ void decode_varint(const u8* bytes, u64* out, int n) {
  const int i = index();
  if (i >= n) return;
  u64 value = 0;
  int shift = 0, at = i * 10;
  do {
    value |= static_cast<u64>(bytes[at] & 127) << shift;
    shift += 7;
  } while (bytes[at++] & 128 && shift < 64);
  switch (value & 7) {
  case 0: value = ~value; break;
  case 1: value = __builtin_bitreverse64(value); break;
  case 2: value = __builtin_popcountl(value); break;
  case 5: value = __builtin_clzl(value | 1); break;
  case 6: value = value * value; break;
  default: break;
  }
  out[i] = value;
}
