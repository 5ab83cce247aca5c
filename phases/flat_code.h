#pragma once

// An allocated function as arrays, for the phases that assign control information and reorder instructions: they
// iterate over the code many times.

#include "encoder/isa/effects.h"
#include "ori/function.h"

#include <vector>

namespace orias::phases {

/// One dense number per register of each file.
using Unit = std::uint16_t;
inline constexpr unsigned kUnitCount = isa::kFileCount * 256;
constexpr Unit unitOf(isa::File file, std::uint32_t reg) {
  return static_cast<Unit>(static_cast<unsigned>(file) << 8 | (reg & 0xff));
}
constexpr isa::File fileOf(Unit unit) {
  return static_cast<isa::File>(unit >> 8);
}

/// Not a register: represents the words of mbarriers in shared memory, which mbarrier.init and mbarrier.inval write
/// late.
inline constexpr Unit kBarrierWords = unitOf(isa::File::P, 0x80);

struct RegAccess {
  Unit unit = 0;
  bool isDef = false;
  bool isLate = false;
  isa::Access access;
  bool endsReads = false; ///< earlier instructions must have read the register, as if it were written here
};

struct FlatInstr {
  ori::Instr* instr = nullptr;
  isa::LatencyClass latencyClass = isa::LatencyClass::None;
  std::uint32_t firstTouch = 0, endTouch = 0;
  Unit guard = 0; ///< unit of the guard predicate; 0 = none
  bool guardInverted = false;
  /// Transfers control to code that is not visible here: calls and returns.
  bool leaves = false;
  bool awaitsAll = false; ///< waits for all results in flight, as an exit does
};

struct FlatBlock {
  ori::Block* block = nullptr;
  std::uint32_t first = 0, end = 0;                    ///< into FlatCode::instrs
  std::vector<std::uint32_t> successors, predecessors; ///< into FlatCode::blocks
};

/// A snapshot; it is not updated when the function changes.
class FlatCode {
 public:
  explicit FlatCode(const ori::Function& function);

  std::span<const RegAccess> touches(const FlatInstr& instr) const {
    return {touches_.data() + instr.firstTouch, touches_.data() + instr.endTouch};
  }
  const isa::Target& target() const { return *target_; }

  std::vector<FlatInstr> instrs;
  std::vector<FlatBlock> blocks; ///< in the order of the layout

 private:
  void addArrivals(const ori::Instr& arrive);
  void addReleases(const ori::Instr& release);
  void addBarrierWords(const ori::Instr& instr, isa::LatencyClass latencyClass);

  const isa::Target* target_;
  std::vector<RegAccess> touches_;
};

} // namespace orias::phases
