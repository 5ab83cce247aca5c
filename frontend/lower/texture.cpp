// Textures, modeled on ptxas' code for compute kernels: without derivatives, a mipmapped texture is read at the
// coarsest level that its descriptor allows.

#include "frontend/lower/families.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/texture_helpers.h"
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

/// Projects a direction onto the cube: its largest coordinate becomes 1 or -1.
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

/// With a separate sampler, integer coordinates are filtered, too, except for a line, a level or a sample (observed).
bool isFilteredByIntegers(const FunctionLowering& f, const Form& form) {
  const Mod geometry = form.get(Slot::Geometry);
  return f.module().target.texmodeIndependent && form.get(Slot::Mipmap) != Mod::AtLevel && geometry != Mod::Dim1d &&
         geometry != Mod::Multi2d && geometry != Mod::ArrayMulti2d;
}

Value asFloat(FunctionLowering& f, const Value& integer) {
  const IsaOperand to = f.newR();
  if (f.target().has(isa::Capability::AluIntegerToFloat))
    f.emit(IsaOp::I2FP, {to, f.inReg(integer)}, {{IsaMod::Type, isa::IntType::S32}, {IsaMod::Rnd, isa::Rnd::RN}});
  else
    f.emit(IsaOp::I2F, {to, f.inReg(integer)},
           {{IsaMod::DstFmt, isa::Fmt::F32}, {IsaMod::SrcFmt, isa::IntFmt::S32}, {IsaMod::Rnd, isa::Rnd::RN}});
  return Value::of(to);
}

/// The offsets in the format of TXD: in the upper half of the last word, which is the layer's if there is one.
void putAfter(FunctionLowering& f, std::vector<Value>& coordinates, const Value& offsets, bool hasLayer) {
  constexpr unsigned kUpper = 16;
  constexpr std::int64_t kWanted = 0xfff0000;
  constexpr int kChoose = 0xe2; // selects by the second input
  if (!hasLayer) coordinates.push_back(Value::constant(0, 1));
  const IsaOperand upper = f.newR(), both = f.newR();
  f.emit(IsaOp::SHF, {upper, f.inReg(offsets), f.imm(kUpper), IsaOperand::rz()},
         {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), both, upper, f.imm(kWanted), f.inReg(coordinates.back()), f.imm(kChoose),
                       IsaOperand::pt().notted()});
  coordinates.back() = Value::of(both);
}

constexpr std::uint32_t kCoarsest = 0xc2000000; ///< -32 as a level of detail, clamped by the texture (observed)
constexpr int kPlane = 1;                       ///< the number of two dimensions

} // namespace

/// tex and tld4.
void lowerTex(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  auto at = f.parts(ops[1]);
  auto geometry = geometryOf(form);
  const Type coordinateType = form.type(1);
  const Mod mipmap = form.get(Slot::Mipmap);
  const bool isGather = form.op == Op::Tld4, isIndependent = f.module().target.texmodeIndependent;
  const bool isFetch = coordinateType == Type::S32 && !isFilteredByIntegers(f, form);
  const bool hasPredicate = ops[0].is(OperandKind::Vector) && ops[0].vectorPair() != RegisterId::None;
  // The kinds of the operands after the coordinates tell which of them are present: offsets are integers.
  std::size_t next = 2;
  const bool hasLevel = mipmap == Mod::AtLevel;
  // Not with a separate sampler (observed).
  const bool isLine = form.get(Slot::Geometry) == Mod::Dim1d && !isFetch && !isIndependent;
  const bool isGradient = mipmap == Mod::Grad;
  // With more than two coordinates, offsets or a comparison value, ptxas gives four lanes the coordinates around those
  // of each lane. The texture filters by their differences.
  const bool hasFewCoordinates = geometry && geometry->coordinates - (geometry->isArray ? 1 : 0) <= 2;
  if (!geometry || geometry->texture < 0 || at.size() != (isIndependent ? 3u : 2u) || !ops[0].is(OperandKind::Vector)) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  const bool hasReference = furtherOperands(f, ops.subspan(isGradient ? 4 : hasLevel ? 3 : 2), *geometry).reference;
  if (isGradient && (!hasFewCoordinates || hasReference)) {
    lowerTexByFurtherGradients(f, i, form);
    return;
  }
  ori::Block* join = f.beginUnguarded();
  const auto name = TextureName::ofBracket(f, at);
  if (!name) return;
  std::vector<Value> coordinates = coordinatesOf(f, at.back(), coordinateType, *geometry);
  if (coordinateType == Type::S32 && !isFetch) // after the layer
    for (Value& coordinate : std::span(coordinates).subspan(geometry->isArray ? 1 : 0))
      coordinate = asFloat(f, coordinate);
  if (geometry->isArray) coordinates[0] = knownLayer(f, coordinates[0]);
  if (geometry->isCube) projectOnCube(f, std::span(coordinates).last(3));
  if (isLine) { // sampled as a plane, in its first row (observed)
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
  } else if (!isFetch && !isGather && !isGradient && (mipmap != Mod::Base || isIndependent)) {
    level = kLevel;
    parameters.push_back(Value::constant(kCoarsest, 1));
  }
  if (isGradient) {
    level = kNone;
    parameters = gradients(f, ops[2], ops[3]);
    // The instruction has the layer last.
    if (geometry->isArray) std::rotate(coordinates.begin(), coordinates.begin() + 1, coordinates.end());
    if (isLine) parameters.resize(4, Value::constant(0, 1));
    next = 4;
  }
  const FurtherOperands further = furtherOperands(f, ops.subspan(next), *geometry);
  const bool hasOffset = further.offset != nullptr;
  if (hasOffset) {
    const Value offsets =
        packedOffsets(f, *further.offset, geometry->coordinates, isGather ? kGatheredOffsets : kOffsets);
    if (isGradient)
      putAfter(f, coordinates, offsets, geometry->isArray);
    else
      parameters.push_back(offsets);
  }
  if (hasReference) parameters.push_back(f.source(*further.reference, Type::F32));

  if (geometry->hasSamples) parameters.push_back(f.source(f.parts(at.back()).front(), Type::U32));
  const IsaOperand low = f.newR(2), high = f.newR(2);
  std::vector<ModValue> mods{{IsaMod::Geometry, geometry->texture}};
  NamedOps named = kFiltered;
  if (isGradient) {
    named = kByGradients;
    mods.push_back({IsaMod::Sub2, hasOffset ? 1 : 0});
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
  // True if the texel is not resident in memory.
  const IsaOperand isMissing = hasPredicate ? f.newP() : IsaOperand::pt();
  name->emitTexture(f, named, {isMissing, high, low}, {std::move(coordinates), std::move(parameters)},
                    isGradient ? Place::BeforeFirst : Place::BeforeSecond, mods);
  std::array<IsaOperand, 4> texel;
  for (unsigned k = 0; k < texel.size(); ++k)
    texel[k] = ori::component(k < 2 ? low : high, k % 2);
  takeTexel(f, ops[0], form.type(0), texel);
  if (hasPredicate) takeResidency(f, ops[0], isMissing.notted());
  f.endUnguarded(join);
}

} // namespace orias::ptx
