#include "frontend/check_instr_rules.h"

#include <fmt/format.h>

#include <optional>

namespace orias::ptx {

namespace {

/// The register type of a vector's element, None for constants and `_`.
Type elementType(const Function& function, const Operand& part) {
  return part.is(OperandKind::Register) ? function.registers[index(part.registerId())].type : Type::None;
}

/// Registers of the integer types can be mixed, and bits with all types.
bool goTogether(Type a, Type b) {
  if (a == Type::None || b == Type::None || a == b) return true;
  const auto isWhole = [](Type type) {
    return typeClass(type) == TypeClass::Unsigned || typeClass(type) == TypeClass::Signed;
  };
  return typeClass(a) == TypeClass::Bits || typeClass(b) == TypeClass::Bits || (isWhole(a) && isWhole(b));
}

/// The elements of a vector have one size, and neighbors are of the same kind.
std::string checkElements(const Function& function, const Operand& vector, const Form& form) {
  unsigned bits = 0;
  Type before = Type::None;
  for (const Operand& part : function.parts(vector)) {
    if (part.is(OperandKind::Sink)) continue;
    Type type = elementType(function, part);
    if (part.is(OperandKind::Register)) {
      if (bits != 0 && bits != bitWidth(type)) return "Incompatible elements of vector expression";
      bits = bitWidth(type);
    } else if (part.is(OperandKind::Int)) {
      type = Type::S32;
    } else if (part.is(OperandKind::Float32) || part.is(OperandKind::Float64)) {
      type = bits == 64 ? Type::F64 : Type::F32;
    }
    if (!goTogether(before, type))
      return fmt::format("Vector with elements of different types are not allowed in {} instruction", opName(form.op));
    before = type;
  }
  return {};
}

std::string checkVectors(const Function& function, const Form& form, std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (!operand.is(OperandKind::Vector)) continue;
    if (std::string problem = checkElements(function, operand, form); !problem.empty()) return problem;
  }
  return {};
}

std::string checkVectorAccess(const Form& form) {
  const unsigned vector = form.vectorSize();
  const unsigned bits = vector * bitWidth(form.type());
  if (vector == 8 && bitWidth(form.type()) != 32) return "Vector .v8 requires a type of 32 bits";
  if (bits > 256 || (bits > 128 && vector < 4)) return "Vector type too large, exceeds 128 bit limit";
  return {};
}

/// cvt.sat between integers: allowed only if some source values do not fit in the destination.
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
    "A 32-bit address conflicts with .address_size 64: the 32-bit ABI is not supported";

/// There is no 32-bit addressing of global memory. ptxas does not compile it for sm_75 and higher; its checks alone
/// reject it for a .target of sm_90 and higher.
std::string checkAddressSize(const Module& module, Arch arch, const Function& function, const Form& form,
                             std::span<const Operand> operands) {
  if (module.addressSize != 64 || (module.target.arch.number < 90 && arch.number < 75)) return {};
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

/// Arrival counts require sm_90, except with .noComplete.
std::string checkArrivals(const Module& module, const Form& form, std::span<const Operand> operands) {
  if (operands.size() <= 2 || form.has(Mod::NoComplete) || form.has(Mod::ExpectTx)) return {};
  if (module.target.arch.number >= 90) return {};
  return fmt::format("Feature '{} with count argument and without '.noComplete'' requires .target sm_90 or higher",
                     opName(form.op));
}

bool isZero(const Operand& operand) {
  return operand.is(OperandKind::Int) && operand.bits() == 0;
}

/// Constants that are valid only with certain other operands, or on some chips.
std::string checkConstants(const Module& module, const Form& form, std::span<const Operand> operands) {
  const auto number = [&](std::size_t i) -> std::optional<std::int64_t> {
    if (i >= operands.size() || !operands[i].is(OperandKind::Int)) return std::nullopt;
    return operands[i].intValue();
  };
  switch (form.op) {
  case Op::BarArrive:
  case Op::BarrierArrive:
    if (isZero(operands[1]))
      return fmt::format("Instruction '{}' requires a non-zero thread count argument", opName(form.op));
    return {};
  case Op::MbarrierArrive:
  case Op::MbarrierArriveDrop:
    if (!form.has(Mod::ExpectTx) && operands.size() > 2 && isZero(operands[2]))
      return fmt::format("Argument 2 of instruction '{}': a count is not 0", opName(form.op));
    return {};
  case Op::CpAsync: { // number of bytes to read; the rest is zeros
    const auto copied = number(2), read = number(3);
    if (copied && read && (*read < 0 || *read > *copied))
      return fmt::format("Argument 3 of instruction 'cp.async': value '{}' out of range, expected to be in range "
                         "[0..{}]",
                         *read, *copied);
    return {};
  }
  case Op::Createpolicy: {
    const auto primary = number(2), total = number(3);
    if (primary && total && static_cast<std::uint32_t>(*primary) > static_cast<std::uint32_t>(*total))
      return "Argument 3 of instruction 'createpolicy.range' must not be greater than argument 4";
    if (operands.size() < 2) return {};
    const bool isSingle = operands[1].is(OperandKind::Float32);
    if (isSingle || operands[1].is(OperandKind::Float64)) {
      const double fraction = isSingle ? operands[1].float32Value() : operands[1].float64Value();
      if (!(fraction > 0 && fraction <= 1))
        return fmt::format("Argument 2 of instruction 'createpolicy.fractional': value '{}' out of range, expected to "
                           "be above 0 and up to 1",
                           fraction);
    }
    return {};
  }
  case Op::TensormapReplace: {
    const auto value = number(1);
    constexpr std::int64_t kLastOfSm90 = 12;
    if (form.has(Mod::Elemtype) && value && *value > kLastOfSm90 && module.target.arch.number < 100)
      return fmt::format("Argument 1 of instruction 'tensormap.replace': value '{}' expected to be in range [0..{}]",
                         *value, kLastOfSm90);
    return {};
  }
  default: return {};
  }
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
    if (part.is(OperandKind::Float32) && !unpacks && width == 32) continue;
    if (part.is(OperandKind::Float64) && !unpacks &&
        (width == 64 || (width == 32 && part.isDecimal() && part.bits() == 0)))
      continue;
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
  return checkVectors(function, form, operands);
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

std::string checkOperandRules(const Module& module, Arch arch, const Function& function, const Form& form,
                              std::span<const Operand> operands) {
  if (std::string problem = checkVectors(function, form, operands); !problem.empty()) return problem;
  if (std::string problem = checkConstants(module, form, operands); !problem.empty()) return problem;
  if (isIn(form.op, {Op::MbarrierArrive, Op::MbarrierArriveDrop})) return checkArrivals(module, form, operands);
  constexpr std::size_t kIgnored = 3; // after two addresses and a size: the source size, or whether to ignore it
  if (form.op == Op::CpAsync && operands.size() > kIgnored && module.version < Version{7, 5} &&
      elementType(function, operands[kIgnored]) == Type::Pred)
    return "Feature 'ignore-src on cp.async' requires PTX ISA .version 7.5 or later";
  if (isIn(form.op, {Op::BarSync, Op::BarArrive, Op::BarrierSync, Op::BarrierArrive})) return checkBarrier(operands, 1);
  if (isIn(form.op, {Op::BarRed, Op::BarrierRed}) && operands.size() == 4) return checkBarrier(operands, 2);
  if (isIn(form.op, {Op::Ld, Op::Ldu, Op::St, Op::Atom, Op::Red, Op::Prefetch, Op::Mov}))
    if (std::string problem = checkAddressSize(module, arch, function, form, operands); !problem.empty())
      return problem;
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
