// Products of a warp group (HGMMA, QGMMA, IGMMA, BGMMA): each warp has 16 rows of D. They are computed immediately,
// from the current contents of shared memory. D is written when WARPGROUP.DEPBAR waits for their group, the latest time
// that the hardware may choose. Until then its registers hold a NaN. Accesses to these registers and writes to the
// sources of the product are reported. Sums are rounded as those of HMMA (encoder/isa/semantics/README.md).

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/semantics/sparse.h"
#include "support/ieee.h"
#include "tools/launch/matrix_descriptor.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <limits>
#include <string_view>
#include <vector>

namespace orias::emu {

using ieee::Format;
using isa::Mod;
using isa::Op;
using launch::MatrixDescriptor;

namespace {

constexpr unsigned kRows = 16;               ///< per warp
constexpr unsigned kWarps = 4;               ///< per group
constexpr std::uint32_t kNoSum = 0x7fff7fff; ///< in the registers of a sum that is not available yet

/// The operands and accumulator of a product.
struct Arithmetic {
  enum class Kind : std::uint8_t { Float, Integer, Bit } kind = Kind::Float;
  Format a{}, b{}, sum = Format::F32;
  bool aIsSigned = false, bIsSigned = false, saturates = false;
  bool isNegated = false;
  unsigned bits = 16, depth = 16;
  bool isSparse = false;

  /// The stored elements in a row of A.
  unsigned held() const { return isSparse ? depth / 2 : depth; }
  bool sumsAreHalves() const { return kind == Kind::Float && sum == Format::F16; }
};

bool isFromRegisters(Op op) {
  switch (op) {
  case Op::HGMMA_R:
  case Op::QGMMA_R:
  case Op::IGMMA_R:
  case Op::BGMMA_R:
  case Op::HGMMA_SP_R:
  case Op::QGMMA_SP_R:
  case Op::IGMMA_SP_R: return true;
  default: return false;
  }
}

bool isSparse(Op op) {
  switch (op) {
  case Op::HGMMA_SP:
  case Op::HGMMA_SP_R:
  case Op::QGMMA_SP:
  case Op::QGMMA_SP_R:
  case Op::IGMMA_SP:
  case Op::IGMMA_SP_R: return true;
  default: return false;
  }
}

Arithmetic arithmeticOf(const isa::Inst& inst) {
  Arithmetic x;
  const auto mod = [&](Mod m) { return isa::getMod(inst, m); };
  const auto byteFloat = [](unsigned m) { return m != 0 ? Format::E5M2 : Format::E4M3; };
  switch (inst.op) {
  case Op::HGMMA:
  case Op::HGMMA_R:
  case Op::HGMMA_SP:
  case Op::HGMMA_SP_R: {
    constexpr Format kFormats[] = {Format::F16, Format::BF16, Format::TF32, Format::F32};
    x.a = x.b = kFormats[mod(Mod::SrcFmt)];
    if (x.a == Format::TF32) x.bits = 32, x.depth = 8;
    break;
  }
  case Op::QGMMA:
  case Op::QGMMA_R:
  case Op::QGMMA_SP:
  case Op::QGMMA_SP_R:
    x.a = byteFloat(mod(Mod::Type));
    x.b = byteFloat(mod(Mod::Sub));
    x.bits = 8, x.depth = 32;
    break;
  case Op::IGMMA:
  case Op::IGMMA_R:
  case Op::IGMMA_SP:
  case Op::IGMMA_SP_R:
    x.kind = Arithmetic::Kind::Integer;
    x.aIsSigned = mod(Mod::SrcFmt) != 0;
    x.bIsSigned = mod(Mod::DstFmt) != 0;
    x.saturates = mod(Mod::Sat) != 0;
    x.bits = 8, x.depth = 32;
    break;
  default:
    x.kind = Arithmetic::Kind::Bit;
    x.bits = 1, x.depth = 256;
    break;
  }
  x.isSparse = isSparse(inst.op);
  if (x.isSparse) x.depth *= 2;
  if (x.kind == Arithmetic::Kind::Float) {
    if (mod(Mod::DstFmt) == 0) x.sum = Format::F16;
    const bool negatesA =
        isFromRegisters(inst.op) ? (inst.operands[1].flags & isa::Operand::kNeg) != 0 : mod(Mod::Sub3) != 0;
    x.isNegated = negatesA != (mod(Mod::Sub4) != 0);
  }
  return x;
}

/// Elements as numbers with exact products: doubles for floats and for integers.
double numberOf(const Arithmetic& x, bool isA, std::uint32_t bits) {
  switch (x.kind) {
  case Arithmetic::Kind::Float: return ieee::doubleOf(ieee::convert(Format::F64, isA ? x.a : x.b, bits));
  case Arithmetic::Kind::Integer:
    return (isA ? x.aIsSigned : x.bIsSigned) ? static_cast<std::int8_t>(bits) : static_cast<double>(bits);
  case Arithmetic::Kind::Bit: break;
  }
  return bits;
}

/// C plus the sum of products, which is exact for integers.
std::uint32_t added(const Arithmetic& x, double products, std::uint32_t c) {
  if (x.kind == Arithmetic::Kind::Float) {
    const double old = ieee::doubleOf(ieee::convert(Format::F64, x.sum, c));
    const ieee::Bits total = ieee::bitsOf((x.isNegated ? -products : products) + old);
    return static_cast<std::uint32_t>(ieee::isNan(Format::F64, total) ? ieee::canonicalNan(x.sum)
                                                                      : ieee::convert(x.sum, Format::F64, total));
  }
  std::int64_t sum = static_cast<std::int64_t>(products) + static_cast<std::int32_t>(c);
  using Limits = std::numeric_limits<std::int32_t>;
  if (x.saturates) sum = std::clamp<std::int64_t>(sum, Limits::min(), Limits::max());
  return static_cast<std::uint32_t>(sum);
}

/// The location of a row and column of D: lane, register, and which half of it.
struct SumPlace {
  unsigned lane, word, shift;
};
SumPlace placeOfSum(const Arithmetic& x, unsigned row, unsigned column) {
  const unsigned lane = row % 8 * 4 + column % 8 / 2, pair = column / 8 * 2 + row / 8;
  if (x.sumsAreHalves()) return {lane, pair, column % 2 * 16};
  return {lane, pair * 2 + column % 2, 0};
}

/// Likewise for A. A register holds one or several elements, neighbors along the sum.
struct FactorPlace {
  unsigned lane, word, shift;
};
FactorPlace placeOfFactor(const Arithmetic& x, unsigned row, unsigned k) {
  const unsigned packed = 32 / x.bits, group = k / packed;
  return {row % 8 * 4 + group % 4, group / 4 * 2 + row / 8, k % packed * x.bits};
}

/// The addend of a product: the sum of the previous product, if that is in flight.
const std::uint32_t* sumBefore(Warp& warp, std::uint32_t row) {
  for (std::size_t i = warp.products.size(); i-- > 0;)
    if (const PendingProduct& product = warp.products[i]; product.writes(row))
      return product.sum.data() + std::size_t{row - product.first} * kLanes;
  return warp.row(row);
}

} // namespace

void Machine::multiplyGroup(const Operation& op, std::uint32_t lanes) {
  if (lanes != ~0u) return stop("unsupported", "a matrix instruction with inactive lanes");
  if (isReplaying_) return; // the disturbance has been reported
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const auto group = row.slot(isa::SlotId::gsb);
  const bool closesGroup = op.inst.operands[group].imm == 0;
  if (op.inst.operands[0].isZeroReg()) {
    if (closesGroup) endGroupOfProducts();
    return;
  }
  const Arithmetic x = arithmeticOf(op.inst);
  const bool aIsInMemory = !isFromRegisters(op.inst.op);
  const auto slot = [&](isa::SlotId name) { return row.slotIndex(name); };
  const auto operand = [&](int index) -> const isa::Operand& {
    return op.inst.operands[static_cast<std::size_t>(index)];
  };
  const unsigned words = isa::operandWidth(op.inst, static_cast<unsigned>(slot(isa::SlotId::Rd)));
  const unsigned columns = words * 8 / (x.sumsAreHalves() ? 2 : 4);
  const int descriptors = slot(aIsInMemory ? isa::SlotId::URa : isa::SlotId::URb);
  const auto descriptor = [&](unsigned first) {
    return MatrixDescriptor(uniformWord(op, descriptors, first) | std::uint64_t{uniformWord(op, descriptors, first + 1)}
                                                                      << 32);
  };
  // At -O0 ptxas ends a group with a product of matrices at address 0, where a program has no matrix, and does not use
  // the result. What the hardware computes is not known.
  bool isAtNull = aIsInMemory;
  for (unsigned word = 0; word < 4; ++word)
    isAtNull &= uniformWord(op, descriptors, word) == 0;
  if (isAtNull) {
    const Code::Place sum = code_.place(operand(0));
    std::fill_n(warp().row(sum.row), std::size_t{words} * kLanes, kNoSum);
    if (closesGroup) endGroupOfProducts();
    return;
  }
  const MatrixDescriptor fromA = descriptor(0), fromB = descriptor(2);
  if ((aIsInMemory && fromA.baseOffset != 0) || fromB.baseOffset != 0)
    return stop("unsupported", "a matrix descriptor with a base offset");
  const auto loaded = [&](const MatrixDescriptor& from, unsigned at, unsigned k, bool isTransposed) {
    std::uint32_t value = 0;
    readMemory(Space::Shared, inRank(cta_->rank, from.address(at, k, x.bits, isTransposed)), 0,
               std::as_writable_bytes(std::span(&value, 1)).first((x.bits + 7) / 8));
    return x.bits < 8 ? value >> k * x.bits % 8 & ((1u << x.bits) - 1) : value;
  };
  const bool isTransposedA = isa::getMod(op.inst, Mod::Sub) != 0 && x.bits == 16 && aIsInMemory;
  const bool isTransposedB = isa::getMod(op.inst, Mod::Sub2) != 0 && x.bits == 16;

  if (!fromB.holds(x.depth, x.bits, isTransposedB) || (aIsInMemory && !fromA.holds(x.held(), x.bits, isTransposedA)))
    return stop("unsupported", "matrix rows that are longer than the swizzle");

  std::vector<double> a(std::size_t{kRows} * x.held()), b(std::size_t{columns} * x.depth);
  std::vector<unsigned> columnsOfA(a.size()); // positions of its elements
  std::array<std::uint32_t, 32> metadata{};
  unsigned selector = 0;
  if (x.isSparse) {
    const Code::Place places = code_.place(operand(slot(isa::SlotId::Re)));
    for (unsigned lane = 0; lane < 32 && !places.isZero; ++lane)
      metadata[lane] = warp().row(places.row)[lane];
    if (const int index = slot(isa::SlotId::selector); index >= 0) selector = static_cast<unsigned>(operand(index).imm);
  }
  constexpr unsigned kRegistersOfA = 4;
  const unsigned firstRow = warp().index % kWarps * kRows;
  for (unsigned i = 0; i < kRows; ++i)
    for (unsigned k = 0; k < x.held(); ++k) {
      const FactorPlace place = placeOfFactor(x, i, k);
      const unsigned index = place.word * (32 / x.bits) + place.shift / x.bits;
      const auto column =
          x.isSparse ? isa::sparseColumn({x.bits, kRegistersOfA}, metadata, selector, place.lane, index) : k;
      if (!column) return stop("unsupported", "undefined metadata");
      columnsOfA[i * x.held() + k] = *column;
      const std::uint32_t bits =
          aIsInMemory ? loaded(fromA, firstRow + i, k, isTransposedA)
                      : word(op, op.base, place.word, place.lane) >> place.shift & (~0u >> (32 - x.bits));
      a[i * x.held() + k] = numberOf(x, true, bits);
    }
  for (unsigned j = 0; j < columns; ++j)
    for (unsigned k = 0; k < x.depth; ++k)
      b[j * x.depth + k] = numberOf(x, false, loaded(fromB, j, k, isTransposedB));
  if (stopped_) return;

  const Code::Place sums = code_.place(operand(slot(isa::SlotId::Rd))),
                    old = code_.place(operand(slot(isa::SlotId::Rc)));
  const bool isAdded = predicateMask(op, slot(isa::SlotId::UPp)) != 0 && !old.isZero;
  PendingProduct pending;
  pending.at = at_;
  pending.first = sums.row;
  pending.sum.assign(std::size_t{words} * kLanes, 0);
  if (isAdded)
    for (unsigned w = 0; w < words; ++w)
      std::copy_n(sumBefore(warp(), old.row + w), kLanes, pending.sum.begin() + w * kLanes);
  for (unsigned i = 0; i < kRows; ++i)
    for (unsigned j = 0; j < columns; ++j) {
      double products = 0;
      for (unsigned k = 0; k < x.held(); ++k)
        products += a[i * x.held() + k] * b[j * x.depth + columnsOfA[i * x.held() + k]];
      const SumPlace place = placeOfSum(x, i, j);
      const std::uint32_t mask = x.sumsAreHalves() ? 0xffffu : ~0u;
      std::uint32_t& result = pending.sum[place.word * kLanes + place.lane];
      const std::uint32_t before = result >> place.shift & mask;
      result = (result & ~(mask << place.shift)) | added(x, products, before) << place.shift;
    }
  for (unsigned i = 0; i < op.readCount; ++i)
    if (const Read& read = op.reads[i]; read.from == From::Lane) {
      auto& factor = pending.factors.emplace_back();
      factor.first = read.row;
      std::copy_n(warp().row(read.row), kLanes, factor.second.begin());
    }
  beginProduct(std::move(pending));
  if (closesGroup) endGroupOfProducts();
}

void Machine::beginProduct(PendingProduct product) {
  Warp& w = warp();
  const auto words = static_cast<std::uint32_t>(product.sum.size() / kLanes);
  if (!program_.hasProductsUnderWay) {
    std::copy(product.sum.begin(), product.sum.end(), w.row(product.first));
    return;
  }
  for (const auto& [row, values] : product.factors)
    if (product.writes(row)) reportProduct(product, row, true);
  for (const PendingProduct& before : w.products) {
    // Products with the same sum execute in sequence.
    const bool isSameSum = before.first == product.first && before.sum.size() == product.sum.size();
    for (std::uint32_t k = 0; k < words && !isSameSum; ++k)
      if (before.writes(product.first + k)) reportProduct(before, product.first + k, true);
    for (const auto& [row, values] : before.factors)
      if (product.writes(row)) reportProduct(before, row, true);
    for (const auto& [row, values] : product.factors)
      if (before.writes(row)) reportProduct(before, row, false);
  }
  std::fill_n(w.row(product.first), product.sum.size(), kNoSum);
  w.products.push_back(std::move(product));
}

void Machine::endGroupOfProducts() {
  for (PendingProduct& product : warp().products)
    ++product.groupsEnded;
}

/// WARPGROUP.DEPBAR.LE: waits until all but the newest groups have completed.
void Machine::waitForProducts(const Operation& op, std::uint32_t) {
  const int count = isa::desc(op.inst.op).slotIndex(isa::SlotId::count);
  const auto left = static_cast<std::uint32_t>(op.inst.operands[static_cast<std::size_t>(count)].imm);
  Warp& w = warp();
  for (const PendingProduct& product : w.products)
    if (product.groupsEnded > left) std::copy(product.sum.begin(), product.sum.end(), w.row(product.first));
  std::erase_if(w.products, [&](const PendingProduct& product) { return product.groupsEnded > left; });
  // Of two products with the same sum, the younger one may still be in flight.
  for (const PendingProduct& product : w.products)
    std::fill_n(w.row(product.first), product.sum.size(), kNoSum);
}

void Machine::checkProducts(const Operation& op) {
  if (handlerOf(op.inst.op) == &Machine::multiplyGroup) return;
  for (const PendingProduct& product : warp().products) {
    for (unsigned i = 0; i < op.readCount; ++i)
      if (op.reads[i].from == From::Lane && product.writes(op.reads[i].row))
        reportProduct(product, op.reads[i].row, false);
    for (unsigned i = 0; i < op.writeCount; ++i) {
      const Write& write = op.writes[i];
      if (write.to != From::Lane) continue;
      const bool isRead = std::any_of(product.factors.begin(), product.factors.end(),
                                      [&](const auto& factor) { return factor.first == write.row; });
      if (isRead || product.writes(write.row)) reportProduct(product, write.row, true);
    }
  }
}

void Machine::reportProduct(const PendingProduct& product, std::uint32_t row, bool isWrite) {
  finding("wgmma in flight",
          fmt::format("R{} is {} before a wait for {}", row, isWrite ? "written" : "read", program_.text(product.at)));
}

} // namespace orias::emu
