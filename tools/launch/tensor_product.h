#pragma once

#include "tools/launch/tensor_memory.h"

#include <cstddef>
#include <functional>
#include <span>

// Matrix products and copies of tensor memory (tcgen05.mma, tcgen05.cp). Shared by both engines. The bits of
// instruction and matrix descriptors: PTX manual, "Instruction descriptor" and "Shared memory descriptor", and CUTLASS'
// mma_sm100_desc.hpp. The lanes of rows: PTX manual, "Data path layout organization".

namespace orias::launch {

/// A participating block.
struct TensorSide {
  TensorMemory* memory = nullptr;
  /// Reads its shared memory. Returns false after reporting a fault.
  std::function<bool(std::uint64_t address, std::span<std::byte> out)> read;
};

struct TensorProduct {
  /// Half is kind::f16 and kind::tf32; the descriptor distinguishes them.
  enum class Kind : std::uint8_t { Half, Narrow, Integer, ScaledNarrow, Scaled4 } kind = Kind::Half;
  bool isPair = false;             ///< .cta_group::2
  bool isWeightStationary = false; ///< .ws
  bool isShifted = false;          ///< .ashift
  bool aIsInTensor = false;
  bool adds = false;              ///< D += A B; else D = A B
  unsigned scaleOfD = 0;          ///< D is multiplied by 2^-scale before
  unsigned scaleVectors = 1;      ///< scales of a row of A: scale_vec::1X, 2X, 4X
  std::uint64_t a = 0, b = 0;     ///< matrix descriptors; for A in tensor memory its address
  std::uint32_t d = 0, shape = 0; ///< the address; the instruction descriptor
  std::uint32_t metadata = 0;     ///< .sp: the address of the metadata of A
  std::uint32_t scaleA = 0, scaleB = 0;
  std::array<std::uint32_t, 8> skippedLanes{};
  std::uint64_t zeroColumns = 0; ///< .ws: the mask of zero columns of B
};

/// Sums in double precision in ascending k, then adds D, with a single rounding. `sides`: the block, or both of a pair,
/// the even one first.
std::optional<TensorFault> multiply(const TensorProduct& product, std::span<const TensorSide> sides);

/// tcgen05.cp: numbered as the shapes in UTCCP.
enum class TensorCopyShape : std::uint8_t {
  Rows128Bits256,
  Rows4Bits256 = 2,
  Rows128Bits128,
  Rows64Warps02,
  Rows64Warps01,
  Rows32
};
/// Numbered as the formats in UTCCP. Numbers of four and six bits, 16 of them at the start of 16 bytes, are expanded to
/// bytes.
enum class TensorCopyFormat : std::uint8_t { Plain, FourBits, SixBits };
std::optional<TensorFault> copyToTensor(std::uint32_t address, std::uint64_t descriptor, TensorCopyShape shape,
                                        TensorCopyFormat format, const TensorSide& side);

} // namespace orias::launch
