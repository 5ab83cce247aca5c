// Textures. What ptxas emits for compute kernels was the model: without derivatives a mipmapped texture is read at the
// coarsest level that its descriptor bounds from below.

#include "frontend/lower/families.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/texture_name.h"

#include <algorithm>
#include <array>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

constexpr NamedOps kFiltered{IsaOp::TEX, IsaOp::TEX_C, IsaOp::TEX_B};
constexpr NamedOps kFetched{IsaOp::TLD, IsaOp::TLD_C, IsaOp::TLD_B};
constexpr NamedOps kGathered{IsaOp::TLD4, IsaOp::TLD4_C, IsaOp::TLD4_B};
constexpr NamedOps kByGradients{IsaOp::TXD, IsaOp::TXD_C, IsaOp::TXD_B};
constexpr NamedOps kAsked{IsaOp::TXQ, IsaOp::TXQ_C, IsaOp::TXQ_B};

Value smaller(FunctionLowering& f, const Value& a, std::int64_t limit) {
  const IsaOperand r = f.newR();
  f.emit(f.target().hasVectorMinMax() ? IsaOp::VIMNMX : IsaOp::IMNMX, {r, f.inReg(a), f.imm(limit), IsaOperand::pt()},
         {{IsaMod::Type, isa::IntType::U32}});
  return Value::of(r);
}

/// A direction becomes a point on the cube: its largest coordinate becomes 1 or -1.
void projectOnCube(FunctionLowering& f, std::span<Value> xyz) {
  IsaOperand most = f.newR(), larger = f.newR(), reciprocal = f.newR();
  const IsaOperand x = f.inReg(xyz[0]), y = f.inReg(xyz[1]), z = f.inReg(xyz[2]), kMax = IsaOperand::pt().notted();
  f.emit(IsaOp::FMNMX, {larger, x.absolute(), y.absolute(), kMax});
  f.emit(IsaOp::FMNMX, {most, z.absolute(), larger, kMax});
  f.emit(IsaOp::MUFU, {reciprocal, most}, {{IsaMod::Func, isa::Mufu::RCP}});
  const std::array<IsaOperand, 3> from{x, y, z};
  for (unsigned i = 0; i < 3; ++i) {
    const IsaOperand scaled = f.newR();
    f.emit(IsaOp::FMUL, {scaled, from[i], reciprocal});
    xyz[i] = Value::of(scaled);
  }
}

/// Where the offset of a coordinate stands in the word of all offsets: the first one lowest.
struct OffsetField {
  unsigned apart, bits;
};
constexpr OffsetField kOffsets{4, 4}, kGatheredOffsets{8, 6};

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

/// Derivatives of each coordinate by x, then by y.
std::vector<Value> gradients(FunctionLowering& f, const Operand& byX, const Operand& byY) {
  auto elements = [&](const Operand& o) { return o.is(OperandKind::Vector) ? f.parts(o) : std::span(&o, 1); };
  auto x = elements(byX), y = elements(byY);
  std::vector<Value> all;
  for (unsigned k = 0; k < std::min(x.size(), y.size()); ++k) {
    all.push_back(f.source(x[k], Type::F32));
    all.push_back(f.source(y[k], Type::F32));
  }
  return all;
}

constexpr std::uint32_t kCoarsest = 0xc2000000; ///< -32 as a level of detail, clamped by the texture (observed)
constexpr std::int64_t kLastLayer = 0xffff;
constexpr int kPlane = 1; ///< the number of two dimensions

} // namespace

/// tex and tld4.
void lowerTex(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  auto at = f.parts(ops[1]);
  auto geometry = geometryOf(form);
  const Type coordinateType = form.type(1);
  const Mod mipmap = form.get(Slot::Mipmap);
  const bool isGather = form.op == Op::Tld4, isFetch = coordinateType == Type::S32;
  const bool hasPredicate = ops[0].is(OperandKind::Vector) && ops[0].vectorPair() != RegisterId::None;
  // Which of the operands behind the coordinates are there, they say by their kinds: offsets are integers.
  std::size_t next = 2;
  const bool hasLevel = mipmap == Mod::AtLevel;
  const bool isLine = form.get(Slot::Geometry) == Mod::Dim1d && !isFetch;
  const bool isGradient = mipmap == Mod::Grad;
  // With more than two coordinates, offsets or a value to compare with, ptxas gives four lanes the coordinates around
  // those of each lane, and filters by what lies between them.
  const bool hasFewCoordinates = geometry && geometry->coordinates - (geometry->isArray ? 1 : 0) <= 2;
  if (!geometry || geometry->texture < 0 || hasPredicate || at.size() != 2 || !ops[0].is(OperandKind::Vector) ||
      (isGradient && (!hasFewCoordinates || ops.size() > 4))) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  ori::Block* join = f.beginUnguarded();
  const auto name = TextureName::of(f, at[0]);
  if (!name) return;
  std::vector<Value> coordinates = coordinatesOf(f, at[1], coordinateType, *geometry);
  if (geometry->isArray) coordinates[0] = smaller(f, coordinates[0], kLastLayer);
  if (geometry->isCube) projectOnCube(f, std::span(coordinates).last(3));
  if (isLine) { // is sampled as a plane, in its first row (observed)
    coordinates.push_back(Value::constant(0, 1));
    geometry->texture = kPlane;
  }

  enum { kNone, kZero, kBias, kLevel };
  int level = kZero;
  std::vector<Value> parameters;
  if (hasLevel) {
    const Value given = f.source(ops[next++], isFetch ? Type::S32 : Type::F32);
    if (!given.isConstant() || given.bits() != 0) {
      level = kLevel;
      parameters.push_back(given);
    }
  } else if (!isFetch && !isGather && !isGradient && mipmap != Mod::Base) {
    level = kLevel;
    parameters.push_back(Value::constant(kCoarsest, 1));
  }
  bool hasOffset = false, hasReference = false;
  if (isGradient) {
    level = kNone;
    parameters = gradients(f, ops[2], ops[3]);
    // The layer comes last here.
    if (geometry->isArray) std::rotate(coordinates.begin(), coordinates.begin() + 1, coordinates.end());
    if (isLine) parameters.resize(4, Value::constant(0, 1));
    next = ops.size();
  }
  // Offsets come first and are a vector, but for the one of a line; without types of their own, two are an offset and a
  // value.
  const bool mayHaveOffset = !geometry->isCube,
             hasOneCoordinate = geometry->coordinates == (geometry->isArray ? 2u : 1u);
  for (; next < ops.size(); ++next) {
    const bool isFloat = ops[next].is(OperandKind::Float32) || ops[next].is(OperandKind::Float64) ||
                         (ops[next].is(OperandKind::Register) && f.typeOf(ops[next]) == Type::F32);
    const bool isVector = ops[next].is(OperandKind::Vector);
    if (isVector || (mayHaveOffset && hasOneCoordinate && !isFloat && !hasOffset)) {
      hasOffset = true;
      parameters.push_back(packedOffsets(f, ops[next], geometry->coordinates, isGather ? kGatheredOffsets : kOffsets));
    } else {
      hasReference = true;
      parameters.push_back(f.source(ops[next], Type::F32));
    }
  }

  if (geometry->hasSamples) parameters.push_back(f.source(f.parts(at[1]).front(), Type::U32));
  const IsaOperand low = f.newR(2), high = f.newR(2);
  std::vector<ModValue> mods{{IsaMod::Geometry, geometry->texture}};
  NamedOps named = kFiltered;
  if (isGradient) {
    named = kByGradients;
  } else {
    mods.push_back({IsaMod::Sub2, hasOffset ? 1 : 0});
    mods.push_back({IsaMod::Sub4, hasReference || geometry->hasSamples ? 1 : 0});
    if (isGather) {
      named = kGathered;
      const Mod part = form.get(Slot::Part);
      mods.push_back({IsaMod::Func, part == Mod::G ? 1 : part == Mod::B ? 2 : part == Mod::A ? 3 : 0});
    } else {
      mods.push_back({IsaMod::Sub, level});
    }
    if (isFetch) {
      named = kFetched;
      mods.push_back({IsaMod::Sub3, level == kLevel ? 1 : 0}); // levels are clamped
    }
  }
  using Place = TextureName::Place;
  name->emitTexture(f, named, {IsaOperand::pt(), high, low}, {std::move(coordinates), std::move(parameters)},
                    isGradient ? Place::BeforeFirst : Place::BeforeSecond, mods);
  auto results = f.parts(ops[0]);
  const auto component = [&](unsigned k) { return ori::component(k < 2 ? low : high, k % 2); };
  for (unsigned k = 0; k < results.size(); ++k) {
    if (results[k].is(OperandKind::Sink)) continue;
    const IsaOperand d = f.dest(results[k]);
    // Halves are made of what came as f32.
    if (form.type(0) == Type::F16x2)
      f.emit(IsaOp::F2FP, {d, component(2 * k + 1), component(2 * k)});
    else if (form.type(0) == Type::F16)
      f.emit(IsaOp::F2FP, {d, IsaOperand::rz(), component(k)});
    else
      f.copy(d, Value::of(component(k)));
  }
  f.endUnguarded(join);
}

/// txq and suq: the sizes that the header holds; the rest lies in memory that only the driver knows.
void lowerTextureQuery(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Mod query = form.get(Slot::Query);
  const int mask = query == Mod::Width ? 1 : query == Mod::Height ? 2 : query == Mod::Depth ? 4 : 0;
  if (mask == 0) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  ori::Block* join = f.beginUnguarded();
  const auto name = TextureName::of(f, ops[1]);
  if (!name) return;
  const IsaOperand size = f.newR();
  const Value level = ops.size() > 2 ? f.source(ops[2], Type::B32) : Value::constant(0, 1);
  const std::array<ModValue, 1> mods{ModValue{IsaMod::Mask, mask}};
  name->emitTexture(f, kAsked, {IsaOperand::rz(), size}, {{level}, {}}, TextureName::Place::BeforeFirst, mods);
  f.copy(f.dest(ops[0]), Value::of(size));
  f.endUnguarded(join);
}

} // namespace orias::ptx
