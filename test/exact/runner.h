#pragma once

#include "encoder/isa/semantics/semantics.h"
#include "ori/function.h"

#include <array>
#include <cstdint>
#include <vector>

namespace orias::exact {

/// Executes a function of Ori that only computes: no memory, one lane. Constructed once and run many times.
class Runner {
 public:
  /// Registers `a` and `b` contain the arguments, `result` the result at the end: one or two words each. The function
  /// ends at a block without successors.
  Runner(const ori::Function& function, ori::VRegId a, ori::VRegId b, ori::VRegId result);

  /// Added to MUFU's results for reciprocals and reciprocal roots (for f64, the high words), unless they are 0,
  /// subnormal, infinite or NaN.
  int seedError = 0;

  std::uint64_t run(std::uint64_t a, std::uint64_t b);
  /// Whether the last run left the straight path from the first block.
  bool wentCold() const { return wentCold_; }

 private:
  /// The position of an operand's words in the runner's memory, or its constant bits.
  struct Slot {
    std::uint32_t place = 0;
    std::uint8_t words = 0; ///< 0: a constant
    isa::LaneValue constant;
  };
  struct Step {
    isa::Inst inst;
    isa::LaneFunction function = nullptr; ///< null: a jump
    std::array<Slot, isa::kMaxOperands> slots;
    std::uint8_t count = 0, defs = 0; ///< bit i of defs: operand i is written
    Slot guard;
    bool guardInverted = false, hasGuard = false;
    std::uint32_t leastSeed = 0, firstInfinite = 0; ///< of MUFU: the range of words to which seedError is added; else 0
    std::uint32_t target = 0;                       ///< of a jump: index of a step
  };

  Slot slotOf(const isa::Operand& operand) const;
  void read(const Slot& slot, isa::LaneValue& value) const;
  bool holds(const Step& step) const;

  std::vector<std::uint32_t> base_; // by VRegId
  std::vector<std::uint32_t> words_;
  std::vector<Step> steps_;
  struct End {
    std::uint32_t place = 0;
    unsigned words = 0;
  };
  std::array<End, 3> ends_{}; // of a, b, result
  bool wentCold_ = false;
};

} // namespace orias::exact
