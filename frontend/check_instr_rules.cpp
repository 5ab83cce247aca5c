#include "frontend/check_instr_rules.h"

#include <fmt/format.h>

namespace orias::ptx {

namespace {

/// The type of a vector's element as a register, None for constants and `_`.
Type elementType(const Function& function, const Operand& part) {
  return part.is(OperandKind::Register) ? function.registers[index(part.registerId())].type : Type::None;
}

std::string checkVectorAccess(const Form& form) {
  const unsigned vector = form.vectorSize();
  const unsigned bits = vector * bitWidth(form.type());
  if (vector == 8 && bitWidth(form.type()) != 32) return "Vector .v8 requires a type of 32 bits";
  if (bits > 256 || (bits > 128 && vector < 4)) return "Vector type too large, exceeds 128 bit limit";
  return {};
}

/// cvt.sat between integers: only where some source value has no place in the destination.
std::string checkIntegerSaturation(const Form& form) {
  const TypeClass to = typeClass(form.type(0));
  const TypeClass from = typeClass(form.type(1));
  if (to == TypeClass::Float || from == TypeClass::Float) return {};
  const unsigned toBits = bitWidth(form.type(0));
  const unsigned fromBits = bitWidth(form.type(1));
  const bool holdsAll = to == from ? toBits >= fromBits : to == TypeClass::Signed && toBits > fromBits;
  return holdsAll ? "Illegal modifier '.sat' for instruction 'cvt': every value fits" : std::string();
}

constexpr const char* kAddressTooNarrow =
    "A 32-bit address conflicts with .address_size 64: the 32-bit ABI is not supported on sm_90 or higher";

/// On sm_90 and higher there is no 32-bit addressing of global memory.
std::string checkAddressSize(const Module& module, const Function& function, const Form& form,
                             std::span<const Operand> operands) {
  if (module.addressSize != 64 || module.target.arch.number < 90) return {};
  if (form.space() != StateSpace::None && form.space() != StateSpace::Global) return {};
  for (const Operand& operand : operands) {
    if (operand.is(OperandKind::Variable) && bitWidth(form.type()) == 32 &&
        module.variable(operand.variableId()).space == StateSpace::Global)
      return kAddressTooNarrow;
    if (operand.is(OperandKind::Address) && operand.addressBase() == OperandKind::Register &&
        bitWidth(function.registers[index(operand.registerId())].type) == 32)
      return kAddressTooNarrow;
  }
  return {};
}

std::string checkBarrier(std::span<const Operand> operands, std::size_t threadCount) {
  if (operands.size() <= threadCount || !operands[threadCount].is(OperandKind::Int)) return {};
  if (operands[threadCount].intValue() % 32 == 0) return {};
  return "Number of threads participating in barrier must be in multiple of warp size";
}

bool isIn(Op op, std::initializer_list<Op> ops) {
  for (Op o : ops)
    if (o == op) return true;
  return false;
}

/// A count of arrivals came with sm_90, but for what promises not to end the phase.
std::string checkArrivals(const Module& module, const Form& form, std::span<const Operand> operands) {
  if (operands.size() <= 2 || form.has(Mod::NoComplete) || form.has(Mod::ExpectTx)) return {};
  if (module.target.arch.number >= 90) return {};
  return fmt::format("Feature '{} with count argument and without '.noComplete'' requires .target sm_90 or higher",
                     opName(form.op));
}

} // namespace

bool isPackingMov(const Form& form, std::span<const Operand> operands) {
  return form.op == Op::Mov && form.get(Slot::Vector) == Mod::None && operands.size() == 2 &&
         (operands[0].is(OperandKind::Vector) || operands[1].is(OperandKind::Vector));
}

std::string checkPackingMov(const Function& function, const Form& form, std::span<const Operand> operands) {
  const Type type = form.type();
  const bool unpacks = operands[0].is(OperandKind::Vector);
  if (unpacks && operands[1].is(OperandKind::Vector))
    return "Illegal vector-vector operands for vector-scalar or scalar-vector mov instruction";
  const Operand& scalar = operands[unpacks ? 1 : 0];
  const std::span<const Operand> parts = function.parts(operands[unpacks ? 0 : 1]);
  if (typeClass(type) != TypeClass::Bits)
    return fmt::format("Arguments mismatch for instruction 'mov': a vector needs a .b type, not .{}", typeName(type));
  if (parts.size() != 1 && parts.size() != 2 && parts.size() != 4)
    return fmt::format("Illegal vector size: {}", parts.size());

  const unsigned width = bitWidth(type) / static_cast<unsigned>(parts.size());
  for (const Operand& part : parts) {
    const Type element = elementType(function, part);
    if (part.is(OperandKind::Sink) && unpacks) continue;
    if (part.is(OperandKind::Int) && !unpacks) continue;
    if (element == Type::None || element == Type::Pred || bitWidth(element) != width)
      return fmt::format("Arguments mismatch for instruction 'mov': {} elements of {} bits are expected", parts.size(),
                         width);
  }
  if (scalar.is(OperandKind::Register)) {
    const Type have = elementType(function, scalar);
    if (have == Type::Pred || bitWidth(have) != bitWidth(type))
      return fmt::format("Arguments mismatch for instruction 'mov': the scalar is .{}, not .{}", typeName(have),
                         typeName(type));
  } else if (!unpacks || !scalar.is(OperandKind::Int)) {
    return "Arguments mismatch for instruction 'mov'";
  }
  return {};
}

std::string checkFormRules(const Module& module, const Form& form) {
  const unsigned sm = module.target.arch.number;
  if ((form.op == Op::Vote || form.op == Op::Shfl) && !form.has(Mod::Sync) && sm >= 70 &&
      module.version >= Version{6, 4})
    return fmt::format(
        "Instruction '{}' without '.sync' is not supported on .target sm_70 and higher from PTX ISA version 6.4",
        opName(form.op));
  if (form.op == Op::Cvta && form.type() == Type::U32 && module.addressSize == 64 && sm >= 75)
    return sm >= 90 ? kAddressTooNarrow : "32-bit generic addresses are not supported any more";
  if (form.op == Op::Cvt && form.sat()) return checkIntegerSaturation(form);
  if (form.op == Op::Ld || form.op == Op::St) {
    if (std::string problem = checkVectorAccess(form); !problem.empty()) return problem;
    const unsigned bits = form.vectorSize() * bitWidth(form.type());
    if (bits > 128 && sm < 100) return "Feature '256 bit wide load/store' requires .target sm_100 or higher";
    if (form.get(Slot::EvictL2) != Mod::None && bits != 256)
      return fmt::format("Instruction '{}' requires '.v8.b32/.v4.b64' type with '.{}' modifier.", opName(form.op),
                         modName(form.get(Slot::EvictL2)));
  }
  return {};
}

std::string checkOperandRules(const Module& module, const Function& function, const Form& form,
                              std::span<const Operand> operands) {
  if (isIn(form.op, {Op::MbarrierArrive, Op::MbarrierArriveDrop})) return checkArrivals(module, form, operands);
  if (isIn(form.op, {Op::BarSync, Op::BarArrive, Op::BarrierSync, Op::BarrierArrive})) return checkBarrier(operands, 1);
  if (isIn(form.op, {Op::BarRed, Op::BarrierRed}) && operands.size() == 4) return checkBarrier(operands, 2);
  if (isIn(form.op, {Op::Ld, Op::Ldu, Op::St, Op::Atom, Op::Red, Op::Prefetch, Op::Mov}))
    if (std::string problem = checkAddressSize(module, function, form, operands); !problem.empty()) return problem;
  // A kernel's or a function's own parameters are read-only.
  if (form.op == Op::St && form.space() == StateSpace::Param && operands[0].is(OperandKind::Address) &&
      operands[0].addressBase() == OperandKind::Variable) {
    for (const Parameter& parameter : function.params)
      if (parameter.variable == operands[0].variableId())
        return fmt::format("Illegal to write to function input parameter '{}'",
                           module.text(module.variable(parameter.variable).name));
  }
  return {};
}

} // namespace orias::ptx
