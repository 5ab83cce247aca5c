#pragma once

#include "ori/analysis/dominators.h"
#include "ori/function.h"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace orias::phases {

/// Which values can be rematerialized, at what cost, and how: shared by all rematerializing phases.
///
/// A value is a virtual register of file R or P. It is rematerializable if each component has one definition, without a
/// guard, by an instruction whose role in the instruction table allows it: no control flow, no writable memory, no side
/// effect, no other lane, no clock. A use after the definition has executed the definition, so nothing new can fault,
/// and a guarded use does not require a guarded clone.
///
/// A register with one definition that dominates a point has the same value there as at any other point after its
/// definition (in SSA form and out of it). So operands with one definition can be read again anywhere below; operands
/// with several cannot. Uniform registers can also be read anywhere, except where parts of the warp may run separately
/// or calls have fixed their live ranges. Values in uniform registers are not candidates.
///
/// A snapshot of the control flow; instructions and registers may be added and removed.
class Rematerializer {
 public:
  struct Costs {
    unsigned load = 10;   ///< a load from memory or from an indexed constant bank; one from a known address costs half
    unsigned special = 4; ///< a special register
    bool mayLoad = true;  ///< loads that no store can change may be repeated
    bool mayLoadGeneric = true; ///< through generic addresses, too
  };
  /// Chains are followed to this depth.
  static constexpr unsigned kMaxDepth = 50;

  Rematerializer(ori::Function& function, const ori::DomTree& dominators, Costs costs);

  /// The instructions that compute the value, in execution order, each once. Empty if some component of it has
  /// no definition or several (MULTIDEF).
  std::vector<ori::Instr*> definitions(ori::VRegId value) const;
  /// Why the value cannot be rematerialized at any point; null if it can, given its operands.
  const char* whyNot(ori::VRegId value) const { return whyNot(value, definitions(value)); }
  /// The same, given the definitions.
  const char* whyNot(ori::VRegId value, std::span<ori::Instr* const> definitions) const;
  /// Why one instruction cannot be repeated, without regard to how many definitions its results have.
  const char* whyNotAgain(const ori::Instr& instr) const;
  /// The virtual registers that the value is computed from, each once.
  std::vector<ori::VRegId> operands(ori::VRegId value) const { return operands(value, definitions(value)); }
  std::vector<ori::VRegId> operands(ori::VRegId value, std::span<ori::Instr* const> definitions) const;
  /// Whether each component of a register has one definition, so that all its uses see the same value.
  bool isStable(ori::VRegId reg) const;
  /// Whether all instructions that some definition of the register dominates completely see the same value, if all of
  /// its definitions do: it is stable, or one block has all definitions, the first of them without a guard.
  bool isSettled(ori::VRegId reg) const;
  /// Whether all definitions of the register dominate `where`.
  bool isDefinedAt(ori::VRegId reg, const ori::Instr& where) const;

  /// The cost of one instruction: 1, more for slow ones, double for results wider than a register.
  unsigned cost(const ori::Instr& instr) const;
  /// The sum over the definitions.
  unsigned cost(ori::VRegId value) const;
  bool readsSpecialRegister(const ori::Instr& instr) const;

  /// Recomputes the value before `where`, from the same operands, into a new register named `prefix` plus the old name.
  /// Other results are discarded. The new instructions are appended to `added`.
  ori::VRegId clone(ori::VRegId value, ori::Instr* where, std::string_view prefix,
                    std::vector<ori::Instr*>* added = nullptr);

 private:
  bool isAbove(const ori::Instr& a, const ori::Instr& b) const;

  ori::Function& function_;
  const ori::DomTree& dominators_;
  const Costs costs_;
  const bool keepsUniform_; ///< uses of uniform registers must not move
};

/// Replaces `from` by `to` (of the same file and width) in all operands of `instr`, including the guard.
void replaceUses(ori::Function& function, ori::Instr* instr, ori::VRegId from, ori::VRegId to);

/// Removes dead definitions of these values, then of their operands, transitively. Calls `before` for each
/// removed instruction. Returns their number.
unsigned removeDead(ori::Function& function, std::vector<ori::VRegId> values,
                    const std::function<void(ori::Instr&)>& before);

} // namespace orias::phases
