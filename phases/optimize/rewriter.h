#pragma once

// The environment of the rules of the general optimizer: a function in SSA form, its definitions, and a worklist.

#include "ori/function.h"
#include "phases/phase.h"

#include <optional>
#include <span>
#include <vector>

namespace orias::phases {

/// The definition of a component: operand `slot` of `instr`, and the component of that operand.
struct Definition {
  ori::Instr* instr = nullptr;
  std::uint8_t slot = 0;
  std::uint8_t index = 0;
  explicit operator bool() const { return instr != nullptr; }
};

class RuleTable;

/// Whether a result is discarded.
inline bool isUnused(const isa::Operand& result) {
  return result.isNone() || result.isZeroReg();
}

/// Lets rules look at definitions and change instructions, and calls them until nothing changes. Made for partial SSA
/// form. Before SSA form, rules see only the definitions of registers with a single value (single_def_values.h).
class Rewriter {
 public:
  /// Tries to improve one instruction based on its operands; true if it changed something. It may erase the
  /// instruction.
  using Rule = bool (*)(Rewriter&, ori::Instr&);

  /// Kinds of sources, one bit each; the guard is a source.
  static constexpr std::uint8_t kCopied = 1, ///< the result of a copy
      kMasked = 2,                           ///< of an operation that may change only bits that its user ignores
      kChosen = 4;                           ///< of SEL

  explicit Rewriter(ori::Function& function);

  /// Applies the rules, in their order, to all instructions until none applies, with at most `maxRounds` iterations
  /// over changed instructions. Also removes dead instructions. True if anything changed.
  bool run(const RuleTable& rules, std::int64_t maxRounds);

  ori::Function& function() const { return function_; }

  // --- queries

  /// The only definition of component `index` of a register operand, if known: it is unguarded, the register has no
  /// other definitions, and it is not a physical register.
  Definition definition(const isa::Operand& operand, unsigned index = 0) const {
    if (!operand.isReg() || !operand.isVirtual() || operand.reg + 1 >= first_.size()) return {};
    const std::uint32_t at = first_[operand.reg] + operand.sub + index;
    return at < first_[operand.reg + 1] ? defs_[at] : Definition{};
  }
  /// Whether that definition is an instruction with this opcode. Most rules check this first, for nearly all operands.
  bool isFrom(isa::Op op, const isa::Operand& operand) const {
    const Definition def = definition(operand);
    return def && def.instr->op == op;
  }
  /// The kinds of the sources of an instruction.
  std::uint8_t kindsOfSources(const ori::Instr& instr) const;
  /// The kinds of the sources of the current instruction of `run`.
  std::uint8_t kindsOfSources() const { return sources_; }
  /// The instruction whose result `slot` is exactly this operand; null otherwise.
  ori::Instr* producer(const isa::Operand& operand, isa::Op op, unsigned slot = 0) const;
  /// Whether these components of the register have a single use.
  bool hasOneUse(const isa::Operand& operand) const;
  /// The bits of a known 32-bit value: an immediate, RZ, or a register that a move sets to a constant.
  std::optional<std::uint32_t> constantOf(const isa::Operand& operand) const;
  /// The value of a known predicate (with its inversion).
  std::optional<bool> truthOf(const isa::Operand& operand) const;
  /// Whether a register has the same value at all points where it can be read, so that a use of it can move. False for
  /// uniform registers that a loop redefines, since lanes leave the loop at different times.
  bool isStable(const isa::Operand& operand) const;
  /// Whether a virtual register has one value at all points where it can be read.
  bool isSingle(ori::VRegId id) const { return id < isSingle_.size() ? isSingle_[id] : function_.ssa; }

  // --- changes

  void setOperand(ori::Instr& instr, unsigned slot, const isa::Operand& value);
  void setGuard(ori::Instr& instr, const isa::Operand& value);
  /// Changes the opcode and operands, with the same results. Modifiers not given have their defaults.
  void rewrite(ori::Instr& instr, isa::Op op, std::initializer_list<isa::Operand> operands,
               std::initializer_list<isa::ModValue> mods = {});
  /// Makes it a copy of `value` into the result in slot 0 (or `slot`).
  void becomeCopy(ori::Instr& instr, const isa::Operand& value, unsigned slot = 0);
  /// A new register.
  isa::Operand newRegister(isa::File file, unsigned width);
  /// Inserts a new instruction for the same line, which the rules also visit. Modifiers not given have their defaults.
  ori::Instr& insertBefore(ori::Instr& where, isa::Op op, std::span<const isa::Operand> operands,
                           const std::array<std::uint8_t, isa::kMaxMods>* mods = nullptr);
  /// Sets the register pair in operand slot `slot` to two words.
  void becomePair(ori::Instr& instr, unsigned slot, std::uint32_t low, std::uint32_t high);
  /// Whether the instruction would be legal with another operand.
  static bool fitsWith(const ori::Instr& instr, unsigned slot, const isa::Operand& value);

 private:
  void record(ori::Instr& instr);
  void forget(ori::Instr& instr);
  void enqueue(ori::Instr* instr);
  void changed(ori::Instr& instr);
  bool eraseIfDead(ori::Instr& instr);
  void enqueueDefinitions(const isa::Operand& operand);

  ori::Function& function_;
  std::vector<bool> isSingle_;       // by virtual register
  std::vector<std::uint32_t> first_; // the first component of each virtual register
  std::vector<Definition> defs_;     // by component
  std::vector<ori::Instr*> next_;    // the worklist
  std::vector<bool> isQueued_;       // by instruction id
  bool entryRunsOnce_ = true;
  std::uint8_t sources_ = 0; // of the current instruction
};

// The families of rules. Each file describes its rules.

bool propagateCopies(Rewriter&, ori::Instr&);       ///< copies.cpp
bool propagateConstantLoad(Rewriter&, ori::Instr&); ///< copies.cpp
bool simplifyPhi(Rewriter&, ori::Instr&);           ///< copies.cpp
bool foldConstants(Rewriter&, ori::Instr&);         ///< fold_constants.cpp
bool simplifyAlgebra(Rewriter&, ori::Instr&);       ///< algebra.cpp
bool dropMasks(Rewriter&, ori::Instr&);             ///< known_bits.cpp
bool ignoreUnusedBits(Rewriter&, ori::Instr&);      ///< demanded_bits.cpp
bool permuteBytes(Rewriter&, ori::Instr&);          ///< byte_moves.cpp
bool dropIdentity(Rewriter&, ori::Instr&);          ///< identities.cpp
bool foldComparison(Rewriter&, ori::Instr&);        ///< comparisons.cpp
bool foldLongComparison(Rewriter&, ori::Instr&);    ///< comparisons.cpp
bool foldBitTest(Rewriter&, ori::Instr&);           ///< comparisons.cpp
bool reassociateLongSum(Rewriter&, ori::Instr&);    ///< long_sums.cpp
bool foldShiftedAddress(Rewriter&, ori::Instr&);    ///< shifted_sums.cpp
bool foldProductOfNumbers(Rewriter&, ori::Instr&);  ///< shifted_sums.cpp
bool narrowWideProduct(Rewriter&, ori::Instr&);     ///< long_sums.cpp
bool combinePredicates(Rewriter&, ori::Instr&);     ///< predicates.cpp
bool combineTest(Rewriter&, ori::Instr&);           ///< predicates.cpp
bool foldWideAddress(Rewriter&, ori::Instr&);       ///< addresses.cpp
bool foldOffset(Rewriter&, ori::Instr&);            ///< addresses.cpp
bool foldFrameAddress(Rewriter&, ori::Instr&);      ///< addresses.cpp
bool foldUniformBase(Rewriter&, ori::Instr&);       ///< addresses.cpp
bool foldSharedOffset(Rewriter&, ori::Instr&);      ///< addresses.cpp
bool foldTensorOffset(Rewriter&, ori::Instr&);      ///< addresses.cpp
bool splitConstOffset(Rewriter&, ori::Instr&);      ///< split_const_offsets.cpp
bool separateShortNumber(Rewriter&, ori::Instr&);   ///< split_const_offsets.cpp
bool separateProduct(Rewriter&, ori::Instr&);       ///< split_const_offsets.cpp
bool foldConstantIndex(Rewriter&, ori::Instr&);     ///< addresses.cpp
bool combineSums(Rewriter&, ori::Instr&);           ///< combine.cpp
bool combineLogic(Rewriter&, ori::Instr&);          ///< combine.cpp
bool combineRounding(Rewriter&, ori::Instr&);       ///< combine.cpp
bool pairProducts(Rewriter&, ori::Instr&);          ///< wide_products.cpp
bool combineCarryPair(Rewriter&, ori::Instr&);      ///< wide_products.cpp
bool contractProducts(Rewriter&, ori::Instr&);      ///< contract.cpp
bool foldSigns(Rewriter&, ori::Instr&);             ///< float_signs.cpp
bool foldHalves(Rewriter&, ori::Instr&);            ///< halves.cpp
bool foldSaturation(Rewriter&, ori::Instr&);        ///< saturation.cpp
bool foldCarries(Rewriter&, ori::Instr&);           ///< carries.cpp
bool combineShifts(Rewriter&, ori::Instr&);         ///< carries.cpp
bool combineLongSums(Rewriter&, ori::Instr&);       ///< carries.cpp

/// Branches with a known condition become unconditional or are removed, also unreachable code, and instructions under a
/// guard that is never true. The condition of a branch is known where the branch dominates. True if anything changed.
/// decide_branches.cpp
bool decideBranches(ori::Function& function);

/// Narrows 64-bit additions and phis of which only the lower word is used. demanded_words.cpp
bool narrowLongValues(ori::Function& function);

/// Phase 49: removes instructions whose result a dominating one has computed. value_numbering.cpp. With `context`,
/// within the register budget (cse_pressure.h), depending on the knobs of the phase.
bool numberValues(ori::Function& function, PhaseContext* context = nullptr);

/// Also phase 49: CSE of constants in registers, within the register budget. constant_cse.cpp
bool shareConstants(ori::Function& function, PhaseContext& context);

} // namespace orias::phases
