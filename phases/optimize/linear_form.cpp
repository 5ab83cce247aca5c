#include "phases/optimize/linear_form.h"

#include "encoder/isa/desc.h"

#include <algorithm>
#include <utility>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// A sort key for values: their bytes in order.
std::pair<std::uint64_t, std::uint32_t> orderOf(const Operand& value) {
  const auto part = [](auto byte, unsigned shift) { return std::uint64_t{static_cast<std::uint8_t>(byte)} << shift; };
  return {part(value.kind, 56) | part(value.file, 48) | part(value.sub, 40) | part(value.bank, 32) |
              __builtin_bswap32(value.reg),
          __builtin_bswap32(static_cast<std::uint32_t>(value.imm))};
}

} // namespace

void LinearForm::add(const Term& term) {
  const auto key = orderOf(term.value);
  const auto at = std::find_if(terms.begin(), terms.end(), [&](const Term& t) { return orderOf(t.value) >= key; });
  if (at == terms.end() || orderOf(at->value) != key) {
    if (term.factor != 0) terms.insert(at, term);
    return;
  }
  at->factor += term.factor;
  if (at->factor == 0) terms.erase(at);
}

void LinearForm::add(const LinearForm& other, std::uint32_t factor) {
  number += other.number * factor;
  for (const Term& term : other.terms)
    add({term.value, term.factor * factor});
}

bool LinearForms::addendsOf(const Instr& instr, std::vector<std::pair<Operand, std::uint32_t>>& addends) const {
  if (instr.isGuarded()) return false;
  const auto constant = [&](unsigned slot) { return rewriter_.constantOf(instr.op_(slot).value()); };
  switch (instr.op) {
  case Op::COPY: // NOLINT(bugprone-branch-clone)
  case Op::MOV:
    if (!instr.op_(0).isReg(File::R) || instr.op_(0).width != 1) return false;
    if (instr.op == Op::MOV && !instr.op_(2).isNone() && instr.op_(2).imm != 15) return false;
    addends = {{instr.op_(1).value(), 1}};
    return true;
  case Op::IADD3:
    if (!isUnused(instr.op_(1).value()) || !isUnused(instr.op_(2).value())) return false;
    addends = {{instr.op_(3).value(), 1}, {instr.op_(4).value(), 1}, {instr.op_(5).value(), 1}};
    return true;
  case Op::LEA: {
    if (!isUnused(instr.op_(1).value()) || !instr.op_(4).isImm()) return false;
    addends = {{instr.op_(2).value(), std::uint32_t{1} << (instr.op_(4).imm & 31)}, {instr.op_(3).value(), 1}};
    return true;
  }
  case Op::SHF: {
    const auto count = constant(2);
    if (isa::modAs<isa::ShiftDir>(instr, isa::Mod::ShiftDir) != isa::ShiftDir::L ||
        isa::modAs<isa::ShiftType>(instr, isa::Mod::ShiftType) != isa::ShiftType::U32 ||
        isa::getMod(instr.op, instr.mods, isa::Mod::Hi) != 0 || !instr.op_(3).isZeroReg() || !count || *count > 31)
      return false;
    addends = {{instr.op_(1).value(), std::uint32_t{1} << *count}};
    return true;
  }
  case Op::IMAD: {
    const auto first = constant(1), second = constant(2);
    if (!first && !second) return false;
    addends = {{instr.op_(second ? 1 : 2).value(), second ? *second : *first}, {instr.op_(3).value(), 1}};
    return true;
  }
  default: return false;
  }
}

std::optional<LinearForm> LinearForms::of(const Operand& operand) const {
  if (operand.width != 1 || operand.abs() || operand.inverted() || operand.half != Operand::Half::None)
    return std::nullopt;
  Operand plain = operand;
  plain.flags = operand.isVirtual() ? Operand::kVirtual : 0;
  LinearForm form;
  if (const auto number = rewriter_.constantOf(plain)) {
    form.number = operand.neg() ? 0u - *number : *number;
    return form;
  }
  const bool isFixedConstant = plain.isConst() && plain.reg == Operand::kNoReg;
  if (!isFixedConstant && !(plain.isReg() && plain.isVirtual() && rewriter_.isStable(plain))) return std::nullopt;
  if (plain.isReg())
    if (const auto known = forms_.find(place(plain)); known != forms_.end()) {
      form.add(known->second, operand.neg() ? ~0u : 1u);
      return form;
    }
  form.add({plain, operand.neg() ? ~0u : 1u});
  return form;
}

std::optional<LinearForm> LinearForms::show(const Instr& instr) {
  LinearForm sum;
  bool isKnown = true;
  const bool isSum = forEachAddend(instr, [&](const Operand& operand, std::uint32_t factor) {
    const std::optional<LinearForm> form = isKnown ? of(operand) : std::nullopt;
    isKnown &= form.has_value();
    if (isKnown) sum.add(*form, factor);
  });
  if (!isSum || !isKnown || sum.terms.size() > kMaxTerms) return std::nullopt;
  const Operand result = instr.op_(0).value();
  if (!result.isReg(File::R) || !result.isVirtual() || !rewriter_.isSingle(result.reg)) return std::nullopt;
  forms_[place(result)] = sum;
  return sum;
}

} // namespace orias::phases
