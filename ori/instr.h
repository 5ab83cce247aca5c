#pragma once

#include "encoder/isa/isa.h"

#include <cstdint>
#include <span>

namespace orias::ori {

class Function;
struct Block;
struct Instr;

using isa::File;
using isa::Op;

/// Dense ids, counted per function from 0.
using VRegId = std::uint32_t;
using BlockId = std::uint32_t;
using InstrId = std::uint32_t;
inline constexpr std::uint32_t kNoId = ~0u;

/// An operand of an instruction in a function. Operands that are virtual registers are linked into the register's list
/// of uses and definitions. Function::setOperand and similar functions keep that list up to date, so the value is never
/// written directly.
struct Operand : isa::Operand {
  Instr* owner = nullptr;
  Operand* nextRef = nullptr; ///< next operand that refers to the same virtual register
  Operand* prevRef = nullptr;

  const isa::Operand& value() const { return *this; }
  bool isLabel() const { return kind == Kind::Label; }
};
static_assert(sizeof(Operand) == 40);

/// The position in the PTX text that an instruction was made from.
struct Source {
  std::uint32_t ptxLine = 0; ///< line in the PTX file, 0 = none
  std::uint32_t loc = 0;     ///< index + 1 into Module::locs (.loc directives), 0 = none
};

/// One phase that touched an instruction; a list with the newest first.
struct ProvenanceNode {
  std::uint16_t phase = 0; ///< index into the pipeline
  const ProvenanceNode* older = nullptr;
};

/// One instruction. PHI's operands are the result, then for each predecessor the value and the label of that
/// predecessor. Operands are in the order of the operand slots of the table (isa::InstrDesc::slots); pseudo
/// instructions such as PHI have any number. The guard predicate is stored separately but is a use like any other.
struct Instr {
  InstrId id = kNoId;
  Op op{};
  std::uint16_t createdBy = 0; ///< pipeline index of the phase that created it
  std::array<std::uint8_t, isa::kMaxMods> mods{};
  isa::Control control;
  /// A multiplication, an addition or a weak shared-memory access that PTX allows to be combined with another one.
  bool mayContract = false;
  /// For a guarded instruction outside SSA form: where the guard is false, the results are undefined, so the live
  /// ranges of the old values end here. Set when SSA form is left; cleared by a change of guard, result or opcode.
  bool hasUndefinedRest = false;
  std::uint16_t operandCount = 0;
  Operand* operands = nullptr; ///< `operandCount` of them; operands[-1] is the guard
  Block* block = nullptr;
  Instr* prev = nullptr;
  Instr* next = nullptr;
  Source source;
  const ProvenanceNode* changedBy = nullptr;

  std::span<Operand> ops() { return {operands, operandCount}; }
  std::span<const Operand> ops() const { return {operands, operandCount}; }
  const Operand& op_(unsigned i) const { return operands[i]; }
  const Operand& guard() const { return operands[-1]; }
  bool isGuarded() const { return !(guard().isZeroReg() && !guard().inverted()); }
  /// The guard and all operands.
  std::span<const Operand> refs() const { return {operands - 1, operandCount + 1u}; }
};

} // namespace orias::ori
