#include "tools/interpreter/access.h"
#include "tools/interpreter/async.h"
#include "tools/interpreter/combine.h"
#include "tools/launch/tensor_map.h"

#include <algorithm>
#include <cstring>

// Copies of boxes of tensors (cp.async.bulk.tensor, cp.reduce.async.bulk.tensor), and changes of tensor maps.
// launch::TensorMap interprets the map. Copies complete immediately.

namespace orias::interp {

namespace {

using launch::TensorMap;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::StateSpace;
using ptx::Type;

/// The first elements of Inst::list: the addresses of the map, of the box in shared memory and of the barrier, and the
/// mask of destination blocks.
enum Slots : std::uint8_t { kMap, kShared, kBarrier, kBlocks, kSlots };

/// Inst::detail.
struct Copy {
  std::span<const std::uint32_t> coordinates, offsets;
  TensorMap::Mode mode = TensorMap::Mode::Box;
  bool loads = false, isMulticast = false, isPair = false;
  Mod action = Mod::None; ///< None: a copy
};

TensorMap readMap(Thread& t, Space space, std::uint64_t address) {
  std::array<std::byte, TensorMap::kBytes> bytes;
  constexpr std::size_t kPiece = 16;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece)
    load(t, space, address + at, std::span(bytes).subspan(at, kPiece));
  return TensorMap::decode(bytes);
}

/// The type in which elements are combined.
Type typeOf(TensorMap::Type type) {
  using From = TensorMap::Type;
  switch (type) {
  case From::U8: return Type::U8;
  case From::U16: return Type::U16;
  case From::S32: return Type::S32;
  case From::U64: return Type::U64;
  case From::S64: return Type::S64;
  case From::F16: return Type::F16;
  case From::BF16: return Type::BF16;
  case From::F64: return Type::F64;
  case From::F32:
  case From::F32Ftz: return Type::F32;
  default: return Type::U32;
  }
}

void copyBox(Thread& t, const Inst& i) {
  const Copy& copy = *static_cast<const Copy*>(i.detail);
  const TensorMap map = readMap(t, Space::Generic, t.r[i.list[kMap]]);
  std::vector<std::int64_t> at;
  for (const std::uint32_t slot : copy.coordinates)
    at.push_back(static_cast<std::int32_t>(t.r[slot]));
  std::vector<unsigned> offsets;
  for (const std::uint32_t slot : copy.offsets)
    offsets.push_back(static_cast<std::uint16_t>(t.r[slot]));
  if (const auto fault = map.fault(copy.mode, at.size(), offsets)) throw Stop{fault->kind, fault->text};
  const auto elements = map.elements(copy.mode, at, offsets, t.r[i.list[kShared]]);
  const std::size_t bytes = map.elementBytes();
  const std::uint64_t barrier = t.r[i.list[kBarrier]];
  std::vector<std::uint32_t> ranks; // of the destination blocks
  if (copy.isMulticast) {
    ranks = multicastRanks(t, get<std::uint16_t>(t, i.list[kBlocks]));
  } else if (copy.loads) {
    if (!copy.isPair) checkSameBlock(t.r[i.list[kShared]], barrier);
    ranks = {static_cast<std::uint32_t>(t.r[i.list[kShared]] >> kRankBit)};
  }
  for (const TensorMap::Element& element : elements) {
    std::uint64_t value = map.outside(), old = 0;
    const auto data = std::as_writable_bytes(std::span(&value, 1)).first(bytes);
    if (copy.loads) {
      if (element.global) load(t, Space::Global, *element.global, data);
      value = element.global ? map.loaded(value) : map.outside();
      for (const std::uint32_t rank : ranks)
        store(t, Space::Cluster, inRank(rank, element.shared), data);
      continue;
    }
    if (!element.global) continue;
    value = 0;
    load(t, Space::Shared, element.shared, data);
    if (copy.action != Mod::None) {
      load(t, Space::Global, *element.global, std::as_writable_bytes(std::span(&old, 1)).first(bytes));
      value = combined(copy.action, typeOf(map.type), old, value);
    }
    store(t, Space::Global, *element.global, data);
  }
  // In a pair, the block that owns the barrier is signaled, regardless of which block gets the box.
  for (const std::uint32_t rank : ranks) {
    const auto hears = copy.isPair ? (rank & ~1u) | (static_cast<std::uint32_t>(barrier >> kRankBit) & 1) : rank;
    bytesCame(t, Space::Cluster, inRank(hears, barrier), bytes * elements.size());
  }
}

TensorMap::Mode modeOf(Mod mode) {
  switch (mode) {
  case Mod::TileGather4:
  case Mod::TileScatter4: return TensorMap::Mode::FourRows;
  case Mod::Im2col:
  case Mod::Im2colNoOffs: return TensorMap::Mode::Image;
  case Mod::Im2colW: return TensorMap::Mode::Width;
  case Mod::Im2colW128: return TensorMap::Mode::Width128;
  default: return TensorMap::Mode::Box;
  }
}

bool translateTensorCopy(FunctionTranslator& t) {
  const Form& f = t.form();
  const Mod mode = f.get(Slot::LoadMode);
  Copy copy;
  copy.mode = modeOf(mode);
  copy.isPair = f.get(Slot::CtaGroup) == Mod::CtaGroup2;
  copy.loads = f.space() == StateSpace::Shared;
  if (f.op == Op::CpReduceAsyncBulkTensor) copy.action = f.action();
  const auto parts = t.function().parts(t.operand(copy.loads ? 1 : 0));
  std::vector<std::uint32_t> slots(kSlots, kSink);
  slots[kMap] = parts[0].is(ptx::OperandKind::Register) ? t.useOf(parts[0], Type::U64)
                                                        : sumOf(t, t.addressOf(parts[0], StateSpace::None));
  std::vector<std::uint32_t> coordinates;
  for (const ptx::Operand& c :
       parts[1].is(ptx::OperandKind::Vector) ? t.function().parts(parts[1]) : std::span(&parts[1], 1))
    coordinates.push_back(t.useOf(c, Type::B32));
  copy.coordinates = t.list(std::move(coordinates));
  slots[kShared] = sumOf(t, t.address(copy.loads ? 0 : 1, StateSpace::Shared));
  if (copy.loads) {
    slots[kBarrier] = sumOf(t, t.address(2, StateSpace::Shared));
    unsigned next = 3;
    if (mode == Mod::Im2col || mode == Mod::Im2colW || mode == Mod::Im2colW128)
      copy.offsets = t.uses(next++, Type::U16);
    copy.isMulticast = f.get(Slot::Multicast) != Mod::None;
    if (copy.isMulticast) slots[kBlocks] = t.use(next, Type::B16);
  }
  const auto list = t.list(std::move(slots));
  Inst& inst = t.emit(&copyBox);
  inst.list = list;
  inst.detail = t.keep(copy);
  return true;
}

// ---- tensormap.replace. a: the map's address (option: its space); b: the value; imm: the dimension

template <typename Change> void changeMap(Thread& t, const Inst& i, Change change) {
  const auto space = static_cast<Space>(i.option);
  TensorMap map = readMap(t, space, t.r[i.a]);
  change(map);
  const auto bytes = map.encode();
  constexpr std::size_t kPiece = 16;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece)
    store(t, space, t.r[i.a] + at, std::span<const std::byte>(bytes).subspan(at, kPiece));
}

template <Mod Field> void replaceField(Thread& t, const Inst& i) {
  const std::uint64_t value = t.r[i.b];
  const auto d = static_cast<std::size_t>(i.imm);
  changeMap(t, i, [&](TensorMap& map) {
    if constexpr (Field == Mod::GlobalAddress) map.address = value;
    if constexpr (Field == Mod::Rank) map.rank = static_cast<unsigned>(value & 7) + 1; // the field is zero-based
    if constexpr (Field == Mod::BoxDim) map.box.at(d) = static_cast<unsigned>(value);
    if constexpr (Field == Mod::GlobalDim) map.size.at(d) = value;
    if constexpr (Field == Mod::GlobalStride) map.stride.at(d) = value;
    if constexpr (Field == Mod::ElementStride) map.elementStride.at(d) = static_cast<unsigned>(value);
    if constexpr (Field == Mod::Elemtype) map.type = static_cast<TensorMap::Type>(value);
    if constexpr (Field == Mod::InterleaveLayout) map.interleave = static_cast<unsigned>(value);
    if constexpr (Field == Mod::SwizzleMode) map.swizzle = static_cast<unsigned>(value);
    if constexpr (Field == Mod::SwizzleAtomicity) map.swizzleAtomicity = static_cast<unsigned>(value);
    if constexpr (Field == Mod::FillMode) map.fillsNan = value != 0;
  });
}

Handler replacement(Mod field) {
  switch (field) {
  case Mod::GlobalAddress: return &replaceField<Mod::GlobalAddress>;
  case Mod::Rank: return &replaceField<Mod::Rank>;
  case Mod::BoxDim: return &replaceField<Mod::BoxDim>;
  case Mod::GlobalDim: return &replaceField<Mod::GlobalDim>;
  case Mod::GlobalStride: return &replaceField<Mod::GlobalStride>;
  case Mod::ElementStride: return &replaceField<Mod::ElementStride>;
  case Mod::Elemtype: return &replaceField<Mod::Elemtype>;
  case Mod::InterleaveLayout: return &replaceField<Mod::InterleaveLayout>;
  case Mod::SwizzleMode: return &replaceField<Mod::SwizzleMode>;
  case Mod::SwizzleAtomicity: return &replaceField<Mod::SwizzleAtomicity>;
  case Mod::FillMode: return &replaceField<Mod::FillMode>;
  default: return nullptr;
  }
}

bool translateReplace(FunctionTranslator& t) {
  const Form& f = t.form();
  const Handler handler = replacement(f.get(Slot::Field));
  if (!handler) return false;
  const bool hasOrdinal = t.operandCount() == 3;
  const Address at = t.address(0, f.space());
  const std::uint32_t map = sumOf(t, at), value = t.use(hasOrdinal ? 2 : 1, f.type(1));
  const std::int64_t ordinal = hasOrdinal ? t.operand(1).intValue() : 0;
  Inst& inst = t.emit(handler);
  inst.a = map;
  inst.b = value;
  inst.imm = ordinal;
  inst.option = static_cast<std::uint16_t>(at.space);
  return true;
}

/// Copies the map from shared to global memory. list: the addresses to and from. Each lane of the warp copies all of
/// it.
void copyMap(Thread& t, const Inst& i) {
  std::array<std::byte, 16> piece;
  for (std::size_t at = 0; at < TensorMap::kBytes; at += piece.size()) {
    load(t, Space::Shared, t.r[i.list[1]] + at, piece);
    store(t, Space::Global, t.r[i.list[0]] + at, piece);
  }
}

bool translateMapCopy(FunctionTranslator& t) {
  const std::uint32_t to = sumOf(t, t.address(0, StateSpace::Global)),
                      from = sumOf(t, t.address(1, StateSpace::Shared));
  const auto slots = t.list({to, from});
  t.emit(&copyMap).list = slots;
  return true;
}

} // namespace

bool translateTensor(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::CpAsyncBulkTensor:
  case Op::CpReduceAsyncBulkTensor: return translateTensorCopy(t);
  case Op::CpAsyncBulkPrefetchTensor: t.emit([](Thread&, const Inst&) {}); return true;
  case Op::TensormapReplace: return translateReplace(t);
  case Op::TensormapCpFenceproxy: return translateMapCopy(t);
  default: return false;
  }
}

} // namespace orias::interp
