#pragma once

#include "frontend/module.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace orias::ptx {

class FormTable;

/// Guards of a function that are true for one thread of the warp at most, and code that one thread at most executes:
/// what `elect.sync` of a whole warp makes sure of, and comparisons of %tid.x with a constant, where `.reqntid` says
/// that no two threads of a warp share it.
///
/// All threads of the warp reconverge at such an `elect.sync`: they see the result of the same election, and the thread
/// elected before has left the code that was its own. The cost is linear in the statements, with a few passes over the
/// branches.
class Elected {
 public:
  Elected(const Module& module, const Function& function, const FormTable& forms);

  /// Is the guard of this instruction true for one thread of the warp at most?
  bool isByOne(std::uint32_t instruction) const { return byOne_[instruction]; }
  /// Does one thread of the warp at most reach this instruction at a time?
  bool isAlone(std::uint32_t instruction) const { return alone_[instruction]; }

 private:
  /// What is known of a register.
  struct Fact {
    enum class Kind : std::uint8_t {
      Constant,    ///< it is `value`
      TrueForOne,  ///< a predicate
      FalseForOne, ///< likewise
      OtherForOne, ///< it is `value` but for one thread at most
      ThreadX      ///< %tid.x, which no two threads of a warp share
    } kind;
    std::uint32_t value = 0;
    bool isFixed = false; ///< of a predicate: it is the same thread whenever the predicate is written
  };

  void followBlocks();
  void step(std::uint32_t number);
  std::optional<Fact> derived(const Instruction& i) const;
  std::optional<Fact> factOf(RegisterId reg) const;
  std::optional<std::uint32_t> constantOf(const Operand& o) const;
  bool isOfOne(RegisterId predicate, bool isNegated) const;
  void findRegions();

  const Module& module_;
  const Function& function_;
  const FormTable& forms_;
  std::unordered_map<RegisterId, Fact> facts_;   ///< of the block, so far
  std::unordered_map<RegisterId, Fact> lasting_; ///< of predicates that all threads write behind each `elect.sync`
  std::vector<unsigned> writers_;                ///< by register
  bool isThreadXOfOne_ = false;
  bool hasBranched_ = true;                       ///< since the last `elect.sync`
  std::vector<bool> byOne_, passedByOne_, alone_; ///< by instruction; passed: where the guard is false
};

} // namespace orias::ptx
