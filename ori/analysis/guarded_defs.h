#pragma once

#include "ori/analysis/components.h"

#include <cstdint>
#include <vector>

namespace orias::ori {

/// Walks forwards over a block and finds the guarded definitions that always execute.
///
/// `ELECT P, URZ, PT` sets P in one of the active lanes. An instruction of the same block under P that writes uniform
/// registers executes for that lane, and uniform registers have one value for all lanes, so the old value never
/// survives.
class ElectedDefs {
 public:
  /// Forgets the elected predicates of the previous block.
  void enter() { elected_.clear(); }
  /// Whether the guarded `instr` always overwrites the old value of its result `def`. Call it before `step`.
  bool alwaysExecutes(const Instr& instr, const Operand& def) const;
  /// Advances over the instruction.
  void step(const Instr& instr);

 private:
  std::vector<isa::Operand> elected_; // predicates that are true in one active lane
};

/// Whether this result of a guarded instruction is undefined where the guard is false. In SSA form it is, except for
/// registers with several definitions (VReg::multiDef).
bool leavesRestUndefined(const Function& function, const Instr& instr, const Operand& result);
/// Whether the instruction has results, and all of them are undefined where the guard is false.
bool leavesRestUndefined(const Function& function, const Instr& instr);

/// The value of a guard within one block: equal for two instructions if both execute or neither does. Never zero.
using GuardValue = std::uint64_t;

/// The value of a predicate that `version` wrote last. `predicate` is the number of its register plus one, or zero for
/// a guard that is in no register.
constexpr GuardValue guardValue(std::uint32_t predicate, std::uint32_t version, bool isInverted) {
  return GuardValue{predicate} << 33 | GuardValue{version} << 1 | (isInverted ? 1 : 0);
}

/// The value that makes an instruction execute exactly where the other one does not.
constexpr GuardValue complementOf(GuardValue guard) {
  return guard ^ 1;
}

/// Walks forwards over a block and numbers the values of guards. Two guards have the same value if they read the same
/// predicate with the same sign, and no instruction in between writes it.
class GuardValues {
 public:
  explicit GuardValues(const Components& components) : components_(components) {}

  /// The guard of a guarded instruction. Call it before `define`.
  GuardValue of(const Instr& instr) const;
  /// Advances over the results of the instruction.
  void define(const Instr& instr);

 private:
  const Components& components_;
  std::vector<InstrId> lastDef_; // by component, plus one; of predicates only. Empty: none yet
};

/// Which lanes may use the value of a component after a point of a block. Steps backwards over reads and writes.
///
/// A guarded write ends the live range of the old value if the new one is read under the same guard only:
/// `@P0 LDG R4; @P0 FADD .., R4`. Two writes under a predicate and its complement end it together.
class GuardedLife {
 public:
  explicit GuardedLife(bool isLive) : state_(isLive ? kLive : kDead) {}

  bool isLive() const { return state_ != kDead; }
  /// An unguarded read.
  void read() { state_ = kLive; }
  void readUnder(GuardValue guard) {
    if (state_ == kDead)
      state_ = guard;
    else if (state_ != guard)
      state_ = kLive;
  }
  void write() { state_ = kDead; }
  void writeUnder(GuardValue guard) {
    if (state_ == guard)
      state_ = kDead;
    else if (state_ == kLive)
      state_ = complementOf(guard);
  }

 private:
  static constexpr GuardValue kDead = 0, kLive = ~GuardValue{0};

  GuardValue state_; // between the two: read where this guard is true only
};

} // namespace orias::ori
