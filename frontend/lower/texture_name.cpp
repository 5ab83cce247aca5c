// How instructions refer to a texture or a surface. On sm_90 they use uniform registers (uniform_loop.h). On older
// chips ptxas uses a word of constant memory if the handle is a kernel parameter, and otherwise a register, which may
// be divergent.

#include "frontend/lower/texture_name.h"
#include "frontend/lower/texture_handles.h"

#include "encoder/isa/texture_table.h"
#include "frontend/lower/modifiers.h"

#include <algorithm>
#include <array>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

/// Constants are referred to by word index.
constexpr std::int32_t kWordBytes = 4;

/// The texture, sampler or surface that the operand refers to.
std::optional<VariableId> variableIn(FunctionLowering& f, const Operand& operand) {
  const bool isVariable = operand.is(OperandKind::Variable) ||
                          (operand.is(OperandKind::Address) && operand.addressBase() == OperandKind::Variable);
  if (!isVariable || operand.offset() != 0 ||
      typeClass(f.module().variable(operand.variableId()).type) != TypeClass::Opaque)
    return std::nullopt;
  return operand.variableId();
}

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

std::optional<Handle> Handle::of(FunctionLowering& f, const Operand& operand) {
  if (const auto variable = variableIn(f, operand)) {
    const Type type = f.module().variable(*variable).type;
    const auto word = handleWord(f, *variable);
    if (!word) return std::nullopt;
    const std::uint32_t kind = type == Type::TexRef       ? isa::kTextureHandle
                               : type == Type::SamplerRef ? isa::kSamplerHandle
                                                          : isa::kSurfaceHandle;
    const bool isShifted = type == Type::SamplerRef && f.target().has(isa::Capability::JoinedSamplers);
    return Handle{Value::of(*word), Value::constant(kind, 1), true, isShifted};
  }
  const bool isAddress = operand.is(OperandKind::Address) && operand.addressBase() == OperandKind::Register;
  if (operand.is(OperandKind::Register) || (isAddress && operand.offset() == 0)) {
    const Operand name = Operand::reg(operand.registerId());
    const KernelParameters* parameters = f.kernelParameters();
    if (const auto at = parameters ? parameters->offsetOf(name) : std::nullopt) {
      const auto word = [&](std::uint32_t offset) {
        return Value::of(IsaOperand::constant(0, static_cast<std::int32_t>(*at + offset)));
      };
      return Handle{word(0), word(kWordBytes), true};
    }
    const Value handle = f.source(name, Type::U64);
    return Handle{Value::of(f.inReg(handle.word(0))), Value::of(f.inReg(handle.word(1)))};
  }
  f.unsupported("a texture or surface that is neither a module variable nor a handle in a register");
  return std::nullopt;
}

std::optional<TextureName> TextureName::of(FunctionLowering& f, const Operand& operand) {
  const auto handle = Handle::of(f, operand);
  if (!handle) return std::nullopt;
  return TextureName(*handle);
}

std::optional<TextureName> TextureName::of(FunctionLowering& f, const Operand& texture, const Operand& sampler) {
  const auto named = [&](const Operand& o) { return f.isLinked() ? std::nullopt : variableIn(f, o); };
  const auto textureVariable = named(texture), samplerVariable = named(sampler);
  if (f.target().has(isa::Capability::JoinedSamplers) && textureVariable && samplerVariable) {
    const auto word = handleWord(f, std::array{*textureVariable, *samplerVariable});
    if (!word) return std::nullopt;
    return TextureName(Handle{Value::of(*word), Value::constant(isa::kTextureHandle, 1), true, true});
  }
  const auto first = Handle::of(f, texture), second = Handle::of(f, sampler);
  if (!first || !second) return std::nullopt;
  TextureName name(*first);
  if (!f.target().has(isa::Capability::JoinedSamplers)) {
    name.sampler_ = *second;
    return name;
  }
  IsaOperand upper = f.inReg(second->low);
  if (!second->hasSampler) {
    const IsaOperand shifted = f.newR();
    f.emit(IsaOp::SHF, {shifted, upper, f.imm(isa::Target::kSamplerShift), IsaOperand::rz()},
           {{IsaMod::ShiftDir, isa::ShiftDir::L}, {IsaMod::ShiftType, isa::ShiftType::U32}});
    upper = shifted;
  }
  constexpr std::int64_t kTexture = (1 << isa::Target::kSamplerShift) - 1;
  constexpr int kChoose = 0xe2; // selects by the second input
  const IsaOperand both = f.newR();
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), both, f.inReg(first->low), f.imm(kTexture), upper, f.imm(kChoose),
                       IsaOperand::pt().notted()});
  name.texture_.low = Value::of(both);
  name.texture_.hasSampler = true;
  return name;
}

std::vector<Value> TextureName::words() const {
  std::vector<Value> all{texture_.low, texture_.high};
  if (sampler_) all.insert(all.end(), {sampler_->low, sampler_->high});
  return all;
}

UniformWord TextureName::uniformWord(FunctionLowering& f, const IsaOperand& to, const Handle& handle) {
  const bool isInRegister = !handle.low.isConstant() && !handle.low.reg().isConst();
  if (!handle.isUniform || !isInRegister) return {to, handle.low};
  const IsaOperand word = f.out().use(f.out().newVReg(File::UR));
  f.emit(IsaOp::R2UR, {IsaOperand::pt(), word, handle.low.word(0)});
  return {to, Value::of(word)};
}

/// The operand after the uniform registers of a name: an unused offset, which names of single words from sm_100 on do
/// not have.
IsaOperand offsetAfterName(FunctionLowering& f) {
  return f.target().words() >= isa::WordFormat::Sm100 ? IsaOperand() : f.imm(0);
}

void TextureName::emitSurface(FunctionLowering& f, const NamedOps& ops, std::vector<IsaOperand> operands,
                              std::span<const ModValue> mods) const {
  if (f.target().has(isa::Capability::UniformTextures)) {
    const IsaOperand ur = f.out().use(f.out().newVReg(File::UR));
    operands.insert(operands.end(), {ur, offsetAfterName(f)});
    const std::array<UniformWord, 1> uniform{uniformWord(f, ur, texture_)};
    forEachUniform(f, uniform, [&] { f.emit(ops.byUniform, operands, mods); });
    return;
  }
  if (texture_.low.reg().isConst()) {
    const auto word = constantWord(f, texture_.low.reg());
    operands.insert(operands.end(), word.begin(), word.end());
    f.emit(ops.byConstant, std::move(operands), mods);
    return;
  }
  operands.push_back(texture_.low.reg());
  f.emit(ops.byRegister, std::move(operands), mods);
}

void TextureName::emitTexture(FunctionLowering& f, const NamedOps& ops, std::vector<IsaOperand> operands, Runs runs,
                              Place place, std::span<const ModValue> mods) const {
  const bool isUniform = f.target().has(isa::Capability::UniformTextures),
             isConstant = !isUniform && texture_.low.reg().isConst();
  const bool isInRegister = !isUniform && !isConstant;
  if (isInRegister) {
    std::vector<Value>& run = place == Place::BeforeFirst ? runs.first : *runs.second;
    run.insert(run.begin(), texture_.low);
  }
  operands.push_back(joined(f, runs.first));
  if (runs.second) operands.push_back(runs.second->empty() ? IsaOperand() : joined(f, *runs.second));
  if (isInRegister) {
    f.emit(ops.byRegister, std::move(operands), mods);
    return;
  }
  if (isConstant) {
    const auto word = constantWord(f, texture_.low.reg());
    operands.insert(operands.end(), word.begin(), word.end());
    f.emit(ops.byConstant, std::move(operands), mods);
    return;
  }
  const IsaOperand ur = f.out().use(f.out().newVReg(File::UR, 2));
  operands.insert(operands.end(), {ur, offsetAfterName(f)});
  const IsaOperand second = ori::component(ur, 1);
  const std::array<UniformWord, 2> uniform{uniformWord(f, ori::component(ur, 0), texture_),
                                           sampler_ ? uniformWord(f, second, *sampler_)
                                                    : UniformWord{second, Value::constant(0, 1)}};
  forEachUniform(f, uniform, [&] { f.emit(ops.byUniform, operands, mods); });
}

} // namespace orias::ptx
