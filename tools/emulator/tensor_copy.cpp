// Copies of boxes of tensors (UTMALDG, UTMASTG, UTMAREDG), from uniform registers, once for all lanes; they complete
// immediately. launch::TensorMap interprets the map.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "tools/emulator/reduction.h"
#include "tools/launch/tensor_map.h"

#include <bit>
#include <vector>

namespace orias::emu {

using isa::Op;
using launch::TensorMap;

namespace {

/// The reduction of two elements of a tensor.
std::uint64_t combined(isa::AtomOp op, TensorMap::Type type, std::uint64_t old, std::uint64_t value) {
  using ieee::Format;
  using From = TensorMap::Type;
  switch (type) {
  case From::F16: return reduced(op, FloatType{Format::F16, 16, 2, false}, old, value);
  case From::BF16: return reduced(op, FloatType{Format::BF16, 16, 2, false}, old, value);
  case From::F64: return reduced(op, FloatType{Format::F64, 64, 8, false}, old, value);
  case From::F32:
  case From::F32Ftz: return reduced(op, FloatType{Format::F32, 32, 4, true}, old, value);
  case From::S32: return reduced(op, isa::AtomType::S32, old, value);
  case From::U64: return reduced(op, isa::AtomType::U64, old, value);
  case From::S64: return reduced(op, isa::AtomType::S64, old, value);
  default: return reduced(op, isa::AtomType::U32, old, value);
  }
}

/// The offsets of an image's pixels are in the low half of a word: one of 16 bits, two of 8, three of 5. Along the
/// width they are wHalo of 11 bits and wOffset of 5.
std::vector<unsigned> offsetsOf(TensorMap::Mode mode, std::uint32_t word, unsigned dimensions) {
  constexpr unsigned kBits[] = {0, 16, 8, 5}, kHaloBits = 11;
  std::vector<unsigned> offsets;
  if (mode == TensorMap::Mode::Width || mode == TensorMap::Mode::Width128)
    return {word & ((1u << kHaloBits) - 1), (word & 0xffff) >> kHaloBits};
  const unsigned count = mode == TensorMap::Mode::Image ? dimensions - 2 : 0;
  for (unsigned i = 0; i < count; ++i)
    offsets.push_back((word & 0xffff) >> (i * kBits[count]) & ((1u << kBits[count]) - 1));
  return offsets;
}

} // namespace

/// The map at an address. In the window of parameters, the kernel's argument.
std::optional<TensorMap> Machine::tensorMap(std::uint64_t address, unsigned lane) {
  std::array<std::byte, TensorMap::kBytes> bytes;
  constexpr std::size_t kPiece = 16;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto piece = std::span(bytes).subspan(at, kPiece);
    if (address - kParameterWindow < kWindowBytes) {
      const std::vector<std::byte>& bank = constants_.bank(0);
      const std::uint64_t first = program_.target->paramBase() + (address - kParameterWindow) + at;
      if (first + kPiece > bank.size()) {
        stop("memcheck", "the tensor map is not in the parameters");
        return std::nullopt;
      }
      std::copy_n(bank.begin() + static_cast<std::ptrdiff_t>(first), kPiece, piece.begin());
    } else if (!readMemory(Space::Generic, address + at, lane, piece)) {
      return std::nullopt;
    }
  }
  return TensorMap::decode(bytes);
}

namespace {

TensorMap::Mode modeOf(const isa::Inst& inst) {
  using Mode = TensorMap::Mode;
  enum { W128 = 2, W, Gather4 }; // Mod::Sub of UTMALDG_FORM
  switch (inst.op) {
  case Op::UTMALDG_GATHER: return (isa::getMod(inst, isa::Mod::Sub3) & 1) != 0 ? Mode::FourRows : Mode::Box;
  case Op::UTMASTG_SCATTER: return Mode::FourRows;
  case Op::UTMALDG_FORM: {
    const int form = isa::getMod(inst, isa::Mod::Sub);
    return form == Gather4 ? Mode::FourRows : form == W ? Mode::Width : Mode::Width128;
  }
  default: return isa::getMod(inst, isa::Mod::Sub) != 0 ? Mode::Image : Mode::Box;
  }
}

/// Whether the barrier may be that of the other CTA of a pair.
bool isOfPair(const isa::Inst& inst) {
  switch (inst.op) {
  case Op::UTMALDG_GATHER: return (isa::getMod(inst, isa::Mod::Sub3) & 2) != 0;
  case Op::UTMALDG_FORM: return isa::getMod(inst, isa::Mod::Sub3) != 0;
  case Op::UTMALDG_PAIR: return true;
  default: return false;
  }
}

} // namespace

void Machine::copyBox(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const bool loads = op.inst.op != Op::UTMASTG && op.inst.op != Op::UTMASTG_SCATTER && op.inst.op != Op::UTMAREDG;
  const bool reduces = op.inst.op == Op::UTMAREDG;
  const int box = row.slotIndex(isa::SlotId::URb), more = row.slotIndex(isa::SlotId::URc);
  const unsigned dimensions = isa::getMod(op.inst, isa::Mod::Geometry) + 1;
  const TensorMap::Mode mode = modeOf(op.inst);
  const bool isPair = isOfPair(op.inst);
  const std::uint32_t extra = more >= 0 ? word(op, more, 0, lane) : 0;
  const bool isMulticast = more >= 0 && isa::getMod(op.inst, isa::Mod::Sub2) != 0;
  const auto map = tensorMap(value64(op, row.slotIndex(isa::SlotId::URa), lane), lane);
  if (!map) return;
  const unsigned first = loads ? 2 : 1;
  std::vector<std::int64_t> at;
  for (unsigned d = 0; d < (mode == TensorMap::Mode::FourRows ? 5 : dimensions); ++d)
    at.push_back(static_cast<std::int32_t>(word(op, box, first + d, lane)));
  const std::vector<unsigned> offsets =
      loads && more >= 0 ? offsetsOf(mode, extra, dimensions) : std::vector<unsigned>{};
  if (const auto fault = map->fault(mode, at.size(), offsets)) return stop(fault->kind, fault->text);
  const auto elements = map->elements(mode, at, offsets, word(op, box, 0, lane));
  const std::size_t bytes = map->elementBytes();
  const std::uint64_t barrier = loads ? word(op, box, 1, lane) : 0;
  std::vector<std::uint32_t> ranks; // of the destination CTAs
  if (isMulticast)
    ranks = multicastRanks(extra >> 16);
  else if (loads && (isPair || isSameCta(word(op, box, 0, lane), barrier)))
    ranks = {word(op, box, 0, lane) >> kRankBit};
  for (const TensorMap::Element& element : elements) {
    if (stopped_) return;
    std::uint64_t value = 0, old = 0;
    const auto data = std::as_writable_bytes(std::span(&value, 1)).first(bytes);
    if (loads) {
      if (element.global && !readMemory(Space::Global, *element.global, lane, data)) return;
      value = element.global ? map->loaded(value) : map->outside();
      for (const std::uint32_t rank : ranks)
        writeMemory(Space::Cluster, inRank(rank, element.shared), lane, data);
    } else if (element.global) {
      if (!readMemory(Space::Shared, element.shared, lane, data)) return;
      if (reduces) {
        const auto before = std::as_writable_bytes(std::span(&old, 1)).first(bytes);
        if (!readMemory(Space::Global, *element.global, lane, before, true)) return;
        value = combined(isa::modAs<isa::AtomOp>(op.inst, isa::Mod::AtomOp), map->type, old, value);
      }
      writeMemory(Space::Global, *element.global, lane, data, reduces);
    }
  }
  // In a pair, the CTA that owns the barrier is signaled, regardless of which CTA gets the box.
  for (const std::uint32_t rank : ranks) {
    const auto hears = isPair ? (rank & ~1u) | (static_cast<std::uint32_t>(barrier >> kRankBit) & 1) : rank;
    if (!stopped_) bytesCame(inRank(hears, barrier), lane, static_cast<std::uint32_t>(bytes * elements.size()));
  }
}

} // namespace orias::emu
