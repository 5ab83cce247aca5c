// txq and suq. The sizes stand in the header of the texture; the rest in tables of the driver's, which have an entry
// for each handle (encoder/isa/texture_table.h).

#include "encoder/isa/texture_table.h"
#include "frontend/lower/families.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/texture_name.h"

#include <array>
#include <optional>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

constexpr NamedOps kAsked{IsaOp::TXQ, IsaOp::TXQ_C, IsaOp::TXQ_B};

/// Where the driver keeps the answer.
struct Answer {
  std::uint32_t table; ///< place in constant bank 0 of the table's address
  std::string_view sizeSymbol;
  unsigned offset; ///< in the entry
  bool isOfSampler = false;
};

constexpr unsigned kWord = 4;

std::optional<unsigned> samplerOffset(Mod query) {
  namespace entry = isa::sampler_entry;
  switch (query) {
  case Mod::AddrMode0: return entry::kAddressModes;
  case Mod::AddrMode1: return entry::kAddressModes + kWord;
  case Mod::AddrMode2: return entry::kAddressModes + 2 * kWord;
  case Mod::FilterMode: return entry::kFilterMode;
  case Mod::ForceUnnormalizedCoords: return entry::kForceUnnormalized;
  default: return std::nullopt;
  }
}

std::optional<unsigned> independentTextureOffset(Mod query) {
  namespace entry = isa::independent_texture_entry;
  switch (query) {
  case Mod::NormalizedCoords: return entry::kNormalized;
  case Mod::ChannelDataType: return entry::kChannelType;
  case Mod::ChannelOrder: return entry::kChannelOrder;
  case Mod::ArraySize: return entry::kArraySize;
  case Mod::NumMipmapLevels: return entry::kLevels;
  case Mod::NumSamples: return entry::kSamples;
  default: return std::nullopt;
  }
}

std::optional<unsigned> textureOffset(Mod query) {
  namespace entry = isa::texture_entry;
  switch (query) {
  case Mod::ForceUnnormalizedCoords: return entry::kForceUnnormalized;
  case Mod::AddrMode0: return entry::kAddressModes;
  case Mod::AddrMode1: return entry::kAddressModes + kWord;
  case Mod::AddrMode2: return entry::kAddressModes + 2 * kWord;
  case Mod::FilterMode: return entry::kFilterMode;
  case Mod::NormalizedCoords: return entry::kNormalized;
  case Mod::ChannelDataType: return entry::kChannelType;
  case Mod::ChannelOrder: return entry::kChannelOrder;
  case Mod::ArraySize: return entry::kArraySize;
  case Mod::NumMipmapLevels: return entry::kLevels;
  case Mod::NumSamples: return entry::kSamples;
  default: return std::nullopt;
  }
}

std::optional<unsigned> surfaceOffset(Mod query) {
  namespace entry = isa::surface_entry;
  switch (query) {
  case Mod::ChannelDataType: return entry::kChannelType;
  case Mod::ChannelOrder: return entry::kChannelOrder;
  case Mod::MemoryLayout: return entry::kMemoryLayout;
  case Mod::ArraySize: return entry::kArraySize;
  default: return std::nullopt;
  }
}

/// Nothing for sizes, which stand in the header.
std::optional<Answer> answerTo(const FunctionLowering& f, Mod query, bool isTexture) {
  const isa::Target& target = f.target();
  const bool isIndependent = f.module().target.texmodeIndependent;
  if (!isTexture) {
    if (const auto at = surfaceOffset(query))
      return Answer{target.surfaceTableOffset(), isa::surface_entry::kSizeSymbol, *at};
    return std::nullopt;
  }
  if (!isIndependent) {
    if (const auto at = textureOffset(query))
      return Answer{target.textureTableOffset(), isa::texture_entry::kSizeSymbol, *at};
    return std::nullopt;
  }
  if (const auto at = samplerOffset(query))
    return Answer{target.samplerTableOffset(), isa::sampler_entry::kSizeSymbol, *at, true};
  if (const auto at = independentTextureOffset(query))
    return Answer{target.textureTableOffset(), isa::independent_texture_entry::kSizeSymbol, *at};
  return std::nullopt;
}

/// What counts the entries of the table.
IsaOperand numberOf(FunctionLowering& f, const Handle& handle, bool isOfSampler) {
  const isa::Target& target = f.target();
  const IsaOperand whole = f.inReg(handle.low);
  if (!target.joinsSamplers()) return whole;
  const IsaOperand number = f.newR();
  if (handle.hasSampler && isOfSampler) {
    f.emit(IsaOp::SHF, {number, IsaOperand::rz(), f.imm(isa::Target::kSamplerShift), whole},
           {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
    return number;
  }
  constexpr int kAnd = 0xc0;
  constexpr std::int64_t kSampler = 0xfff;
  f.emit(IsaOp::LOP3, {IsaOperand::pt(), number, whole, f.imm(isOfSampler ? kSampler : target.handleNumberMask()),
                       IsaOperand::rz(), f.imm(kAnd), IsaOperand::pt().notted()});
  return number;
}

IsaOperand loadFromTable(FunctionLowering& f, const Handle& handle, const Answer& answer) {
  const IsaOperand number = numberOf(f, handle, answer.isOfSampler), bytes = f.driverWord(answer.sizeSymbol);
  const IsaOperand place = f.newR(2), base = f.newR(2), address = f.newR(2), result = f.newR();
  f.emit(IsaOp::IMAD, {ori::component(place, 0), number, bytes, f.inReg(f.imm(answer.offset))},
         {{IsaMod::Type, isa::IntType::U32}});
  f.copy(ori::component(place, 1), Value::constant(0, 1));
  for (std::int32_t w = 0; w < 2; ++w)
    f.copy(ori::component(base, static_cast<unsigned>(w)),
           Value::of(IsaOperand::constant(0, static_cast<std::int32_t>(answer.table) + 4 * w)));
  f.emit(IsaOp::IADD64, {address, base, place});
  f.emit(IsaOp::LDG, {IsaOperand::pt(), result, f.globalDescriptor(), address, IsaOperand(), f.imm(0)},
         {{IsaMod::Size, isa::MemSize::B32}, {IsaMod::Order, isa::MemOrder::Constant}});
  return result;
}

} // namespace

void lowerTextureQuery(FunctionLowering& f, const Instruction& i, const Form& form) {
  auto ops = f.operands(i);
  const Mod query = form.get(Slot::Query);
  const bool isTexture = form.op == Op::Txq;
  const int mask = query == Mod::Width ? 1 : query == Mod::Height ? 2 : query == Mod::Depth ? 4 : 0;
  const auto answer = answerTo(f, query, isTexture);
  if (mask == 0 && !answer) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  ori::Block* join = f.beginUnguarded();
  if (answer) {
    const auto handle = Handle::of(f, ops[1]);
    if (!handle) return;
    f.copy(f.dest(ops[0]), Value::of(loadFromTable(f, *handle, *answer)));
  } else {
    const auto name = TextureName::of(f, ops[1]);
    if (!name) return;
    const IsaOperand size = f.newR();
    const Value level = ops.size() > 2 ? f.source(ops[2], Type::B32) : Value::constant(0, 1);
    const std::array<ModValue, 1> mods{ModValue{IsaMod::Mask, mask}};
    name->emitTexture(f, kAsked, {IsaOperand::rz(), size}, {{level}, {}}, TextureName::Place::BeforeFirst, mods);
    f.copy(f.dest(ops[0]), Value::of(size));
  }
  f.endUnguarded(join);
}

} // namespace orias::ptx
