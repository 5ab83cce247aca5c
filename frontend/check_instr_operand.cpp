#include "frontend/check_instr_operand.h"

#include <fmt/format.h>

#include <algorithm>

namespace orias::ptx {

namespace {

bool isInteger(TypeClass kind) {
  return kind == TypeClass::Unsigned || kind == TypeClass::Signed;
}

/// The class of a type as a register: packed values are bits of their width.
TypeClass registerClass(Type type) {
  switch (type) {
  case Type::F16x2:
  case Type::BF16x2:
  case Type::F32x2: return TypeClass::Bits;
  default: return typeClass(type);
  }
}

/// Whether a constant of this type is a floating-point number.
bool isFloat(Type type) {
  return typeClass(type) == TypeClass::Float;
}

bool fail(std::string* why, std::string text) {
  if (why) *why = std::move(text);
  return false;
}

/// Whether an instruction that accesses `wanted` may have a variable of space `actual`. None is the generic space,
/// which does not include constants and parameters.
bool spaceFits(StateSpace wanted, StateSpace actual) {
  if (wanted != StateSpace::None) return wanted == actual;
  return actual == StateSpace::Global || actual == StateSpace::Local || actual == StateSpace::Shared;
}

/// Whether this query requires a sampler in independent texture mode.
bool isOfSampler(Mod query) {
  return query == Mod::AddrMode0 || query == Mod::AddrMode1 || query == Mod::AddrMode2 || query == Mod::FilterMode ||
         query == Mod::ForceUnnormalizedCoords;
}

bool isOpaque(Type type) {
  return typeClass(type) == TypeClass::Opaque;
}

/// The number of coordinates of a texture or tensor geometry. A vector for textures may be padded to four.
unsigned coordinates(Mod geometry) {
  switch (geometry) {
  case Mod::Dim1d: return 1;
  case Mod::Dim2d:
  case Mod::Array1d: return 2;
  case Mod::Dim3d:
  case Mod::Array2d:
  case Mod::Cube:
  case Mod::Multi2d: return 3;
  case Mod::Dim5d: return 5;
  default: return 4;
  }
}

} // namespace

bool typeFits(Type want, Type have, bool relaxed) {
  if (want == have) return true;
  const TypeClass wantClass = typeClass(want);
  const TypeClass haveClass = registerClass(have);
  if (wantClass == TypeClass::Predicate || haveClass == TypeClass::Predicate || haveClass == TypeClass::Opaque)
    return false;
  const unsigned wantBits = bitWidth(want);
  const unsigned haveBits = bitWidth(have);
  if (relaxed ? haveBits < wantBits : haveBits != wantBits) return false;
  if (wantClass == TypeClass::Bits) return true;
  if (isInteger(wantClass)) return haveClass == TypeClass::Bits || isInteger(haveClass);
  // A float: its own type (handled above) or bits.
  return haveClass == TypeClass::Bits;
}

bool OperandChecker::fits(const OperandSpec& spec, const Form& form, const Operand& operand, std::string* why) const {
  switch (spec.want) {
  case Want::Value:
    if (operand.is(OperandKind::Variable) && spec.symbol) return addressOfVariable(spec, form, operand, why);
    return value(spec, operand, false, why);
  case Want::Pair: return pair(spec, operand, why);
  case Want::Address: return address(spec, form, operand, why);
  case Want::Label: return operand.is(OperandKind::Label) || fail(why, "a label of this function is expected");
  case Want::Targets:
    return (operand.is(OperandKind::TargetList) && !module_.targetLists[index(operand.targetListId())].isCall) ||
           fail(why, "the name of a .branchtargets list is expected");
  case Want::TexRef:
  case Want::SurfRef: return reference(spec, form, operand, why);
  case Want::Texture:
  case Want::Surface:
  case Want::Tensor: return bracket(spec, form, operand, why);
  case Want::Call: return true;
  }
  return true;
}

bool OperandChecker::value(const OperandSpec& spec, const Operand& operand, bool inVector, std::string* why) const {
  if (spec.onlySink) return operand.is(OperandKind::Sink) || fail(why, "'_' is expected");
  const bool wantsVector = spec.count != 0 && !inVector;
  switch (operand.kind()) {
  case OperandKind::Sink: {
    const bool mayDiscard = inVector && spec.countFrom != OperandSpec::Count::TensorMemory; // as in ptxas
    return (spec.dest && (spec.sink || mayDiscard)) || fail(why, "the result cannot be discarded");
  }
  case OperandKind::Register: {
    if (wantsVector && spec.count != OperandSpec::kAnyCount)
      return fail(why, fmt::format("a vector of {} is expected", spec.count));
    return registerValue(spec, operand, why);
  }
  case OperandKind::Vector:
    if (operand.vectorPair() != RegisterId::None) return fail(why, "a pair is not allowed here");
    return vector(spec, operand, why);
  case OperandKind::Int:
  case OperandKind::Float32:
  case OperandKind::Float64:
    if (wantsVector && spec.count != OperandSpec::kAnyCount)
      return fail(why, fmt::format("a vector of {} is expected", spec.count));
    return constant(spec, operand, inVector, why);
  case OperandKind::Special: {
    if (!spec.special) return fail(why, "a special register is not allowed here");
    const SpecialRegisterInfo& info = specialRegisterInfo(operand.specialRegister());
    if (wantsVector) return fail(why, "a vector is expected");
    if (spec.relaxed) return typeFits(spec.fixedType, info.type, true);
    if (info.type == Type::Pred) return spec.fixedType == Type::Pred;
    const SpecialRegister special = operand.specialRegister();
    if (typeClass(spec.fixedType) == TypeClass::Float) return false;
    // %tid and similar registers used to have 16 bits, %gridid 16 and then 32.
    const bool wasShort = special == SpecialRegister::Tid || special == SpecialRegister::Ntid ||
                          special == SpecialRegister::CtaId || special == SpecialRegister::NCtaId;
    const bool isGrid = special == SpecialRegister::GridId;
    if (bitWidth(spec.fixedType) == 16) return wasShort || isGrid;
    if (bitWidth(spec.fixedType) == 32 && isGrid) return true;
    return typeFits(spec.fixedType, info.type, false);
  }
  case OperandKind::Function:
    return spec.symbol && !spec.dest && bitWidth(spec.fixedType) >= 32 && !isFloat(spec.fixedType);
  default: return false;
  }
}

bool OperandChecker::registerValue(const OperandSpec& spec, const Operand& operand, std::string* why) const {
  const Register& r = reg(operand.registerId());
  if (spec.constantOnly) return fail(why, "a constant is expected");
  if (operand.isNegated() && (!spec.negatable || r.type != Type::Pred)) return fail(why, "'!' is not allowed here");
  if (operand.isMinus() && !spec.minus) return fail(why, "'-' is not allowed before a register here");
  const Component part = operand.component();
  if (part >= Component::B0) {
    if (!spec.selector) return fail(why, "a byte or half selector is not allowed here");
  } else if (part == Component::None && r.vectorSize > 1) {
    return fail(why, fmt::format("'{}' is a vector", nameOf(operand.registerId())));
  }
  if (spec.anyType || typeFits(spec.fixedType, r.type, spec.relaxed)) return true;
  return fail(why, fmt::format("expected .{} for '{}', got .{}", typeName(spec.fixedType), nameOf(operand.registerId()),
                               typeName(r.type)));
}

bool OperandChecker::vector(const OperandSpec& spec, const Operand& operand, std::string* why) const {
  const std::span<const Operand> parts = function_.parts(operand);
  if (spec.count == 0) {
    // Where a vector is possible (ld, st), a vector of one element is accepted.
    if (spec.countFrom != OperandSpec::Count::VectorSlot || parts.size() != 1)
      return fail(why, "a vector is not allowed here");
  } else if (spec.count != OperandSpec::kAnyCount && parts.size() != spec.count) {
    return fail(why, fmt::format("a vector of {} is expected, this one has {}", spec.count, parts.size()));
  }
  for (const Operand& part : parts)
    if (part.is(OperandKind::Vector) || !value(spec, part, true, why)) return false;
  const auto isDiscarded = [](const Operand& part) { return part.is(OperandKind::Sink); };
  return !std::ranges::all_of(parts, isDiscarded) || fail(why, "a vector needs one register at least"); // as in ptxas
}

bool OperandChecker::constant(const OperandSpec& spec, const Operand& operand, bool inVector, std::string* why) const {
  if (spec.dest) return fail(why, "a register is expected for the result");
  if (spec.registerOnly) return fail(why, "a register is expected, a constant is not allowed");
  const Type type = spec.fixedType;
  const bool isDouble = type == Type::F64;
  const bool isSingle = type == Type::F32;
  if (operand.is(OperandKind::Float32)) return isSingle || isDouble || type == Type::B32;
  if (operand.is(OperandKind::Float64)) {
    if (inVector && operand.isDecimal() && type == Type::B64) return true;
    // Among 32-bit registers ptxas takes the low half of the double, which is never the intention. Only zero is
    // unambiguous.
    if (inVector && operand.isDecimal() && type == Type::B32)
      return operand.bits() == 0 ||
             fail(why, "of the decimal constants only 0.0 is allowed here; write 0f and its bits");
    return isSingle || isDouble || (type == Type::B64 && !operand.isDecimal());
  }
  if (isFloat(type))
    return fail(why, fmt::format("a .{} constant is expected; an integer is not converted", typeName(type)));
  if (!spec.bounded) return true;
  const std::int64_t v = operand.intValue();
  if (!spec.values.empty()) {
    std::string list;
    for (std::int64_t allowed : spec.values) {
      if (allowed == v) return true;
      list += (list.empty() ? "" : " or ") + std::to_string(allowed);
    }
    return fail(why, fmt::format("unexpected value '{}', expected to be {}", v, list));
  }
  if (v < spec.low || v > spec.high)
    return fail(why, fmt::format("value '{}' out of range, expected to be in range [{}..{}]", v, spec.low, spec.high));
  if (v % spec.step != 0)
    return fail(why, fmt::format("unexpected value '{}', expected to be multiple of {}", v, spec.step));
  return true;
}

bool OperandChecker::pair(const OperandSpec& spec, const Operand& operand, std::string* why) const {
  if (operand.is(OperandKind::Vector)) {
    if (operand.vectorPair() == RegisterId::None) return spec.pairOptional && vector(spec, operand, why);
    return vector(spec, operand, why) &&
           (reg(operand.vectorPair()).type == Type::Pred || fail(why, "the second of a pair is a predicate"));
  }
  if (!operand.is(OperandKind::Pair)) {
    if (!spec.pairOptional) return fail(why, "a pair such as %r1|%p1 is expected");
    return value(spec, operand, false, why);
  }
  if (operand.registerId() != RegisterId::None &&
      !typeFits(spec.fixedType, reg(operand.registerId()).type, spec.relaxed))
    return fail(why, fmt::format("'{}' has the wrong type", nameOf(operand.registerId())));
  const RegisterId second = operand.secondRegister();
  return second == RegisterId::None || reg(second).type == Type::Pred ||
         fail(why, "the second of a pair is a predicate");
}

bool OperandChecker::address(const OperandSpec& spec, const Form& form, const Operand& operand,
                             std::string* why) const {
  if (!operand.is(OperandKind::Address)) return fail(why, "an address in brackets is expected");
  if (operand.addressBase() == OperandKind::Int)
    return Form::stateSpaceOf(spec.space) == StateSpace::Local ||
           fail(why, "Immediate addresses allowed only for .local state space");
  if (operand.addressBase() == OperandKind::Variable) return addressOfVariable(spec, form, operand, why);
  const Type type = reg(operand.registerId()).type;
  const TypeClass kind = typeClass(type);
  if (spec.spaceFrom == OperandSpec::SpaceFrom::TensorMemory && bitWidth(type) != 32)
    return fail(why, "an address in tensor memory has 32 bits");
  if ((kind == TypeClass::Bits || isInteger(kind)) && bitWidth(type) <= 64) return true;
  return fail(why, fmt::format("Illegal to use symbol '{}' of type .{} as address operand. Use integer or bit only.",
                               nameOf(operand.registerId()), typeName(type)));
}

bool OperandChecker::addressOfVariable(const OperandSpec& spec, const Form& form, const Operand& operand,
                                       std::string* why) const {
  const Variable& variable = module_.variable(operand.variableId());
  // mov takes the address of any variable, in its own space; other instructions specify the space.
  if (spec.want == Want::Value) {
    if (bitWidth(spec.fixedType) < 16 || isFloat(spec.fixedType) || spec.fixedType == Type::B128) return false;
    if (form.op == Op::Mov) return variable.space != StateSpace::Reg;
  }
  StateSpace wanted = Form::stateSpaceOf(spec.space);
  if (form.op == Op::Mapa || form.op == Op::Getctarank) wanted = StateSpace::Shared;
  if (!spaceFits(wanted, variable.space) || isOpaque(variable.type))
    return fail(why, fmt::format("State space mismatch between instruction and address: '{}' is in .{}",
                                 module_.text(variable.name), spaceName(variable.space)));
  return true;
}

bool OperandChecker::reference(const OperandSpec& spec, const Form& form, const Operand& operand,
                               std::string* why) const {
  if (!operand.is(OperandKind::Address)) return fail(why, "a texture or surface in brackets is expected");
  if (operand.addressBase() == OperandKind::Register)
    return typeFits(Type::U64, reg(operand.registerId()).type, false) || fail(why, "a handle of 64 bits is expected");
  if (operand.addressBase() != OperandKind::Variable) return false;
  Type wanted = Type::TexRef;
  if (spec.want == Want::SurfRef)
    wanted = Type::SurfRef;
  else if (module_.target.texmodeIndependent && isOfSampler(form.get(Slot::Query)))
    wanted = Type::SamplerRef;
  return object(operand, wanted, why);
}

bool OperandChecker::object(const Operand& operand, Type wanted, std::string* why) const {
  const bool isAddress = operand.is(OperandKind::Address);
  if (operand.is(OperandKind::Register) || (isAddress && operand.addressBase() == OperandKind::Register))
    return typeFits(Type::U64, reg(operand.registerId()).type, false) || fail(why, "a handle of 64 bits is expected");
  if (!operand.is(OperandKind::Variable) && !isAddress) return fail(why, "a texture or surface is expected");
  const Variable& variable = module_.variable(operand.variableId());
  return (variable.type == wanted && variable.dims.empty()) ||
         fail(why, fmt::format("'{}': a .{} or a register of type .u64 is expected", module_.text(variable.name),
                               typeName(wanted)));
}

bool OperandChecker::bracket(const OperandSpec& spec, const Form& form, const Operand& operand,
                             std::string* why) const {
  if (!operand.is(OperandKind::Bracket)) return fail(why, "an operand such as [object, {coordinates}] is expected");
  const std::span<const Operand> parts = function_.parts(operand);
  const bool hasSampler = spec.want == Want::Texture && module_.target.texmodeIndependent;
  if (parts.size() != (hasSampler ? 3u : 2u))
    return fail(why, hasSampler ? "a texture, a sampler and coordinates are expected" : "wrong number of parts");

  const Operand& first = parts.front();
  if (spec.want == Want::Tensor) {
    if (first.is(OperandKind::Address) && first.addressBase() == OperandKind::Variable &&
        !spaceFits(StateSpace::None, module_.variable(first.variableId()).space))
      return fail(why, "the tensor map's address is generic");
  } else if (!object(first, spec.want == Want::Texture ? Type::TexRef : Type::SurfRef, why) ||
             (hasSampler && !object(parts[1], Type::SamplerRef, why))) {
    return false;
  }
  const Operand& last = parts.back();
  const unsigned size = last.is(OperandKind::Vector) ? last.groupCount() : 1;
  unsigned needed = coordinates(form.get(Slot::Geometry));
  if (spec.want == Want::Tensor) {
    const Mod mode = form.get(Slot::LoadMode);
    if (mode == Mod::TileGather4 || mode == Mod::TileScatter4) needed = 5;
    if (!last.is(OperandKind::Vector) || size != needed)
      return fail(why, fmt::format("Argument vector size mismatch: {} coordinates are expected", needed));
  } else if (last.is(OperandKind::Vector) && size != 1 && size != 2 && size != 4) {
    return fail(why, fmt::format("Illegal vector size: {}", size));
  } else if (size < needed) {
    return fail(why, fmt::format("Argument vector size mismatch: {} coordinates are expected", needed));
  }
  OperandSpec coordinate;
  coordinate.count = OperandSpec::kAnyCount;
  coordinate.fixedType = Type::B32;
  return value(coordinate, last, false, why);
}

} // namespace orias::ptx
