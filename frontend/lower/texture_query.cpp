// txq and suq. The sizes stand in the header of the texture; the rest in a table of the driver's, which has an entry
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

/// Where the answer stands in an entry.
std::optional<unsigned> textureOffset(Mod query) {
  namespace entry = isa::texture_entry;
  constexpr unsigned kWord = 4;
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

IsaOperand loadFromTable(FunctionLowering& f, const TextureName& name, bool isTexture, unsigned offset) {
  const auto& target = f.target();
  IsaOperand number = f.inReg(name.words()[0]);
  if (const std::uint32_t mask = target.handleNumberMask(); mask != ~0u) {
    constexpr int kAnd = 0xc0;
    const IsaOperand masked = f.newR();
    f.emit(IsaOp::LOP3,
           {IsaOperand::pt(), masked, number, f.imm(mask), IsaOperand::rz(), f.imm(kAnd), IsaOperand::pt().notted()});
    number = masked;
  }
  const IsaOperand bytes = f.driverWord(isTexture ? isa::texture_entry::kSizeSymbol : isa::surface_entry::kSizeSymbol);
  const IsaOperand place = f.newR(2), base = f.newR(2), address = f.newR(2), result = f.newR();
  f.emit(IsaOp::IMAD, {ori::component(place, 0), number, bytes, f.inReg(f.imm(offset))},
         {{IsaMod::Type, isa::IntType::U32}});
  f.copy(ori::component(place, 1), Value::constant(0, 1));
  const auto table = static_cast<std::int32_t>(isTexture ? target.textureTableOffset() : target.surfaceTableOffset());
  for (std::int32_t w = 0; w < 2; ++w)
    f.copy(ori::component(base, static_cast<unsigned>(w)), Value::of(IsaOperand::constant(0, table + 4 * w)));
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
  const auto offset = isTexture ? textureOffset(query) : surfaceOffset(query);
  if (mask == 0 && !offset) {
    f.unsupported(std::string(f.opcodeText()));
    return;
  }
  ori::Block* join = f.beginUnguarded();
  const auto name = TextureName::of(f, ops[1]);
  if (!name) return;
  if (offset) {
    f.copy(f.dest(ops[0]), Value::of(loadFromTable(f, *name, isTexture, *offset)));
  } else {
    const IsaOperand size = f.newR();
    const Value level = ops.size() > 2 ? f.source(ops[2], Type::B32) : Value::constant(0, 1);
    const std::array<ModValue, 1> mods{ModValue{IsaMod::Mask, mask}};
    name->emitTexture(f, kAsked, {IsaOperand::rz(), size}, {{level}, {}}, TextureName::Place::BeforeFirst, mods);
    f.copy(f.dest(ops[0]), Value::of(size));
  }
  f.endUnguarded(join);
}

} // namespace orias::ptx
