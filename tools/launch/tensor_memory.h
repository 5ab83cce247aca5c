#pragma once

#include "tools/launch/tensor_fault.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Tensor memory (tcgen05): 128 lanes of 512 columns of 32 bits. Both engines share this: what they are compared on is
// the code around it. An address has the lane from bit 16 on, and the column below.

namespace orias::launch {

/// Which lanes and columns the registers of a warp's threads stand for (PTX manual, "tcgen05 matrix fragments"; the
/// layouts are those of CUTLASS' copy_traits_sm100). Numbered as in the words of LDTM and STTM.
enum class TensorShape : std::uint8_t { Lanes16Bits128, Lanes16Bits256, Lanes32Bits32, Lanes16Bits64, Lower, Upper };

struct TensorPlace {
  unsigned lane = 0, column = 0;
};

inline unsigned tensorLane(std::uint32_t address) {
  return address >> 16;
}
inline unsigned tensorColumn(std::uint32_t address) {
  return address & 0xffff;
}

/// Registers of a thread for one repetition.
unsigned tensorRegisters(TensorShape shape);
/// What a register of a thread stands for, counted from the address. Lower and Upper are the two halves of .16x32bx2:
/// each has the registers of half of the threads, nothing for the others.
std::optional<TensorPlace> tensorPlace(TensorShape shape, unsigned thread, unsigned index);

/// tcgen05.ld.red: the smallest or largest of the words that a thread loads. The PTX manual says no more of it than
/// that; zeros and NaNs are taken as by redux.sync, whose modifiers these are. Published results of a B300 agree: .NaN
/// gives the canonical NaN, .abs a value without its sign (github.com/cicuvc/nvidia-sass-document, "LDTM.STAT: fused
/// TMEM load and per-thread reduction"). Types numbered as in the words of LDTM.STAT.
struct TensorReduction {
  enum class Type : std::uint8_t { Unsigned, Signed, Float };
  Type type = Type::Unsigned;
  bool isMin = false;
  bool ofMagnitudes = false; ///< .abs
  bool nanWins = false;      ///< .NaN
  /// Of one word or more.
  std::uint32_t of(std::span<const std::uint32_t> words) const;
};

class TensorMemory {
 public:
  static constexpr unsigned kLanes = 128, kColumns = 512;
  /// Columns are allocated in groups of this many.
  static constexpr unsigned kGroupColumns = 32, kGroups = kColumns / kGroupColumns;

  /// Nothing allocated. The contents are undefined: zeros here.
  void reset();
  /// Allocates `groups` of columns, at a multiple of their number; the first one, or nothing where there is no room.
  std::optional<unsigned> allocate(unsigned groups);
  /// The same in the memory of both blocks of a pair (.cta_group::2).
  static std::optional<unsigned> allocateForPair(TensorMemory& first, TensorMemory& second, unsigned groups);
  /// Bits of groups that are allocated.
  std::uint32_t allocated() const { return allocated_; }
  void setAllocated(std::uint32_t groups) { allocated_ = groups; }

  /// A cell of an allocated column; null outside of these.
  std::uint32_t* cell(unsigned lane, unsigned column);

  /// A register of a thread of warp `warp` of the block: loads it, or with `isStore` stores it. `isHalf` (.pack::16b,
  /// .unpack::16b): it holds the low halves of two columns. Registers that stand for nothing stay as they are.
  std::optional<TensorFault> access(std::uint32_t address, TensorShape shape, unsigned warp, unsigned thread,
                                    unsigned index, bool isHalf, bool isStore, std::uint32_t& value);

  /// tcgen05.shift: of each warp's 32 lanes, all but the last get the 32 bytes from the address on that the next lane
  /// has. PTX manual, "tcgen05.shift" and "Data Movement Shape" (.31x256b). Which way the rows go, and that they do so
  /// for all four warps, the manual leaves open; it was measured on a B200 with addresses in lane 0
  /// (github.com/cicuvc/nvidia-sass-document, tests/tcgen05_cp_shift_runtime.cu). Others are a fault.
  std::optional<TensorFault> shiftRows(std::uint32_t address);

 private:
  std::uint32_t allocated_ = 0;
  std::vector<std::uint32_t> cells_; ///< by lane; empty until used
};

} // namespace orias::launch
