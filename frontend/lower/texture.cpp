// Textures and surfaces by handle. Handles stand in uniform registers (uniform_loop.h). What ptxas emits for compute
// kernels was the model: without derivatives a mipmapped texture is read at the coarsest level that its descriptor
// bounds from below.

#include "frontend/lower/families.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/uniform_loop.h"

#include <algorithm>
#include <array>

namespace orias::ptx {

using isa::File;
using isa::MemSize;
using IsaOperand = isa::Operand;

namespace {

/// Coordinates of a geometry, as PTX lists them, and the number that the instruction has for it.
struct Geometry {
  unsigned coordinates;
  int texture, surface; ///< -1: there is none
  bool isArray, isCube;
};

std::optional<Geometry> geometryOf(const Form& form) {
  switch (form.get(Slot::Geometry)) {
  case Mod::Dim1d: return Geometry{1, 0, 0, false, false};
  case Mod::Dim2d: return Geometry{2, 1, 3, false, false};
  case Mod::Dim3d: return Geometry{3, 2, 5, false, false};
  case Mod::Cube: return Geometry{3, 3, -1, false, true};
  case Mod::Array1d: return Geometry{2, 4, 2, true, false};
  case Mod::Array2d: return Geometry{3, 5, 4, true, false};
  case Mod::ArrayCube: return Geometry{4, 7, -1, true, true};
  default: return std::nullopt;
  }
}

/// Values side by side.
IsaOperand joined(FunctionLowering& f, std::span<const Value> values) {
  const IsaOperand run = f.newR(static_cast<unsigned>(values.size()));
  for (unsigned i = 0; i < values.size(); ++i)
    f.copy(ori::component(run, i), values[i]);
  return run;
}

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

/// Offsets of the coordinates, four bits each, the first one lowest.
Value packedOffsets(FunctionLowering& f, const Operand& operand, unsigned count) {
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
      known |= (offsets[i].bits() & 0xf) << (4 * i);
      continue;
    }
    const IsaOperand shifted = f.newR(), both = f.newR();
    f.emit(IsaOp::SHF, {shifted, f.inReg(offsets[i]), f.imm(4 * i), IsaOperand::rz()},
           {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
    constexpr int kOrMasked = 0xf8; // sum | (shifted & mask)
    f.emit(IsaOp::LOP3, {IsaOperand::pt(), both, sum, shifted, f.inReg(f.imm(0xf << (4 * i))), f.imm(kOrMasked),
                         IsaOperand::pt().notted()});
    sum = both;
  }
  if (sum.isZeroReg()) return Value::constant(known, 1);
  if (known == 0) return Value::of(sum);
  const IsaOperand both = f.newR();
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), both, sum, f.imm(static_cast<std::int64_t>(known)), IsaOperand::rz(),
                       f.imm(0xfc), IsaOperand::pt().notted()});
  return Value::of(both);
}

/// The handle's low word: a constant of the kernel, or a register.
std::optional<Value> handleOf(FunctionLowering& f, const Operand& operand) {
  const bool isAddress = operand.is(OperandKind::Address) && operand.addressBase() == OperandKind::Register;
  if (operand.is(OperandKind::Register) || (isAddress && operand.offset() == 0)) {
    const Operand name = Operand::reg(operand.registerId());
    if (const auto at = f.kernelParameter(name))
      return Value::of(IsaOperand::constant(0, static_cast<std::int32_t>(*at)));
    return Value::of(f.inReg(f.source(name, Type::U64).word(0)));
  }
  f.unsupported("a texture or surface that is not given by a handle in a register");
  return std::nullopt;
}

std::vector<Value> coordinatesOf(FunctionLowering& f, const Operand& operand, Type type, const Geometry& geometry) {
  std::vector<Value> all;
  if (!operand.is(OperandKind::Vector)) {
    all.push_back(f.source(operand, type));
    return all;
  }
  auto parts = f.parts(operand);
  for (unsigned i = 0; i < std::min<std::size_t>(geometry.coordinates, parts.size()); ++i)
    all.push_back(f.source(parts[i], geometry.isArray && i == 0 ? Type::U32 : type));
  return all;
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
  // Derivatives of more than two coordinates are work for a function that ptxas calls.
  const bool hasFewCoordinates = geometry && geometry->coordinates - (geometry->isArray ? 1 : 0) <= 2;
  if (!geometry || geometry->texture < 0 || hasPredicate || at.size() != 2 || !ops[0].is(OperandKind::Vector) ||
      (isGradient && (!hasFewCoordinates || ops.size() > 4 || !f.target().hasClusters()))) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  ori::Block* join = f.beginUnguarded();
  const auto handle = handleOf(f, at[0]);
  if (!handle) return;
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
      parameters.push_back(packedOffsets(f, ops[next], geometry->coordinates));
    } else {
      hasReference = true;
      parameters.push_back(f.source(ops[next], Type::F32));
    }
  }

  const IsaOperand from = joined(f, coordinates);
  const IsaOperand with = parameters.empty() ? IsaOperand() : joined(f, parameters);
  const IsaOperand low = f.newR(2), high = f.newR(2), ur = f.out().use(f.out().newVReg(File::UR, 2));
  const std::array<UniformWord, 2> uniform{UniformWord{ori::component(ur, 0), *handle},
                                           UniformWord{ori::component(ur, 1), Value::constant(0, 1)}};
  forEachUniform(f, uniform, [&] {
    if (isGradient) {
      f.emit(IsaOp::TXD, {IsaOperand::pt(), high, low, from, with, ur, f.imm(0)},
             {{IsaMod::Geometry, geometry->texture}});
      return;
    }
    std::vector<ModValue> mods{
        {IsaMod::Geometry, geometry->texture}, {IsaMod::Sub2, hasOffset ? 1 : 0}, {IsaMod::Sub4, hasReference ? 1 : 0}};
    IsaOp op = IsaOp::TEX;
    if (isGather) {
      op = IsaOp::TLD4;
      const Mod part = form.get(Slot::Part);
      mods.push_back({IsaMod::Func, part == Mod::G ? 1 : part == Mod::B ? 2 : part == Mod::A ? 3 : 0});
    } else {
      mods.push_back({IsaMod::Sub, level});
    }
    if (isFetch) {
      op = IsaOp::TLD;
      mods.push_back({IsaMod::Sub3, level == kLevel ? 1 : 0}); // levels are clamped
    }
    f.emit(op, {IsaOperand::pt(), high, low, from, with, ur, f.imm(0)}, mods);
  });
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

namespace {

/// What suld and sust have in common.
struct Surface {
  Geometry geometry;
  Value handle;
  IsaOperand coordinates;
  MemSize size;
  unsigned words;       ///< of the data
  unsigned elementBits; ///< of one element
  int outside;
};

std::optional<Surface> surfaceOf(FunctionLowering& f, const Operand& name, const Form& form) {
  auto at = f.parts(name);
  const auto geometry = geometryOf(form);
  const unsigned bits = bitWidth(form.type(0)), bytes = bits / 8 * form.vectorSize();
  if (!geometry || geometry->surface < 0 || at.size() != 2 || bytes > 16 || form.cache() != Mod::None) {
    f.unsupported(std::string(f.opcodeText()));
    return std::nullopt;
  }
  const auto handle = handleOf(f, at[0]);
  if (!handle) return std::nullopt;
  std::vector<Value> coordinates = coordinatesOf(f, at[1], Type::S32, *geometry);
  // The layer comes last.
  if (geometry->isArray) std::rotate(coordinates.begin(), coordinates.begin() + 1, coordinates.end());
  enum { kIgnore, kClamp, kTrap };
  const int outside = form.mode() == Mod::Trap ? kTrap : form.mode() == Mod::Clamp ? kClamp : kIgnore;
  const MemSize size = bytes == 1   ? MemSize::U8
                       : bytes == 2 ? MemSize::U16
                       : bytes == 4 ? MemSize::B32
                       : bytes == 8 ? MemSize::B64
                                    : MemSize::B128;
  return Surface{*geometry, *handle, joined(f, coordinates), size, std::max(1u, bytes / 4), bits, outside};
}

std::vector<ModValue> modsOf(const Surface& s) {
  return {{IsaMod::Geometry, s.geometry.surface},
          {IsaMod::Size, s.size},
          {IsaMod::Order, isa::MemOrder::StrongSm},
          {IsaMod::Func, s.outside}};
}

} // namespace

void lowerSurfaceLoad(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  const auto s = surfaceOf(f, ops[1], form);
  if (!s) return;
  const IsaOperand data = f.newR(s->words), ur = f.out().use(f.out().newVReg(File::UR));
  const std::array<UniformWord, 1> uniform{UniformWord{ur, s->handle}};
  forEachUniform(f, uniform, [&] {
    f.emit(IsaOp::SULD, {IsaOperand::pt(), data, s->coordinates, ur, f.imm(0)}, modsOf(*s));
  });
  auto elements = ops[0].is(OperandKind::Vector) ? f.parts(ops[0]) : std::span(&ops[0], 1);
  for (unsigned k = 0; k < elements.size(); ++k) {
    if (elements[k].is(OperandKind::Sink)) continue;
    const IsaOperand d = f.dest(elements[k]);
    const unsigned bit = k * s->elementBits;
    if (s->elementBits >= 32) {
      f.copy(d, Value::of(ori::component(data, bit / 32, s->elementBits / 32)));
      continue;
    }
    // A byte, or a half, in a register that may be wider: with zeros above.
    const unsigned first = bit % 32 / 8;
    f.emit(IsaOp::PRMT, {ori::component(d, 0), ori::component(data, bit / 32),
                         f.imm(static_cast<std::int64_t>(s->elementBits == 8 ? 0x4440 + first
                                                         : first == 0        ? 0x4410
                                                                             : 0x4432)),
                         IsaOperand::rz()});
    if (d.width == 2) f.copy(ori::component(d, 1), Value::constant(0, 1));
  }
  f.endUnguarded(join);
}

namespace {

/// sust.p: components, of which the surface makes a texel of its format. The first ones are written; three are as good
/// as four.
void storeTexel(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  const auto s = surfaceOf(f, ops[0], form);
  if (!s) return;
  auto elements = ops[1].is(OperandKind::Vector) ? f.parts(ops[1]) : std::span(&ops[1], 1);
  std::vector<Value> components;
  for (const Operand& element : elements)
    components.push_back(f.source(element, Type::B32));
  const IsaOperand data = joined(f, components), ur = f.out().use(f.out().newVReg(File::UR));
  const std::array<UniformWord, 1> uniform{UniformWord{ur, s->handle}};
  forEachUniform(f, uniform, [&] {
    f.emit(IsaOp::SUST_P, {s->coordinates, data, ur, f.imm(0)},
           {{IsaMod::Geometry, s->geometry.surface},
            {IsaMod::Mask, (1 << elements.size()) - 1},
            {IsaMod::Order, isa::MemOrder::StrongSm},
            {IsaMod::Func, s->outside}});
  });
  f.endUnguarded(join);
}

} // namespace

void lowerSurfaceReduction(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const bool byTexel = form.has(Mod::P);
  const Type type = form.type();
  const Mod action = form.action();
  enum { U32, S32, U64, S64 = 5, Sized32, Sized64 }; // numbers of SURED's types
  const bool isSigned = typeClass(type) == TypeClass::Signed, isWide = bitWidth(type) == 64;
  const bool isOrdered = action == Mod::Min || action == Mod::Max;
  const int kind = byTexel  ? (isWide      ? Sized64
                               : isOrdered ? Sized32
                                           : U32)
                   : isWide ? (isSigned ? S64 : U64)
                            : (isSigned ? S32 : U32);
  const isa::AtomOp op = atomOp(action);
  ori::Block* join = f.beginUnguarded();
  const auto s = surfaceOf(f, ops[0], form);
  if (!s) return;
  const IsaOperand data = f.inReg(f.source(ops[1], type)), ur = f.out().use(f.out().newVReg(File::UR));
  const std::array<UniformWord, 1> uniform{UniformWord{ur, s->handle}};
  forEachUniform(f, uniform, [&] {
    f.emit(IsaOp::SURED, {s->coordinates, data, ur, f.imm(0)},
           {{IsaMod::Sub, byTexel ? 0 : 1},
            {IsaMod::Geometry, s->geometry.surface},
            {IsaMod::AtomOp, op},
            {IsaMod::AtomType, kind},
            {IsaMod::Order, isa::MemOrder::StrongSys},
            {IsaMod::Func, s->outside}});
  });
  f.endUnguarded(join);
}

/// txq and suq: the sizes that the header holds; the rest lies in memory that only the driver knows.
void lowerTextureQuery(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Mod query = form.get(Slot::Query);
  const int mask = query == Mod::Width ? 1 : query == Mod::Height ? 2 : query == Mod::Depth ? 4 : 0;
  if (mask == 0 || !f.target().hasClusters()) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  ori::Block* join = f.beginUnguarded();
  const auto handle = handleOf(f, ops[1]);
  if (!handle) return;
  const IsaOperand level = f.newR(), size = f.newR(), ur = f.out().use(f.out().newVReg(File::UR, 2));
  f.copy(level, ops.size() > 2 ? f.source(ops[2], Type::B32) : Value::constant(0, 1));
  const std::array<UniformWord, 2> uniform{UniformWord{ori::component(ur, 0), *handle},
                                           UniformWord{ori::component(ur, 1), Value::constant(0, 1)}};
  forEachUniform(f, uniform, [&] {
    f.emit(IsaOp::TXQ, {IsaOperand::rz(), size, level, ur, f.imm(0)}, {{IsaMod::Mask, mask}});
  });
  f.copy(f.dest(ops[0]), Value::of(size));
  f.endUnguarded(join);
}

void lowerSurfaceStore(FunctionLowering& f, const Instruction& i, const Form& form) {
  if (form.has(Mod::P)) {
    storeTexel(f, i, form);
    return;
  }
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  const auto s = surfaceOf(f, ops[0], form);
  if (!s) return;
  auto elements = ops[1].is(OperandKind::Vector) ? f.parts(ops[1]) : std::span(&ops[1], 1);
  const IsaOperand data = f.newR(s->words);
  const Type type = form.type(0);
  if (s->elementBits >= 32) {
    for (unsigned k = 0; k < elements.size(); ++k) {
      const unsigned each = s->elementBits / 32;
      f.copy(ori::component(data, k * each, each), f.source(elements[k], type));
    }
  } else {
    const unsigned perWord = std::min<unsigned>(32 / s->elementBits, static_cast<unsigned>(elements.size()));
    for (unsigned w = 0; w < s->words; ++w) {
      std::vector<IsaOperand> in;
      for (unsigned k = 0; k < perWord; ++k)
        in.push_back(f.inReg(f.source(elements[w * perWord + k], type).word(0)));
      const IsaOperand whole = ori::component(data, w);
      const auto pair = [&](IsaOperand d, IsaOperand a, IsaOperand b, std::int64_t selector) {
        f.emit(IsaOp::PRMT, {d, a, f.imm(selector), b});
      };
      if (in.size() == 1)
        f.copy(whole, Value::of(in[0]));
      else if (s->elementBits == 16)
        pair(whole, in[0], in[1], 0x5410);
      else if (in.size() == 2)
        pair(whole, in[0], in[1], 0x7640);
      else {
        const IsaOperand low = f.newR(), high = f.newR();
        pair(low, in[0], in[1], 0x7640);
        pair(high, in[2], in[3], 0x7640);
        pair(whole, low, high, 0x5410);
      }
    }
  }
  const IsaOperand ur = f.out().use(f.out().newVReg(File::UR));
  const std::array<UniformWord, 1> uniform{UniformWord{ur, s->handle}};
  forEachUniform(f, uniform, [&] { f.emit(IsaOp::SUST, {s->coordinates, data, ur, f.imm(0)}, modsOf(*s)); });
  f.endUnguarded(join);
}

} // namespace orias::ptx
