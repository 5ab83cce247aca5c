// txq and suq. The sizes are in the header of the texture. The other values are in tables of the driver, which have an
// entry for each handle (encoder/isa/texture_table.h).

#include "encoder/isa/texture_table.h"
#include "frontend/lower/families.h"
#include "frontend/lower/modifiers.h"
#include "frontend/lower/texture_handles.h"
#include "frontend/lower/texture_name.h"

#include <array>
#include <optional>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

constexpr NamedOps kAsked{IsaOp::TXQ, IsaOp::TXQ_C, IsaOp::TXQ_B};

/// Where the driver keeps the value.
struct Answer {
  std::uint32_t table; ///< offset in constant bank 0 of the table's address; 0: not known
  std::string_view sizeSymbol;
  unsigned offset; ///< in the entry
  bool isOfSampler = false;
};

std::optional<isa::TextureFact> factAsked(Mod query) {
  switch (query) {
  case Mod::ForceUnnormalizedCoords: return isa::TextureFact::ForceUnnormalized;
  case Mod::AddrMode0: return isa::TextureFact::AddressMode0;
  case Mod::AddrMode1: return isa::TextureFact::AddressMode1;
  case Mod::AddrMode2: return isa::TextureFact::AddressMode2;
  case Mod::FilterMode: return isa::TextureFact::FilterMode;
  case Mod::NormalizedCoords: return isa::TextureFact::Normalized;
  case Mod::ChannelDataType: return isa::TextureFact::ChannelType;
  case Mod::ChannelOrder: return isa::TextureFact::ChannelOrder;
  case Mod::ArraySize: return isa::TextureFact::ArraySize;
  case Mod::NumMipmapLevels: return isa::TextureFact::Levels;
  case Mod::NumSamples: return isa::TextureFact::Samples;
  case Mod::MemoryLayout: return isa::TextureFact::MemoryLayout;
  default: return std::nullopt;
  }
}

/// Returns nothing for sizes, which are in the header.
std::optional<Answer> answerTo(const FunctionLowering& f, Mod query, bool isTexture) {
  const isa::Target& target = f.target();
  const auto fact = factAsked(query);
  if (!fact) return std::nullopt;
  const auto inTable = [&](const isa::EntryLayout& entry, std::uint32_t table,
                           bool isOfSampler = false) -> std::optional<Answer> {
    if (const auto at = entry.offsetOf(*fact)) return Answer{table, entry.sizeSymbol, *at, isOfSampler};
    return std::nullopt;
  };
  if (!isTexture) return inTable(isa::kSurfaceEntry, target.surfaceTableOffset());
  if (!f.module().target.texmodeIndependent) return inTable(isa::kTextureEntry, target.textureTableOffset());
  if (const auto answer = inTable(isa::kSamplerEntry, target.samplerTableOffset(), true)) return answer;
  return inTable(isa::kIndependentTextureEntry, target.textureTableOffset());
}

/// The index of the handle's entry in the table.
IsaOperand numberOf(FunctionLowering& f, const Handle& handle, bool isOfSampler) {
  const isa::Target& target = f.target();
  const IsaOperand whole = f.inReg(handle.low);
  if (!target.has(isa::Capability::JoinedSamplers)) return whole;
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
  const IsaOperand number = numberOf(f, handle, answer.isOfSampler), bytes = driverWord(f, answer.sizeSymbol);
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
  const bool isUnknown = answer && answer->table == 0; // from sm_100 on
  if ((mask == 0 && !answer) || isUnknown) {
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
