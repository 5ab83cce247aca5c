// Tensor memory (LDTM, STTM) and its unit (UTC*): products, copies, barrier signals, and allocation. The unit takes its
// operands from uniform registers, once for all lanes, and completes immediately. launch::TensorProduct defines the
// products and the layout of lanes.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"

#include <bit>

namespace orias::emu {

using isa::Mod;
using isa::Op;
using launch::TensorMemory;
using launch::TensorProduct;

namespace {

bool hasAInTensor(Op op) {
  return op == Op::UTCHMMA_T || op == Op::UTCIMMA_T || op == Op::UTCQMMA_T || op == Op::UTCQMMA_SF_T ||
         op == Op::UTCOMMA_T;
}

TensorProduct::Kind kindOf(Op op) {
  switch (op) {
  case Op::UTCIMMA:
  case Op::UTCIMMA_T: return TensorProduct::Kind::Integer;
  case Op::UTCQMMA:
  case Op::UTCQMMA_T: return TensorProduct::Kind::Narrow;
  case Op::UTCQMMA_SF:
  case Op::UTCQMMA_SF_T: return TensorProduct::Kind::ScaledNarrow;
  case Op::UTCOMMA:
  case Op::UTCOMMA_T: return TensorProduct::Kind::Scaled4;
  default: return TensorProduct::Kind::Half;
  }
}

launch::TensorReduction reductionOf(const isa::Inst& inst) {
  enum { MaxAbs = 1, Min, MinAbs };
  const unsigned function = isa::getMod(inst, Mod::Func);
  launch::TensorReduction reduction;
  reduction.type = static_cast<launch::TensorReduction::Type>(isa::getMod(inst, Mod::Type));
  reduction.isMin = function >= Min;
  reduction.ofMagnitudes = function == MaxAbs || function == MinAbs;
  reduction.nanWins = isa::getMod(inst, Mod::Nan) != 0;
  return reduction;
}

} // namespace

void Machine::reportTensor(const std::optional<launch::TensorFault>& fault) {
  if (fault && !fault->kind.empty()) stop(fault->kind, fault->text);
}

launch::TensorSide Machine::tensorSide(Cta& cta, unsigned lane) {
  return {&cta.tensor, [this, rank = cta.rank, lane](std::uint64_t address, std::span<std::byte> out) {
            return readMemory(Space::Cluster, inRank(rank, address), lane, out);
          }};
}

void Machine::accessTensor(const Operation& op, bool isStore) {
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const auto shape = static_cast<launch::TensorShape>(isa::getMod(op.inst, Mod::Geometry));
  const bool isReduced = op.inst.op == Op::LDTM_STAT;
  const bool isHalf = !isReduced && isa::getMod(op.inst, Mod::Sub) != 0;
  const int data = row.slotIndex(isStore ? isa::SlotId::Rb : isa::SlotId::Rd);
  const unsigned words = isa::operandWidth(op.inst, static_cast<unsigned>(data));
  const int kept = row.slotIndex(isa::SlotId::Rc);
  const bool keeps = kept >= 0 && !op.inst.operands[static_cast<std::size_t>(kept)].isNone();
  const std::uint32_t address =
      uniformWord(op, row.slotIndex(isa::SlotId::URt), 0) + static_cast<std::uint32_t>(op.offset);
  std::vector<std::uint32_t> loaded;
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    loaded.clear();
    for (unsigned w = 0; w < words; ++w) {
      if (!launch::tensorPlace(shape, lane, w)) {
        if (keeps) setWord(op, data, w, lane, word(op, kept, w, lane));
        continue;
      }
      std::uint32_t value = isStore ? word(op, data, w, lane) : 0;
      reportTensor(cta_->tensor.access(address, shape, warp().index, lane, w, isHalf, isStore, value));
      if (stopped_) return;
      if (!isStore) setWord(op, data, w, lane, value);
      loaded.push_back(value);
    }
    if (isReduced && !loaded.empty())
      setWord(op, row.slotIndex(isa::SlotId::Rs), 0, lane, reductionOf(op.inst).of(loaded));
  }
}

void Machine::loadTensor(const Operation& op, std::uint32_t lanes) {
  if (lanes != ~0u) return stop("unsupported", "a load from tensor memory with inactive lanes");
  accessTensor(op, false);
}

void Machine::storeTensor(const Operation& op, std::uint32_t lanes) {
  if (lanes != ~0u) return stop("unsupported", "a store to tensor memory with inactive lanes");
  accessTensor(op, true);
}

void Machine::multiplyTensors(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0 || isReplaying_) return; // the disturbance has been reported
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const auto slot = [&](isa::SlotId name) { return row.slotIndex(name); };
  const auto present = [&](int index) {
    return index >= 0 && !op.inst.operands[static_cast<std::size_t>(index)].isNone();
  };
  const auto wide = [&](int index) {
    return uniformWord(op, index, 0) | std::uint64_t{uniformWord(op, index, 1)} << 32;
  };
  TensorProduct p;
  p.kind = kindOf(op.inst.op);
  p.isPair = isa::getMod(op.inst, Mod::Sub4) != 0;
  p.isWeightStationary = isa::getMod(op.inst, Mod::Sub3) != 0;
  p.aIsInTensor = hasAInTensor(op.inst.op);
  p.isShifted = p.aIsInTensor && row.modIndex(Mod::Wrap) >= 0 && isa::getMod(op.inst, Mod::Wrap) != 0;
  p.a = p.aIsInTensor ? uniformWord(op, slot(isa::SlotId::URa), 0) : wide(slot(isa::SlotId::URa));
  p.b = wide(slot(isa::SlotId::URb));
  p.d = uniformWord(op, slot(isa::SlotId::URd), 0);
  p.metadata = uniformWord(op, slot(isa::SlotId::URi), 0);
  p.shape = uniformWord(op, slot(isa::SlotId::URi), 1);
  p.adds = predicateMask(op, slot(isa::SlotId::UPp)) != 0;
  if (const int scale = slot(isa::SlotId::scale); present(scale))
    p.scaleOfD = static_cast<unsigned>(op.inst.operands[static_cast<std::size_t>(scale)].imm);
  if (const int mask = slot(isa::SlotId::URm); present(mask)) {
    if (p.isWeightStationary)
      p.zeroColumns = wide(mask);
    else
      for (unsigned w = 0; w < (p.isPair ? 8u : 4u); ++w)
        p.skippedLanes[w] = uniformWord(op, mask, w);
  }
  if (const int scales = slot(isa::SlotId::URs); scales >= 0) {
    p.scaleA = uniformWord(op, scales, 0);
    p.scaleB = uniformWord(op, scales, 1);
    enum { FourScales = 2 };
    p.scaleVectors = p.kind == TensorProduct::Kind::ScaledNarrow     ? 1
                     : isa::getMod(op.inst, Mod::Func) == FourScales ? 4
                                                                     : 2;
  }
  std::vector<launch::TensorSide> sides;
  const std::uint32_t first = p.isPair ? cta_->rank & ~1u : cta_->rank;
  if (p.isPair && first + 1 >= ctas_.size())
    return stop("unsupported", "a product of a pair in a cluster of one block");
  for (std::uint32_t rank = first; rank < first + (p.isPair ? 2 : 1); ++rank)
    sides.push_back(tensorSide(ctas_[rank], lane));
  reportTensor(launch::multiply(p, sides));
}

void Machine::copyToTensor(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const std::uint32_t to = uniformWord(op, row.slotIndex(isa::SlotId::URt), 0) + static_cast<std::uint32_t>(op.offset);
  const int from = row.slotIndex(isa::SlotId::URb);
  const std::uint64_t matrix = uniformWord(op, from, 0) | std::uint64_t{uniformWord(op, from, 1)} << 32;
  const auto shape = static_cast<launch::TensorCopyShape>(isa::getMod(op.inst, Mod::Geometry));
  const auto format = static_cast<launch::TensorCopyFormat>(isa::getMod(op.inst, Mod::SrcFmt));
  const bool isPair = isa::getMod(op.inst, Mod::Sub4) != 0;
  const std::uint32_t first = isPair ? cta_->rank & ~1u : cta_->rank;
  for (std::uint32_t rank = first; rank < first + (isPair ? 2 : 1) && rank < ctas_.size() && !stopped_; ++rank)
    reportTensor(launch::copyToTensor(to, matrix, shape, format,
                                      tensorSide(ctas_[rank], static_cast<unsigned>(std::countr_zero(lanes)))));
}

void Machine::shiftTensorRows(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0 || isReplaying_) return; // moved rows would move again
  const int at = isa::desc(op.inst.op).slotIndex(isa::SlotId::URt);
  const std::uint32_t address = uniformWord(op, at, 0) + static_cast<std::uint32_t>(op.offset);
  const bool isPair = isa::getMod(op.inst, Mod::Sub4) != 0;
  const std::uint32_t first = isPair ? cta_->rank & ~1u : cta_->rank;
  if (isPair && first + 1 >= ctas_.size()) return stop("unsupported", "a shift in a pair in a cluster of one block");
  for (std::uint32_t rank = first; rank < first + (isPair ? 2 : 1) && !stopped_; ++rank)
    reportTensor(ctas_[rank].tensor.shiftRows(address));
}

void Machine::commitToBarrier(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0 || isReplaying_) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const std::uint64_t barrier = uniformWord(op, row.slotIndex(isa::SlotId::URb), 0);
  if (op.inst.op == Op::UTCBAR) return arriveOnce(barrier, lane);
  for (const std::uint32_t rank : multicastRanks(uniformWord(op, row.slotIndex(isa::SlotId::URm), 0))) {
    if (stopped_) return;
    arriveOnce(inRank(rank, barrier), lane);
  }
}

void Machine::findColumns(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const bool isPair = isa::getMod(op.inst, Mod::Sub4) != 0;
  const std::uint32_t other = cta_->rank ^ 1u;
  if (isPair && other >= ctas_.size())
    return stop("unsupported", "an allotment of tensor memory to a pair in a cluster of one block");
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const unsigned groups = uniformWord(op, row.slotIndex(isa::SlotId::URb), 0);
  const auto first =
      isPair ? TensorMemory::allocateForPair(cta_->tensor, ctas_[other].tensor, groups) : cta_->tensor.allocate(groups);
  setWord(op, row.slotIndex(isa::SlotId::URd), 0, lane, first.value_or(0));
  setWord(op, 0, 0, lane, first.has_value() ? 1 : 0);
  if (!first) isSwitching_ = givesWay_ = true;
}

void Machine::changeColumns(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  enum { And, Or };
  const std::uint32_t groups = uniformWord(op, isa::desc(op.inst.op).slotIndex(isa::SlotId::URb), 0);
  TensorMemory& memory = cta_->tensor;
  memory.setAllocated(isa::getMod(op.inst, Mod::Sub) == And ? memory.allocated() & groups
                                                            : memory.allocated() | groups);
}

} // namespace orias::emu
