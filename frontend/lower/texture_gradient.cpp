// Textures with derivatives that TXD does not support: with three coordinates, or with a comparison value. As in ptxas:
// before sm_90 a quad of lanes holds the coordinates of one lane at a time, with the derivatives added to the right and
// below, so the texture filters by the differences between the lanes (TEX_QUAD). From sm_90 on a function of the driver
// does it (the names and the argument locations: tools/launch/gradient_function.h).

#include "frontend/lower/external_call.h"
#include "frontend/lower/families.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/texture_helpers.h"

#include <algorithm>
#include <array>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

/// The operands of the instruction.
struct Access {
  TextureName name;
  Geometry geometry;
  std::vector<Value> coordinates, byX, byY;
  FurtherOperands further;
};

std::vector<Value> elementsOf(FunctionLowering& f, const Operand& o, Type type, unsigned count) {
  const auto all = o.is(OperandKind::Vector) ? f.parts(o) : std::span(&o, 1);
  std::vector<Value> values;
  for (const Operand& element : all.first(std::min<std::size_t>(all.size(), count)))
    values.push_back(f.source(element, type));
  return values;
}

/// `isMissing`: a register that is set to 1 if the texel is not resident, or RZ.
std::array<IsaOperand, 4> readInQuad(FunctionLowering& f, Access& a, const IsaOperand& isMissing) {
  if (a.geometry.isArray) a.coordinates[0] = knownLayer(f, a.coordinates[0]);
  const Value handle = a.name.word();
  const bool isConstant = handle.reg().isConst();
  std::vector<Value> parameters;
  if (!isConstant) parameters.push_back(handle);
  if (a.further.offset) parameters.push_back(packedOffsets(f, *a.further.offset, a.geometry.coordinates, kOffsets));
  if (a.further.reference) parameters.push_back(f.source(*a.further.reference, Type::F32));
  const IsaOperand low = f.newR(2), high = f.newR(2);
  std::vector<IsaOperand> operands{high, low, isMissing, joined(f, a.coordinates), joined(f, a.byX), joined(f, a.byY)};
  operands.push_back(parameters.empty() ? IsaOperand::rz() : joined(f, parameters));
  const auto word = isConstant ? constantWord(f, handle.reg()) : std::array{IsaOperand::rz(), IsaOperand::rz()};
  operands.insert(operands.end(), word.begin(), word.end());
  const std::array<ModValue, 4> mods{
      ModValue{IsaMod::Geometry, a.geometry.texture}, ModValue{IsaMod::Bindless, isConstant ? 0 : 1},
      ModValue{IsaMod::Sub2, a.further.offset ? 1 : 0}, ModValue{IsaMod::Sub4, a.further.reference ? 1 : 0}};
  f.emit(IsaOp::TEX_QUAD, std::move(operands), mods);
  return {ori::component(low, 0), ori::component(low, 1), ori::component(high, 0), ori::component(high, 1)};
}

/// The driver's name for the function. The type of halves is f16, regardless of their packing.
std::string functionOf(const Form& form, const Access& a, bool hasPredicate) {
  const Type type = form.type(0);
  std::string name = "__cuda_syscall_tex_grad_";
  if (hasPredicate) name += "pred_";
  name += modName(form.get(Slot::Geometry));
  name += "_v4_";
  name += type == Type::F16 || type == Type::F16x2 ? "f16"
          : type == Type::U32                      ? "u32"
          : type == Type::S32                      ? "s32"
                                                   : "f32";
  name += "_f32";
  if (a.name.hasSampler()) name += "_texmode_independent";
  if (a.further.offset) name += "_offset";
  if (a.further.reference) name += "_depth_compare";
  return name;
}

/// Words from R4 on. A separate sampler handle replaces the reference value.
constexpr unsigned kReference = 2, kCoordinates = 4, kByX = 8, kRegisters = 12;
constexpr unsigned kVector = 4;      ///< words; shorter values are padded
constexpr unsigned kResultWords = 5; ///< the first is not part of the texel

void put(std::vector<Value>& words, unsigned at, std::span<const Value> values) {
  if (words.size() < at + kVector) words.resize(at + kVector, Value::constant(0, 1));
  std::copy(values.begin(), values.end(), words.begin() + at);
}

/// The words of the result.
std::optional<IsaOperand> callFunction(FunctionLowering& f, const Form& form, Access& a, bool hasPredicate) {
  std::vector<Value> inRegisters(kRegisters, Value::constant(0, 1)), onStack;
  const auto handle = a.name.words();
  std::copy(handle.begin(), handle.end(), inRegisters.begin());
  const bool isReferenceOnStack = a.further.reference && a.name.hasSampler();
  if (a.further.reference && !isReferenceOnStack) inRegisters[kReference] = f.source(*a.further.reference, Type::F32);
  put(inRegisters, kCoordinates, a.coordinates);
  put(inRegisters, kByX, a.byX);
  put(onStack, 0, a.byY);
  if (a.further.offset) put(onStack, kVector, elementsOf(f, *a.further.offset, Type::S32, kVector));
  if (isReferenceOnStack) onStack.push_back(f.source(*a.further.reference, Type::F32));
  return callDriver(f, functionOf(form, a, hasPredicate), inRegisters, onStack, kResultWords);
}

/// Two halves share a word.
void takeDriverTexel(FunctionLowering& f, const Operand& results, Type type, IsaOperand words) {
  const auto parts = f.parts(results);
  for (unsigned k = 0; k < parts.size(); ++k) {
    if (parts[k].is(OperandKind::Sink)) continue;
    const IsaOperand d = f.dest(parts[k]);
    const bool isHalf = type == Type::F16;
    const IsaOperand word = ori::component(words, 1 + (isHalf ? k / 2 : k));
    constexpr std::int64_t kLow = 0x4410, kHigh = 0x4432; // bytes of the word, then zeros
    if (isHalf)
      f.emit(IsaOp::PRMT, {d, word, f.imm(k % 2 == 0 ? kLow : kHigh), IsaOperand::rz()});
    else
      f.copy(d, Value::of(word));
  }
}

} // namespace

void lowerTexByFurtherGradients(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  auto at = f.parts(ops[1]);
  const Geometry geometry = *geometryOf(form);
  ori::Block* join = f.beginUnguarded();
  const auto name = TextureName::ofBracket(f, at);
  if (!name) return;
  const unsigned count = geometry.coordinates - (geometry.isArray ? 1 : 0);
  Access access{*name,
                geometry,
                coordinatesOf(f, at.back(), Type::F32, geometry),
                elementsOf(f, ops[2], Type::F32, count),
                elementsOf(f, ops[3], Type::F32, count),
                furtherOperands(f, ops.subspan(4), geometry)};
  const bool hasPredicate = ops[0].vectorPair() != RegisterId::None;
  if (f.target().has(isa::Capability::QuadTextures)) {
    const IsaOperand isMissing = hasPredicate ? f.newR() : IsaOperand::rz();
    takeTexel(f, ops[0], form.type(0), readInQuad(f, access, isMissing));
    if (hasPredicate) takeResidency(f, ops[0], f.compared(isMissing, isa::ICmp::EQ, 0));
  } else {
    const auto result = callFunction(f, form, access, hasPredicate);
    if (!result) return;
    takeDriverTexel(f, ops[0], form.type(0), *result);
    if (hasPredicate) takeResidency(f, ops[0], f.compared(ori::component(*result, 0), isa::ICmp::NE, 0));
  }
  f.endUnguarded(join);
}

} // namespace orias::ptx
