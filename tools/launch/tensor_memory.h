#pragma once

#include "tools/launch/tensor_fault.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Tensor memory (tcgen05): 128 lanes of 512 columns of 32 bits. Shared by both engines, which are compared on the code
// around it. An address has the lane from bit 16 on, and the column below.

namespace orias::launch {

/// The mapping from registers of a warp's threads to lanes and columns (PTX manual, "tcgen05 matrix fragments"; the
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
/// The cell of a register of a thread, relative to the address. Lower and Upper are the two halves of .16x32bx2: each
/// covers the registers of half of the threads, and returns nothing for the others.
std::optional<TensorPlace> tensorPlace(TensorShape shape, unsigned thread, unsigned index);

/// tcgen05.ld.red: the minimum or maximum of the words that a thread loads. The PTX manual does not specify more. Zeros
/// and NaNs are handled as in redux.sync, which has the same modifiers. Published results of a B300 agree: .NaN gives
/// the canonical NaN, .abs a value without its sign (github.com/cicuvc/nvidia-sass-document, "LDTM.STAT: fused TMEM
/// load and per-thread reduction"). Types are numbered as in the words of LDTM.STAT.
struct TensorReduction {
  enum class Type : std::uint8_t { Unsigned, Signed, Float };
  Type type = Type::Unsigned;
  bool isMin = false;
  bool ofMagnitudes = false; ///< .abs
  bool nanWins = false;      ///< .NaN
  /// The reduction of one or more words.
  std::uint32_t of(std::span<const std::uint32_t> words) const;
};

class TensorMemory {
 public:
  static constexpr unsigned kLanes = 128, kColumns = 512;
  /// Columns are allocated in groups of this many.
  static constexpr unsigned kGroupColumns = 32, kGroups = kColumns / kGroupColumns;

  /// Frees everything. The contents are undefined; here they are zero.
  void reset();
  /// Allocates `groups` of columns, at a multiple of their number. Returns the first one, or nothing if there is no
  /// room.
  std::optional<unsigned> allocate(unsigned groups);
  /// Likewise in the memory of both blocks of a pair (.cta_group::2).
  static std::optional<unsigned> allocateForPair(TensorMemory& first, TensorMemory& second, unsigned groups);
  /// The mask of allocated groups.
  std::uint32_t allocated() const { return allocated_; }
  void setAllocated(std::uint32_t groups) { allocated_ = groups; }

  /// A cell of an allocated column; null outside of the allocated columns.
  std::uint32_t* cell(unsigned lane, unsigned column);

  /// Loads a register of a thread of warp `warp` of the block, or stores it if `isStore`. `isHalf` (.pack::16b,
  /// .unpack::16b): it holds the low halves of two columns. Registers without a cell do not change.
  std::optional<TensorFault> access(std::uint32_t address, TensorShape shape, unsigned warp, unsigned thread,
                                    unsigned index, bool isHalf, bool isStore, std::uint32_t& value);

  /// tcgen05.shift: in each warp's 32 lanes, all but the last receive 32 bytes of the next lane, starting at the
  /// address. PTX manual, "tcgen05.shift" and "Data Movement Shape" (.31x256b). The manual leaves open the direction,
  /// and whether all four warps shift. This was measured on a B200 with addresses in lane 0
  /// (github.com/cicuvc/nvidia-sass-document, tests/tcgen05_cp_shift_runtime.cu). Other addresses are a fault.
  std::optional<TensorFault> shiftRows(std::uint32_t address);

 private:
  std::uint32_t allocated_ = 0;
  std::vector<std::uint32_t> cells_; ///< by lane; empty until used
};

} // namespace orias::launch
