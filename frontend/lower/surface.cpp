// Surfaces: loads, stores and reductions by bytes and by texels.

#include "frontend/lower/families.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/texture_name.h"

#include <algorithm>
#include <array>

namespace orias::ptx {

using isa::MemSize;
using IsaOperand = isa::Operand;

namespace {

/// Common parts of suld and sust.
struct Surface {
  Geometry geometry;
  TextureName name;
  IsaOperand coordinates;
  MemSize size;
  unsigned words;       ///< of the data
  unsigned elementBits; ///< of one element
  int outside;
  isa::MemOrder order;
  isa::Evict evict;
};

/// Memory order for the cache operators, as in ptxas: .cg, .cv and .wt reach the whole system, .cs is evicted first.
isa::MemOrder orderOf(const Form& form) {
  const Mod cache = form.cache();
  return cache == Mod::Cg || cache == Mod::Cv || cache == Mod::Wt ? isa::MemOrder::StrongSys : isa::MemOrder::StrongSm;
}

std::optional<Surface> surfaceOf(FunctionLowering& f, const Operand& name, const Form& form) {
  auto at = f.parts(name);
  const auto geometry = geometryOf(form);
  const unsigned bits = bitWidth(form.type(0)), bytes = bits / 8 * form.vectorSize();
  if (!geometry || geometry->surface < 0 || at.size() != 2 || bytes > 16) {
    f.unsupported(std::string(f.opcodeText()));
    return std::nullopt;
  }
  const auto handle = TextureName::of(f, at.front());
  if (!handle) return std::nullopt;
  std::vector<Value> coordinates = coordinatesOf(f, at[1], Type::S32, *geometry);
  // The instruction has the layer last.
  if (geometry->isArray) std::rotate(coordinates.begin(), coordinates.begin() + 1, coordinates.end());
  enum { kIgnore, kClamp, kTrap };
  const int outside = form.mode() == Mod::Trap ? kTrap : form.mode() == Mod::Clamp ? kClamp : kIgnore;
  const MemSize size = bytes == 1   ? MemSize::U8
                       : bytes == 2 ? MemSize::U16
                       : bytes == 4 ? MemSize::B32
                       : bytes == 8 ? MemSize::B64
                                    : MemSize::B128;
  return Surface{*geometry,
                 *handle,
                 joined(f, coordinates),
                 size,
                 std::max(1u, bytes / 4),
                 bits,
                 outside,
                 orderOf(form),
                 form.cache() == Mod::Cs ? isa::Evict::EF : isa::Evict::Normal};
}

std::vector<ModValue> modsOf(const Surface& s) {
  return {{IsaMod::Geometry, s.geometry.surface},
          {IsaMod::Size, s.size},
          {IsaMod::Order, s.order},
          {IsaMod::Evict, s.evict},
          {IsaMod::Func, s.outside}};
}

} // namespace

void lowerSurfaceLoad(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  const auto s = surfaceOf(f, ops[1], form);
  if (!s) return;
  const IsaOperand data = f.newR(s->words);
  s->name.emitSurface(f, {IsaOp::SULD, IsaOp::SULD_C, IsaOp::SULD_B}, {IsaOperand::pt(), data, s->coordinates},
                      modsOf(*s));
  auto elements = ops[0].is(OperandKind::Vector) ? f.parts(ops[0]) : std::span(&ops[0], 1);
  for (unsigned k = 0; k < elements.size(); ++k) {
    if (elements[k].is(OperandKind::Sink)) continue;
    const IsaOperand d = f.dest(elements[k]);
    const unsigned bit = k * s->elementBits;
    if (s->elementBits >= 32) {
      f.copy(d, Value::of(ori::component(data, bit / 32, s->elementBits / 32)));
      continue;
    }
    // A byte or a half in a possibly wider register, zero-extended.
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

/// sust.p: components, which the surface converts to a texel of its format. The first ones are written; three have the
/// same effect as four.
void storeTexel(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  ori::Block* join = f.beginUnguarded();
  const auto s = surfaceOf(f, ops[0], form);
  if (!s) return;
  auto elements = ops[1].is(OperandKind::Vector) ? f.parts(ops[1]) : std::span(&ops[1], 1);
  std::vector<Value> components;
  for (const Operand& element : elements)
    components.push_back(f.source(element, Type::B32));
  const IsaOperand data = joined(f, components);
  const std::array<ModValue, 4> mods{
      ModValue{IsaMod::Geometry, s->geometry.surface}, ModValue{IsaMod::Mask, (1 << elements.size()) - 1},
      ModValue{IsaMod::Order, isa::MemOrder::StrongSm}, ModValue{IsaMod::Func, s->outside}};
  s->name.emitSurface(f, {IsaOp::SUST_P, IsaOp::SUST_P_C, IsaOp::SUST_P_B}, {s->coordinates, data}, mods);
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
  const IsaOperand data = f.inReg(f.source(ops[1], type));
  const std::array<ModValue, 6> mods{
      ModValue{IsaMod::Sub, byTexel ? 0 : 1}, ModValue{IsaMod::Geometry, s->geometry.surface},
      ModValue{IsaMod::AtomOp, op},           ModValue{IsaMod::AtomType, kind},
      ModValue{IsaMod::Func, s->outside},     ModValue{IsaMod::Order, isa::MemOrder::StrongSys}};
  s->name.emitSurface(f, {IsaOp::SURED, IsaOp::SURED_C, IsaOp::SURED_B}, {s->coordinates, data}, mods);
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
  s->name.emitSurface(f, {IsaOp::SUST, IsaOp::SUST_C, IsaOp::SUST_B}, {s->coordinates, data}, modsOf(*s));
  f.endUnguarded(join);
}

} // namespace orias::ptx
