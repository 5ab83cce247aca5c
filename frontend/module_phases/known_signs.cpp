#include "frontend/module_phases/known_signs.h"

#include "frontend/module_phases/instruction_results.h"

#include <algorithm>
#include <optional>

namespace orias::ptx {

namespace {

/// Counts and positions. The maximum that the manual allows for each is below 2^31 ("Special Registers").
bool isCount(SpecialRegister reg) {
  switch (reg) {
  case SpecialRegister::Tid:
  case SpecialRegister::Ntid:
  case SpecialRegister::LaneId:
  case SpecialRegister::WarpId:
  case SpecialRegister::NWarpId:
  case SpecialRegister::CtaId:
  case SpecialRegister::NCtaId:
  case SpecialRegister::SmId:
  case SpecialRegister::NSmId:
  case SpecialRegister::ClusterCtaRank:
  case SpecialRegister::ClusterNCtaRank: return true;
  default: return false;
  }
}

/// Determines the signs of the registers of a function from their definitions.
class SignFinder {
 public:
  SignFinder(const Function& function, const FormTable& forms)
      : f_(function), forms_(forms), definitions_(function.registers.size()), known_(function.registers.size()) {
    for (const Statement& s : function.statements)
      if (s.kind == StatementKind::Instruction)
        forEachResult(function, forms, function.instructions[s.index], [&](const Operand& o) {
          definitions_[index(o.registerId())].push_back(&function.instructions[s.index]);
        });
    for (const Parameter& p : function.params)
      if (p.reg != RegisterId::None) known_[index(p.reg)] = false;
  }

  bool isNonNegative(const Operand& o, unsigned bits) {
    switch (o.kind()) {
    case OperandKind::Int: return (o.bits() >> (bits - 1) & 1) == 0;
    case OperandKind::Special: return bits == 32 && isCount(o.specialRegister());
    case OperandKind::Register: break;
    default: return false;
    }
    const std::uint32_t reg = index(o.registerId());
    if (o.component() != Component::None || bitWidth(f_.registers[reg].type) != bits) return false;
    if (!known_[reg]) {
      known_[reg] = false; // for a cyclic definition
      known_[reg] = !definitions_[reg].empty() && std::ranges::all_of(definitions_[reg], [&](const Instruction* i) {
        const auto ops = f_.operandsOf(*i);
        return ops[0].is(OperandKind::Register) && ops[0].component() == Component::None && isNonNegative(*i, bits);
      });
    }
    return *known_[reg];
  }

 private:
  bool isNonNegative(const Instruction& i, unsigned bits) {
    const Form& form = forms_.form(i);
    const auto ops = f_.operandsOf(i);
    const unsigned width = bitWidth(form.type());
    const bool isUnsigned = typeClass(form.type()) == TypeClass::Unsigned;
    const bool isSigned = typeClass(form.type()) == TypeClass::Signed;
    switch (form.op) {
    case Op::Ld: return (isUnsigned || typeClass(form.type()) == TypeClass::Bits) && width < bits;
    case Op::Popc:
    case Op::Clz: return bits > 8;
    case Op::Cvt: {
      const Type from = form.type(1);
      return width == bits && !form.sat() && typeClass(from) == TypeClass::Unsigned && bitWidth(from) < bits &&
             (isUnsigned || isSigned);
    }
    default: break;
    }
    if (width != bits || typeClass(form.type()) == TypeClass::Float) return false;
    switch (form.op) {
    case Op::Mov: return ops.size() == 2 && isNonNegative(ops[1], bits);
    case Op::And: return isNonNegative(ops[1], bits) || isNonNegative(ops[2], bits);
    case Op::Or:
    case Op::Xor:
    case Op::Selp: return isNonNegative(ops[1], bits) && isNonNegative(ops[2], bits);
    case Op::Shr: {
      const bool isMoved = ops[2].is(OperandKind::Int) && ops[2].intValue() > 0;
      return isSigned ? isNonNegative(ops[1], bits) : isMoved || isNonNegative(ops[1], bits);
    }
    case Op::Min:
      return isUnsigned ? isNonNegative(ops[1], bits) || isNonNegative(ops[2], bits)
                        : isNonNegative(ops[1], bits) && isNonNegative(ops[2], bits);
    case Op::Max:
      return isUnsigned ? isNonNegative(ops[1], bits) && isNonNegative(ops[2], bits)
                        : isNonNegative(ops[1], bits) || isNonNegative(ops[2], bits);
    case Op::Bfe: return isUnsigned && ops[3].is(OperandKind::Int) && (ops[3].bits() & 0xff) < bits;
    default: return false;
    }
  }

  const Function& f_;
  const FormTable& forms_;
  std::vector<std::vector<const Instruction*>> definitions_; // by RegisterId
  std::vector<std::optional<bool>> known_;                   // by RegisterId; false while it is being computed
};

} // namespace

KnownSigns::KnownSigns(const Function& function, const FormTable& forms) {
  SignFinder finder(function, forms);
  for (std::uint32_t r = 0; r < function.registers.size(); ++r) {
    const unsigned bits = bitWidth(function.registers[r].type);
    widths_.push_back(bits);
    isNonNegative_.push_back(bits >= 16 && bits <= 64 &&
                             finder.isNonNegative(Operand::reg(static_cast<RegisterId>(r)), bits));
  }
}

bool KnownSigns::isNonNegative(const Operand& o, unsigned bits) const {
  if (o.is(OperandKind::Int)) return (o.bits() >> (bits - 1) & 1) == 0;
  if (o.is(OperandKind::Special)) return bits == 32 && isCount(o.specialRegister());
  return o.is(OperandKind::Register) && o.component() == Component::None && widths_[index(o.registerId())] == bits &&
         isNonNegative_[index(o.registerId())];
}

} // namespace orias::ptx
