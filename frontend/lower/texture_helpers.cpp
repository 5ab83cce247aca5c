#include "frontend/lower/texture_helpers.h"

#include "frontend/lower/modifiers.h"

#include <algorithm>

namespace orias::ptx {

using IsaOperand = isa::Operand;

Value knownLayer(FunctionLowering& f, const Value& layer) {
  constexpr std::int64_t kLast = 0xffff;
  const IsaOperand r = f.newR();
  f.emit(f.target().has(isa::Capability::VectorMinMax) ? IsaOp::VIMNMX : IsaOp::IMNMX,
         {r, f.inReg(layer), f.imm(kLast), IsaOperand::pt()}, {{IsaMod::Type, isa::IntType::U32}});
  return Value::of(r);
}

Value packedOffsets(FunctionLowering& f, const Operand& operand, unsigned count, OffsetField field) {
  const std::uint64_t mask = (1u << field.bits) - 1;
  std::vector<Value> offsets;
  if (operand.is(OperandKind::Vector))
    for (const Operand& part : f.parts(operand))
      offsets.push_back(f.source(part, Type::S32));
  else
    offsets.push_back(f.source(operand, Type::S32));
  std::uint64_t known = 0;
  IsaOperand sum = IsaOperand::rz();
  for (unsigned i = 0; i < std::min<std::size_t>(count, offsets.size()); ++i) {
    if (offsets[i].isConstant()) {
      known |= (offsets[i].bits() & mask) << (field.apart * i);
      continue;
    }
    const IsaOperand shifted = f.newR(), both = f.newR();
    f.emit(IsaOp::SHF, {shifted, f.inReg(offsets[i]), f.imm(field.apart * i), IsaOperand::rz()},
           {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
    constexpr int kOrMasked = 0xf8; // sum | (shifted & mask)
    f.emit(IsaOp::LOP3,
           {IsaOperand::pt(), both, sum, shifted, f.inReg(f.imm(static_cast<std::int64_t>(mask << (field.apart * i)))),
            f.imm(kOrMasked), IsaOperand::pt().notted()});
    sum = both;
  }
  if (sum.isZeroReg()) return Value::constant(known, 1);
  if (known == 0) return Value::of(sum);
  const IsaOperand both = f.newR();
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), both, sum, f.imm(static_cast<std::int64_t>(known)), IsaOperand::rz(),
                       f.imm(0xfc), IsaOperand::pt().notted()});
  return Value::of(both);
}

/// Offsets come first. They are a vector, except for the single one of a line. If the types do not tell, two operands
/// are an offset and a value.
FurtherOperands furtherOperands(FunctionLowering& f, std::span<const Operand> operands, const Geometry& geometry) {
  const bool mayHaveOffset = !geometry.isCube, hasOneCoordinate = geometry.coordinates == (geometry.isArray ? 2u : 1u);
  FurtherOperands found;
  for (const Operand& o : operands) {
    const bool isFloat = o.is(OperandKind::Float32) || o.is(OperandKind::Float64) ||
                         (o.is(OperandKind::Register) && f.typeOf(o) == Type::F32);
    const bool isOffset =
        o.is(OperandKind::Vector) || (mayHaveOffset && hasOneCoordinate && !isFloat && found.offset == nullptr);
    (isOffset ? found.offset : found.reference) = &o;
  }
  return found;
}

void takeTexel(FunctionLowering& f, const Operand& results, Type type, std::span<const isa::Operand> texel) {
  const auto parts = f.parts(results);
  for (unsigned k = 0; k < parts.size(); ++k) {
    if (parts[k].is(OperandKind::Sink)) continue;
    const IsaOperand d = f.dest(parts[k]);
    if (type == Type::F16x2)
      f.emit(IsaOp::F2FP, {d, texel[2 * k + 1], texel[2 * k]});
    else if (type == Type::F16)
      f.emit(IsaOp::F2FP, {d, IsaOperand::rz(), texel[k]});
    else
      f.copy(d, Value::of(texel[k]));
  }
}

void takeResidency(FunctionLowering& f, const Operand& results, const isa::Operand& isThere) {
  constexpr int kThird = 0xaa; // of the truth table's inputs
  const IsaOperand to = f.destPredicate(Operand::reg(results.vectorPair())), pt = IsaOperand::pt();
  f.emit(IsaOp::PLOP3, {to, pt, pt, pt, isThere, f.imm(kThird), f.imm(0)});
}

} // namespace orias::ptx
