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

/// The number of an operand in its function, from 1 on; 0 is none.
using RefId = std::uint32_t;

/// An operand of an instruction in a function. The function lists the operands that refer to each virtual register
/// (Function::refs). Function::setOperand and similar functions keep these lists up to date, so the value is never
/// written directly.
struct Operand : isa::Operand {
  const isa::Operand& value() const { return *this; }
  bool isLabel() const { return kind == Kind::Label; }
};
static_assert(sizeof(Operand) == 16);

/// The position in the PTX text that an instruction was made from.
struct Source {
  std::uint32_t ptxLine = 0; ///< line in the PTX file, 0 = none
  std::uint32_t loc = 0;     ///< index + 1 into Module::locs (.loc directives), 0 = none
};

/// The number of a change of an instruction by a phase (Function::forEachChange), from 1 on; 0 is none.
using ChangeId = std::uint32_t;

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
  RefId firstRef = 0;          ///< of the guard; those of the operands follow
  ChangeId lastChange = 0;     ///< the last phase that changed it, and its link to those before
  Operand* operands = nullptr; ///< `operandCount` of them; operands[-1] is the guard
  Block* block = nullptr;
  Instr* prev = nullptr;
  Instr* next = nullptr;
  Source source;

  std::span<Operand> ops() { return {operands, operandCount}; }
  std::span<const Operand> ops() const { return {operands, operandCount}; }
  const Operand& op_(unsigned i) const { return operands[i]; }
  const Operand& guard() const { return operands[-1]; }
  bool isGuarded() const { return !(guard().isZeroReg() && !guard().inverted()); }
  /// The guard and all operands.
  std::span<const Operand> refs() const { return {operands - 1, operandCount + 1u}; }
};
static_assert(sizeof(Instr) == 80);

/// An operand that refers to a virtual register, with its instruction. Valid until the instruction gets other operands.
struct Ref {
  Instr* owner = nullptr;
  const Operand* operand = nullptr;

  const Operand& operator*() const { return *operand; }
  const Operand* operator->() const { return operand; }
  bool isGuard() const { return operand == &owner->guard(); }
  /// The place among the operands of the instruction; not for a guard.
  unsigned index() const { return static_cast<unsigned>(operand - owner->operands); }
  friend bool operator==(const Ref&, const Ref&) = default;
};

} // namespace orias::ori
