// Operations all of whose inputs are known: their result is a constant. What they compute is asked of
// encoder/isa/semantics, which executes the same instructions in the emulator.

#include "encoder/isa/desc.h"
#include "encoder/isa/semantics/semantics.h"
#include "phases/optimize/rewriter.h"
#include "support/check.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

bool isUnused(const Operand& result) {
  return result.isNone() || result.isZeroReg();
}

/// The only result that somebody reads, when it is one word of a file that can hold a constant; -1 otherwise.
int onlyResult(const Rewriter& rw, const Instr& instr) {
  int only = -1;
  for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
    const ori::Operand& o = instr.op_(slot);
    if (!o.isDef || isUnused(o.value())) continue;
    if (o.isVirtual() && !rw.function().hasUses(o.reg)) continue;
    const bool fits = (o.isReg(File::R) && o.width == 1) || o.isReg(File::P);
    if (only >= 0 || !fits) return -1;
    only = static_cast<int>(slot);
  }
  return only;
}

/// The bits that a source reads, without its modifiers, which the semantics function applies.
std::optional<isa::LaneValue> valueOf(const Rewriter& rw, const isa::Inst& inst, unsigned slot) {
  Operand plain = inst.operands[slot];
  if (plain.isNone()) return isa::LaneValue{};
  if (plain.isImm()) return isa::immediateValue(inst, slot);
  if (!plain.isReg()) return std::nullopt;
  plain.flags = static_cast<std::uint8_t>(plain.flags & ~(Operand::kNeg | Operand::kAbs | Operand::kNot));
  plain.half = Operand::Half::None;
  if (plain.file == File::P) {
    const std::optional<bool> truth = rw.truthOf(plain);
    if (truth) return isa::LaneValue::of(*truth ? 1 : 0);
    return std::nullopt;
  }
  if (plain.file == File::R && plain.isZeroReg()) return isa::LaneValue{};
  if (const auto word = rw.constantOf(plain)) return isa::LaneValue::of(*word);
  return std::nullopt;
}

/// What the instruction makes of sources that are all known.
std::optional<isa::LaneValues> evaluate(const Rewriter& rw, const Instr& instr, isa::LaneFunction function) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  isa::Inst inst;
  inst.op = instr.op;
  inst.operandCount = static_cast<std::uint8_t>(instr.operandCount);
  std::copy_n(instr.mods.begin(), inst.mods.size(), inst.mods.begin());
  isa::LaneValues values{};
  for (unsigned slot = 0; slot < instr.operandCount; ++slot)
    inst.operands[slot] = instr.op_(slot).value();
  for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
    if (slot < row.slotCount && row.slots[slot].role == isa::Role::Def) continue;
    const auto value = valueOf(rw, inst, slot);
    if (!value) return std::nullopt;
    values[slot] = *value;
  }
  if (!isa::isExact(inst, values)) return std::nullopt;
  try {
    function(inst, values);
  } catch (const Error&) { // a use whose meaning is not known well enough
    return std::nullopt;
  }
  return values;
}

bool foldKnown(Rewriter& rw, Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.has(isa::Flag::Copy) || row.has(isa::Flag::SideEffect)) return false;
  const isa::LaneFunction function = isa::laneFunction(instr.op);
  if (!function || instr.operandCount < 2) return false; // UNDEF has no sources
  const int result = onlyResult(rw, instr);
  if (result < 0) return false;
  const auto values = evaluate(rw, instr, function);
  if (!values) return false;
  const auto slot = static_cast<unsigned>(result);
  const std::uint32_t word = (*values)[slot].w[0];
  const bool isPredicate = instr.op_(slot).isReg(File::P);
  const Operand truth = (word & 1) != 0 ? Operand::pt() : Operand::pt().notted();
  rw.becomeCopy(instr, isPredicate ? truth : Operand::immediate(static_cast<std::int32_t>(word)), slot);
  return true;
}

/// A choice of which the condition is known, or between two that are the same.
bool foldSelect(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::SEL) return false;
  const Operand a = instr.op_(1).value(), b = instr.op_(2).value();
  const auto which = rw.truthOf(instr.op_(3).value());
  if (!which && a != b) return false;
  const Operand& chosen = !which || *which ? a : b;
  if (chosen.isReg() ? !rw.isStable(chosen) : !(chosen.isImm() || chosen.isConst())) return false;
  rw.becomeCopy(instr, chosen);
  return true;
}

/// No unsigned number is below zero.
bool foldComparisonWithZero(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::ISETP || !isUnused(instr.op_(1).value())) return false;
  const auto comparison = isa::modAs<isa::ICmp>(instr, Mod::Cmp);
  if (isa::modAs<isa::IntType>(instr, Mod::Type) != isa::IntType::U32) return false;
  if (comparison != isa::ICmp::GE && comparison != isa::ICmp::LT) return false;
  const auto bound = rw.constantOf(instr.op_(3).value());
  const auto other = rw.truthOf(instr.op_(4).value());
  if (!bound || *bound != 0 || !other) return false;
  bool isTrue = comparison == isa::ICmp::GE;
  switch (isa::modAs<isa::BoolOp>(instr, Mod::Bool)) {
  case isa::BoolOp::AND: isTrue = isTrue && *other; break;
  case isa::BoolOp::OR: isTrue = isTrue || *other; break;
  case isa::BoolOp::XOR: isTrue = isTrue != *other; break;
  }
  rw.becomeCopy(instr, isTrue ? Operand::pt() : Operand::pt().notted());
  return true;
}

} // namespace

bool foldConstants(Rewriter& rw, Instr& instr) {
  return foldKnown(rw, instr) || foldSelect(rw, instr) || foldComparisonWithZero(rw, instr);
}

} // namespace orias::phases
