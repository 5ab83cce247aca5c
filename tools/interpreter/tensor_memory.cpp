#include "tools/interpreter/access.h"
#include "tools/interpreter/async.h"
#include "tools/interpreter/handlers.h"
#include "tools/launch/tensor_product.h"

#include <fmt/format.h>

// Tensor memory (tcgen05). Loads, stores and allocations are operations of a warp. Products, copies and commits are
// operations of a thread; they complete immediately, so fences and waits have nothing to do.

namespace orias::interp {

namespace {

using launch::TensorMemory;
using launch::TensorProduct;
using launch::TensorShape;
using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::OperandKind;
using ptx::Slot;
using ptx::StateSpace;
using ptx::Type;

void meetAll(Thread& t, const Inst& i) {
  meetLanes(t, i, ~0u);
}

void check(const std::optional<launch::TensorFault>& fault) {
  if (fault) throw Stop{fault->kind, fault->text};
}

bool isPair(const Form& f) {
  return f.get(Slot::CtaGroup) == Mod::CtaGroup2;
}

std::uint32_t tensorAddress(FunctionTranslator& t, unsigned operand) {
  return sumOf(t, t.address(operand, StateSpace::Shared));
}

// ---- Loads and stores. a: the address; imm: columns from the first half to the second; list: the registers; option:
// the shape; width: not 0 if registers hold two halves; e, detail: destination of the reduction of the loaded values,
// if any

template <bool IsStore> void access(Lanes lanes) {
  for (Thread* t : lanes) {
    const Inst& i = *t->inst;
    const auto address = get<std::uint32_t>(*t, i.a);
    std::vector<std::uint32_t> loaded;
    const auto one = [&](std::uint32_t at, TensorShape shape) {
      for (unsigned k = 0; k < i.list.size(); ++k) {
        if (!launch::tensorPlace(shape, t->lane, k)) continue;
        std::uint32_t value = IsStore ? static_cast<std::uint32_t>(t->r[i.list[k]]) : 0;
        check(t->cta->tensor.access(at, shape, t->warp->index, t->lane, k, i.width != 0, IsStore, value));
        if (IsStore) continue;
        t->r[i.list[k]] = value;
        loaded.push_back(value);
      }
    };
    const auto shape = static_cast<TensorShape>(i.option);
    one(address, shape);
    if (shape == TensorShape::Lower) one(address + static_cast<std::uint32_t>(i.imm), TensorShape::Upper);
    if (i.detail) t->r[i.e] = static_cast<const launch::TensorReduction*>(i.detail)->of(loaded);
  }
}

TensorShape shapeOf(Mod shape) {
  switch (shape) {
  case Mod::Shape16x64b: return TensorShape::Lanes16Bits64;
  case Mod::Shape16x128b: return TensorShape::Lanes16Bits128;
  case Mod::Shape16x256b: return TensorShape::Lanes16Bits256;
  case Mod::Shape16x32bx2: return TensorShape::Lower;
  default: return TensorShape::Lanes32Bits32;
  }
}

launch::TensorReduction reductionOf(const Form& f) {
  using Reduction = launch::TensorReduction;
  Reduction reduction;
  reduction.type = f.type() == Type::F32   ? Reduction::Type::Float
                   : f.type() == Type::S32 ? Reduction::Type::Signed
                                           : Reduction::Type::Unsigned;
  reduction.isMin = f.has(Mod::Min);
  reduction.ofMagnitudes = f.has(Mod::Abs);
  reduction.nanWins = f.has(Mod::NaN);
  return reduction;
}

bool translateAccess(FunctionTranslator& t, bool isStore) {
  const Form& f = t.form();
  const TensorShape shape = shapeOf(f.get(Slot::TmemShape));
  const bool isSplit = shape == TensorShape::Lower, isReduced = f.op == Op::Tcgen05LdRed;
  const unsigned data = isStore ? (isSplit ? 2 : 1) : 0, address = isStore ? 0 : isReduced ? 2 : 1, half = address + 1;
  const std::uint32_t at = tensorAddress(t, address);
  const auto registers = isStore ? t.uses(data, Type::B32) : t.defs(data, Type::B32);
  const auto offset = isSplit ? static_cast<std::int64_t>(t.operand(half).bits()) : 0;
  Inst& inst = t.emit(&meetAll);
  inst.group = isStore ? &access<true> : &access<false>;
  inst.a = at;
  inst.imm = offset;
  inst.list = registers;
  inst.option = static_cast<std::uint16_t>(shape);
  inst.width = f.has(Mod::Pack16b) || f.has(Mod::Unpack16b) ? 1 : 0;
  if (isReduced) {
    inst.e = t.defs(1, Type::B32).front();
    inst.detail = t.keep(reductionOf(f));
  }
  return true;
}

// ---- Allocation. a, option: address for the result; b: columns; for dealloc a is the address

unsigned groupsOf(std::uint32_t columns) {
  if (columns < TensorMemory::kGroupColumns || columns > TensorMemory::kColumns || (columns & (columns - 1)) != 0)
    throw Stop{"tcgen05", fmt::format("{} columns: a power of two from 32 to 512 is expected", columns)};
  return columns / TensorMemory::kGroupColumns;
}

/// The first block of a pair that requests columns allocates for both; the other one takes its share later.
std::optional<unsigned> allocatedForPair(Thread& t, unsigned groups) {
  std::vector<Cta>& ctas = t.cta->cluster->ctas;
  const std::size_t other = t.cta->rank ^ 1u;
  if (other >= ctas.size()) throw Stop{"unsupported", "a pair of blocks in a cluster of one"};
  auto& waiting = t.cta->tensorOfPair;
  if (!waiting.empty()) {
    const unsigned first = waiting.front();
    waiting.erase(waiting.begin());
    return first;
  }
  const auto first = TensorMemory::allocateForPair(t.cta->tensor, ctas[other].tensor, groups);
  if (first) ctas[other].tensorOfPair.push_back(*first);
  return first;
}

void allocate(Lanes lanes) {
  Thread& t = *lanes[0];
  const Inst& i = *t.inst;
  const unsigned groups = groupsOf(get<std::uint32_t>(t, i.b));
  if (t.cta->gaveUpTensor) throw Stop{"trap", "tcgen05.alloc after tcgen05.relinquish_alloc_permit"};
  const auto first = i.width != 0 ? allocatedForPair(t, groups) : t.cta->tensor.allocate(groups);
  if (!first) throw Stop{"deadlock", "no tensor memory is left"};
  t.cta->tensorFirsts |= 1u << *first;
  storeAs<std::uint32_t>(t, static_cast<Space>(i.option), t.r[i.a], *first * TensorMemory::kGroupColumns);
}

void deallocate(Lanes lanes) {
  Thread& t = *lanes[0];
  const Inst& i = *t.inst;
  const unsigned groups = groupsOf(get<std::uint32_t>(t, i.b));
  const unsigned first = launch::tensorColumn(get<std::uint32_t>(t, i.a)) / TensorMemory::kGroupColumns;
  const std::uint32_t bits = ((1u << groups) - 1) << first;
  TensorMemory& memory = t.cta->tensor;
  if ((memory.allocated() & bits) != bits) throw Stop{"trap", "tcgen05.dealloc of columns that are not allocated"};
  if ((t.cta->tensorFirsts >> first & 1) == 0)
    throw Stop{"trap", "tcgen05.dealloc of columns that no tcgen05.alloc returned"};
  memory.setAllocated(memory.allocated() & ~bits);
  t.cta->tensorFirsts &= ~(1u << first);
}

void relinquish(Lanes lanes) {
  lanes[0]->cta->gaveUpTensor = true;
}

bool translateAllocation(FunctionTranslator& t) {
  const Form& f = t.form();
  if (f.op == Op::Tcgen05RelinquishAllocPermit) {
    t.emit(&meetAll).group = &relinquish;
    return true;
  }
  const bool allocates = f.op == Op::Tcgen05Alloc;
  const std::uint32_t columns = t.use(1, Type::U32);
  const std::uint32_t at = allocates ? sumOf(t, t.address(0, f.space())) : t.use(0, Type::B32);
  const Space space = allocates ? t.address(0, f.space()).space : Space::Shared;
  Inst& inst = t.emit(&meetAll);
  inst.group = allocates ? &allocate : &deallocate;
  inst.width = isPair(f) ? 1 : 0;
  inst.a = at;
  inst.b = columns;
  inst.option = static_cast<std::uint16_t>(space);
  return true;
}

// ---- Operations of a thread

launch::TensorSide sideOf(Thread& t, Cta& cta) {
  return {&cta.tensor, [&t, rank = cta.rank](std::uint64_t address, std::span<std::byte> out) {
            load(t, Space::Cluster, inRank(rank, address), out);
            return true;
          }};
}

std::vector<launch::TensorSide> sidesOf(Thread& t, bool isPair) {
  std::vector<Cta>& ctas = t.cta->cluster->ctas;
  if (!isPair) return {sideOf(t, *t.cta)};
  const std::size_t first = t.cta->rank & ~1u;
  if (first + 1 >= ctas.size()) throw Stop{"unsupported", "a pair of blocks in a cluster of one"};
  return {sideOf(t, ctas[first]), sideOf(t, ctas[first + 1])};
}

/// detail: the constant part; list: the slots of the rest, and of the disabled lanes.
void multiplyTensors(Thread& t, const Inst& i) {
  TensorProduct p = *static_cast<const TensorProduct*>(i.detail);
  p.a = t.r[i.list[0]];
  p.b = t.r[i.list[1]];
  p.d = get<std::uint32_t>(t, i.list[2]);
  p.shape = get<std::uint32_t>(t, i.list[3]);
  p.adds = get<bool>(t, i.list[4]);
  p.scaleA = get<std::uint32_t>(t, i.list[5]);
  p.scaleB = get<std::uint32_t>(t, i.list[6]);
  p.zeroColumns = t.r[i.list[7]];
  p.metadata = get<std::uint32_t>(t, i.list[8]);
  constexpr std::size_t kLanes = 9;
  for (std::size_t k = kLanes; k < i.list.size(); ++k)
    p.skippedLanes[k - kLanes] = get<std::uint32_t>(t, i.list[k]);
  check(launch::multiply(p, sidesOf(t, p.isPair)));
}

TensorProduct::Kind kindOf(Mod kind) {
  switch (kind) {
  case Mod::KindI8: return TensorProduct::Kind::Integer;
  case Mod::KindF8f6f4: return TensorProduct::Kind::Narrow;
  case Mod::KindMxf8f6f4: return TensorProduct::Kind::ScaledNarrow;
  case Mod::KindMxf4:
  case Mod::KindMxf4nvf4: return TensorProduct::Kind::Scaled4;
  default: return TensorProduct::Kind::Half;
  }
}

unsigned scaleVectorsOf(const Form& f) {
  if (f.get(Slot::Kind) == Mod::KindMxf8f6f4) return 1;
  const Mod vectors = f.get(Slot::ScaleVector);
  return vectors == Mod::ScaleVec4X || vectors == Mod::Block16 ? 4 : 2;
}

bool translateProduct(FunctionTranslator& t) {
  const Form& f = t.form();
  TensorProduct p;
  p.kind = kindOf(f.get(Slot::Kind));
  p.isPair = isPair(f);
  p.isWeightStationary = f.has(Mod::Ws);
  p.isShifted = f.has(Mod::Ashift);
  p.aIsInTensor = t.operand(1).is(OperandKind::Address);
  const bool hasScales = p.kind == TensorProduct::Kind::ScaledNarrow || p.kind == TensorProduct::Kind::Scaled4;
  const std::uint32_t zero = t.constant(0);
  std::vector<std::uint32_t> list{p.aIsInTensor ? tensorAddress(t, 1) : t.use(1, Type::B64), t.use(2, Type::B64),
                                  tensorAddress(t, 0)};
  unsigned next = 3;
  const std::uint32_t metadata = f.get(Slot::Sparsity) != Mod::None ? tensorAddress(t, next++) : zero;
  list.push_back(t.use(next++, Type::B32));
  std::uint32_t scaleA = zero, scaleB = zero, columns = zero;
  std::vector<std::uint32_t> lanes;
  if (hasScales) {
    p.scaleVectors = scaleVectorsOf(f);
    scaleA = tensorAddress(t, next++);
    scaleB = tensorAddress(t, next++);
  } else if (t.isVector(next)) {
    const auto words = t.uses(next++, Type::B32);
    lanes.assign(words.begin(), words.end());
  }
  const std::uint32_t adds = t.use(next++, Type::Pred);
  if (next < t.operandCount() && p.isWeightStationary)
    columns = t.use(next, Type::B64);
  else if (next < t.operandCount())
    p.scaleOfD = static_cast<unsigned>(t.operand(next).intValue());
  list.insert(list.end(), {adds, scaleA, scaleB, columns, metadata});
  list.insert(list.end(), lanes.begin(), lanes.end());
  const auto kept = t.list(std::move(list));
  Inst& inst = t.emit(&multiplyTensors);
  inst.list = kept;
  inst.detail = t.keep(p);
  return true;
}

/// a: the address; b: the matrix; option: the shape; imm: the format; width: not 0 for a pair.
void copyToTensor(Thread& t, const Inst& i) {
  for (const launch::TensorSide& side : sidesOf(t, i.width != 0))
    check(launch::copyToTensor(get<std::uint32_t>(t, i.a), t.r[i.b], static_cast<launch::TensorCopyShape>(i.option),
                               static_cast<launch::TensorCopyFormat>(i.imm), side));
}

bool translateCopy(FunctionTranslator& t) {
  using Shape = launch::TensorCopyShape;
  const Form& f = t.form();
  using Format = launch::TensorCopyFormat;
  const Format format = f.has(Mod::B4x16P64)   ? Format::FourBits
                        : f.has(Mod::B6x16P32) ? Format::SixBits
                                               : Format::Plain;
  Shape shape = Shape::Rows128Bits256;
  switch (f.get(Slot::TmemShape)) {
  case Mod::Shape4x256b: shape = Shape::Rows4Bits256; break;
  case Mod::Shape128x128b: shape = Shape::Rows128Bits128; break;
  case Mod::Shape64x128b: shape = f.has(Mod::Warpx2_02_13) ? Shape::Rows64Warps02 : Shape::Rows64Warps01; break;
  case Mod::Shape32x128b: shape = Shape::Rows32; break;
  default: break;
  }
  const std::uint32_t to = tensorAddress(t, 0), from = t.use(1, Type::B64);
  Inst& inst = t.emit(&copyToTensor);
  inst.a = to;
  inst.b = from;
  inst.option = static_cast<std::uint16_t>(shape);
  inst.imm = static_cast<std::int64_t>(format);
  inst.width = isPair(f) ? 1 : 0;
  return true;
}

/// a: the address; width: not 0 for a pair.
void shiftRows(Thread& t, const Inst& i) {
  for (const launch::TensorSide& side : sidesOf(t, i.width != 0))
    check(side.memory->shiftRows(get<std::uint32_t>(t, i.a)));
}

bool translateShift(FunctionTranslator& t) {
  const std::uint32_t at = tensorAddress(t, 0);
  Inst& inst = t.emit(&shiftRows);
  inst.a = at;
  inst.width = isPair(t.form()) ? 1 : 0;
  return true;
}

/// a, option: the barrier; b: the mask of blocks with a barrier, if width is not 0.
void commit(Thread& t, const Inst& i) {
  const std::uint64_t barrier = t.r[i.a];
  const auto space = static_cast<Space>(i.option);
  if (i.width == 0) return arriveOnce(t, space, barrier);
  for (const std::uint32_t rank : multicastRanks(t, get<std::uint16_t>(t, i.b)))
    arriveOnce(t, Space::Cluster, inRank(rank, locate(space, barrier).address));
}

bool translateCommit(FunctionTranslator& t) {
  const Form& f = t.form();
  const bool isMulticast = f.get(Slot::Multicast) != Mod::None;
  const Address at = t.address(0, f.space());
  const std::uint32_t barrier = sumOf(t, at), blocks = isMulticast ? t.use(1, Type::B16) : kSink;
  Inst& inst = t.emit(&commit);
  inst.a = barrier;
  inst.b = blocks;
  inst.option = static_cast<std::uint16_t>(at.space);
  inst.width = isMulticast ? 1 : 0;
  return true;
}

} // namespace

bool translateTensorMemory(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::Tcgen05Alloc:
  case Op::Tcgen05Dealloc:
  case Op::Tcgen05RelinquishAllocPermit: return translateAllocation(t);
  case Op::Tcgen05Ld:
  case Op::Tcgen05LdRed: return translateAccess(t, false);
  case Op::Tcgen05St: return translateAccess(t, true);
  case Op::Tcgen05Mma: return translateProduct(t);
  case Op::Tcgen05Cp: return translateCopy(t);
  case Op::Tcgen05Shift: return translateShift(t);
  case Op::Tcgen05Commit: return translateCommit(t);
  case Op::Tcgen05FenceBefore:
  case Op::Tcgen05FenceAfter:
  case Op::Tcgen05WaitLd:
  case Op::Tcgen05WaitSt: t.emit([](Thread&, const Inst&) {}); return true;
  default: return false;
  }
}

} // namespace orias::interp
