#pragma once

#include "frontend/module.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

namespace orias::ptx {

class FormTable;

/// Finds guards of a function that are true for at most one thread of the warp, and code that at most one thread
/// executes. The sources are `elect.sync` of a whole warp, and comparisons of %tid.x with a constant where `.reqntid`
/// guarantees that no two threads of a warp have the same %tid.x.
///
/// All threads of the warp reconverge at such an `elect.sync`: they see the result of the same election, and the thread
/// elected before has left its exclusive code. The cost is linear in the statements, with a few passes over the
/// branches.
class Elected {
 public:
  Elected(const Module& module, const Function& function, const FormTable& forms);

  /// Whether the guard of this instruction is true for at most one thread of the warp.
  bool isByOne(std::uint32_t instruction) const { return byOne_[instruction]; }
  /// Whether at most one thread of the warp reaches this instruction at a time.
  bool isAlone(std::uint32_t instruction) const { return alone_[instruction]; }

 private:
  /// A known fact about a register.
  struct Fact {
    enum class Kind : std::uint8_t {
      Constant,    ///< the register is `value`
      TrueForOne,  ///< a predicate
      FalseForOne, ///< a predicate
      OtherForOne, ///< the register is `value` except in at most one thread
      ThreadX      ///< %tid.x, which no two threads of a warp share
    } kind;
    std::uint32_t value = 0;
    bool isFixed = false; ///< for a predicate: it is true for the same thread at every write
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
  std::unordered_map<RegisterId, Fact> facts_;   ///< of the current block, so far
  std::unordered_map<RegisterId, Fact> lasting_; ///< of predicates that all threads write after each `elect.sync`
  std::vector<unsigned> writers_;                ///< by register
  bool isThreadXOfOne_ = false;
  bool hasBranched_ = true;                       ///< since the last `elect.sync`
  std::vector<bool> byOne_, passedByOne_, alone_; ///< by instruction; passed: where the guard is false
};

} // namespace orias::ptx
