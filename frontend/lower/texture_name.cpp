// What names a texture or a surface. On sm_90 uniform registers do (uniform_loop.h). Before, ptxas has a word of
// constant memory where the handle is a parameter of the kernel, and a register, which may be another in each lane,
// elsewhere.

#include "frontend/lower/texture_name.h"

#include "frontend/lower/modifiers.h"
#include "frontend/lower/uniform_loop.h"

#include <algorithm>
#include <array>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// Constants are named by their words.
constexpr std::int32_t kWordBytes = 4;

} // namespace

std::array<IsaOperand, 2> constantWord(FunctionLowering& f, const IsaOperand& constant) {
  return {f.imm(constant.bank), f.imm(constant.imm / kWordBytes)};
}

std::optional<Geometry> geometryOf(const Form& form) {
  switch (form.get(Slot::Geometry)) {
  case Mod::Dim1d: return Geometry{1, 0, 0, false, false};
  case Mod::Dim2d: return Geometry{2, 1, 3, false, false};
  case Mod::Dim3d: return Geometry{3, 2, 5, false, false};
  case Mod::Cube: return Geometry{3, 3, -1, false, true};
  case Mod::Array1d: return Geometry{2, 4, 2, true, false};
  case Mod::Array2d: return Geometry{3, 5, 4, true, false};
  case Mod::ArrayCube: return Geometry{4, 7, -1, true, true};
  case Mod::Multi2d: return Geometry{2, 1, -1, false, false, true};
  case Mod::ArrayMulti2d: return Geometry{3, 5, -1, true, false, true};
  default: return std::nullopt;
  }
}

std::vector<Value> coordinatesOf(FunctionLowering& f, const Operand& operand, Type type, const Geometry& geometry) {
  std::vector<Value> all;
  if (!operand.is(OperandKind::Vector)) {
    all.push_back(f.source(operand, type));
    return all;
  }
  auto parts = f.parts(operand).subspan(geometry.hasSamples ? 1 : 0);
  for (unsigned i = 0; i < std::min<std::size_t>(geometry.coordinates, parts.size()); ++i)
    all.push_back(f.source(parts[i], geometry.isArray && i == 0 ? Type::U32 : type));
  return all;
}

IsaOperand joined(FunctionLowering& f, std::span<const Value> values) {
  const IsaOperand run = f.newR(static_cast<unsigned>(values.size()));
  for (unsigned i = 0; i < values.size(); ++i)
    f.copy(ori::component(run, i), values[i]);
  return run;
}

std::optional<TextureName> TextureName::of(FunctionLowering& f, const Operand& operand) {
  const bool isVariable = operand.is(OperandKind::Variable) ||
                          (operand.is(OperandKind::Address) && operand.addressBase() == OperandKind::Variable);
  if (isVariable && operand.offset() == 0 &&
      typeClass(f.module().variable(operand.variableId()).type) == TypeClass::Opaque) {
    const auto handle = f.handleWord(operand.variableId());
    if (!handle) return std::nullopt;
    return TextureName(Value::of(*handle), Value::constant(0, 1));
  }
  const bool isAddress = operand.is(OperandKind::Address) && operand.addressBase() == OperandKind::Register;
  if (operand.is(OperandKind::Register) || (isAddress && operand.offset() == 0)) {
    const Operand name = Operand::reg(operand.registerId());
    if (const auto at = f.kernelParameter(name)) {
      const auto word = [&](std::uint32_t offset) {
        return Value::of(IsaOperand::constant(0, static_cast<std::int32_t>(*at + offset)));
      };
      return TextureName(word(0), word(kWordBytes));
    }
    const Value handle = f.source(name, Type::U64);
    return TextureName(Value::of(f.inReg(handle.word(0))), Value::of(f.inReg(handle.word(1))));
  }
  f.unsupported("a texture or surface that is neither of the module nor given by a handle in a register");
  return std::nullopt;
}

void TextureName::emitSurface(FunctionLowering& f, const NamedOps& ops, std::vector<IsaOperand> operands,
                              std::span<const ModValue> mods) const {
  if (f.target().hasUniformTextureNames()) {
    const IsaOperand ur = f.out().use(f.out().newVReg(File::UR));
    operands.insert(operands.end(), {ur, f.imm(0)});
    const std::array<UniformWord, 1> uniform{UniformWord{ur, handle_}};
    forEachUniform(f, uniform, [&] { f.emit(ops.byUniform, operands, mods); });
    return;
  }
  if (handle_.reg().isConst()) {
    const auto word = constantWord(f, handle_.reg());
    operands.insert(operands.end(), word.begin(), word.end());
    f.emit(ops.byConstant, std::move(operands), mods);
    return;
  }
  operands.push_back(handle_.reg());
  f.emit(ops.byRegister, std::move(operands), mods);
}

void TextureName::emitTexture(FunctionLowering& f, const NamedOps& ops, std::vector<IsaOperand> operands, Runs runs,
                              Place place, std::span<const ModValue> mods) const {
  const bool isUniform = f.target().hasUniformTextureNames(), isConstant = !isUniform && handle_.reg().isConst();
  const bool isInRegister = !isUniform && !isConstant;
  if (isInRegister) {
    std::vector<Value>& run = place == Place::BeforeFirst ? runs.first : *runs.second;
    run.insert(run.begin(), handle_);
  }
  operands.push_back(joined(f, runs.first));
  if (runs.second) operands.push_back(runs.second->empty() ? IsaOperand() : joined(f, *runs.second));
  if (isInRegister) {
    f.emit(ops.byRegister, std::move(operands), mods);
    return;
  }
  if (isConstant) {
    const auto word = constantWord(f, handle_.reg());
    operands.insert(operands.end(), word.begin(), word.end());
    f.emit(ops.byConstant, std::move(operands), mods);
    return;
  }
  const IsaOperand ur = f.out().use(f.out().newVReg(File::UR, 2));
  operands.insert(operands.end(), {ur, f.imm(0)});
  const std::array<UniformWord, 2> uniform{UniformWord{ori::component(ur, 0), handle_},
                                           UniformWord{ori::component(ur, 1), Value::constant(0, 1)}};
  forEachUniform(f, uniform, [&] { f.emit(ops.byUniform, operands, mods); });
}

} // namespace orias::ptx
