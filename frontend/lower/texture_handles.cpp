#include "frontend/lower/texture_handles.h"

#include "encoder/isa/texture_table.h"
#include "frontend/lower/addresses.h"
#include "frontend/lower/function_lowering.h"
#include "ori/call_abi.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using IsaOperand = isa::Operand;

std::uint32_t handleSymbol(const ModuleLayout& layout, ori::Function& out, VariableId id) {
  const Variable& v = layout.in->variable(id);
  if (v.space == StateSpace::Global) return layout.symbolOf[index(id)];
  using Kind = ori::Symbol::Kind;
  return symbolNamed(out.module(),
                     v.type == Type::TexRef       ? Kind::Texture
                     : v.type == Type::SamplerRef ? Kind::Sampler
                                                  : Kind::Surface,
                     ori::parameterSymbol(out.name(), layout.in->text(v.name)));
}

isa::Operand driverWord(FunctionLowering& f, std::string_view symbol) {
  return symbolAddress(f, symbolNamed(f.out().module(), ori::Symbol::Kind::DriverWord, symbol), 0, 1);
}

std::optional<isa::Operand> handleWord(FunctionLowering& f, std::span<const VariableId> ids) {
  std::vector<std::uint32_t> symbols;
  for (const VariableId id : ids) {
    const Variable& v = f.module().variable(id);
    if (!v.dims.empty()) {
      f.unsupported(fmt::format("'{}', which is no single texture, sampler or surface", f.module().text(v.name)));
      return std::nullopt;
    }
    symbols.push_back(handleSymbol(f.layout(), f.out(), id));
  }
  if (f.isLinked()) { // the linker assigns the offset
    ORIAS_CHECK(symbols.size() == 1);
    IsaOperand place;
    place.kind = IsaOperand::Kind::Symbol;
    place.reg = symbols[0];
    const IsaOperand word = f.newR();
    f.emit(IsaOp::LDC, {word, f.imm(0), IsaOperand::rz(), place}, {{IsaMod::Size, isa::MemSize::B32}});
    return word;
  }
  constexpr std::uint32_t kWord = 4;
  const auto holds = [&](std::uint32_t symbol, std::uint32_t offset) {
    return std::any_of(f.out().handles.begin(), f.out().handles.end(),
                       [&](const ori::TextureHandleSlot& h) { return h.symbol == symbol && h.offset == offset; });
  };
  std::uint32_t next = (f.out().paramBytes + kWord - 1) / kWord * kWord;
  std::optional<std::uint32_t> offset;
  for (const ori::TextureHandleSlot& h : f.out().handles) {
    next = std::max(next, h.offset + kWord);
    const bool hasAll = std::all_of(symbols.begin(), symbols.end(), [&](auto s) { return holds(s, h.offset); });
    if (hasAll && !offset) offset = h.offset;
  }
  if (!offset) {
    offset = next;
    for (const std::uint32_t symbol : symbols)
      f.out().handles.push_back({symbol, next});
  }
  return IsaOperand::constant(0, static_cast<std::int32_t>(f.target().paramBase() + *offset));
}

Value handleNumber(FunctionLowering& f, VariableId id) {
  const Type type = f.module().variable(id).type;
  const std::uint32_t kind = type == Type::TexRef       ? isa::kTextureHandle
                             : type == Type::SamplerRef ? isa::kSamplerHandle
                                                        : isa::kSurfaceHandle;
  const IsaOperand r = f.newR(2);
  f.copy(ori::component(r, 1), Value::constant(kind, 1));
  const auto word = handleWord(f, id);
  if (!word) return Value::of(r);
  if (!f.target().has(isa::Capability::JoinedSamplers)) {
    f.copy(ori::component(r, 0), Value::of(*word));
    return Value::of(r);
  }
  // Before sm_90 the highest bit is set (observed).
  constexpr std::int64_t kMark = 0x80000000;
  constexpr int kOr = 0xfc;
  IsaOperand number = f.inReg(Value::of(*word));
  if (type == Type::SamplerRef) {
    const IsaOperand shifted = f.newR();
    f.emit(IsaOp::SHF, {shifted, IsaOperand::rz(), f.imm(isa::Target::kSamplerShift), number},
           {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
    number = shifted;
  }
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), ori::component(r, 0), number, f.imm(kMark), IsaOperand::rz(), f.imm(kOr),
                       IsaOperand::pt().notted()});
  return Value::of(r);
}

} // namespace orias::ptx
