// Copies by the copy unit: bulk copies and reductions (UBLKCP, UBLKRED), from uniform registers, once for all lanes;
// and stores and reductions of single values that signal a barrier (STAS, REDAS). All complete immediately. The
// destination and the barrier may be in the shared memory of any CTA of the cluster.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "tools/emulator/reduction.h"

#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace orias::emu {

using isa::Op;

namespace {

constexpr std::uint32_t kUnit = 16;

/// The values of COPY_TYPE in the instruction table.
enum class CopyType : std::uint8_t { U32, S32, U64, S64, F16, F32, F64 = 7, BF16 };

unsigned bytesOf(CopyType type) {
  switch (type) {
  case CopyType::F16:
  case CopyType::BF16: return 2;
  case CopyType::U64:
  case CopyType::S64:
  case CopyType::F64: return 8;
  default: return 4;
  }
}

std::uint64_t combined(isa::AtomOp op, CopyType type, std::uint64_t old, std::uint64_t value) {
  using ieee::Format;
  const unsigned bytes = bytesOf(type);
  // Unlike in atomics, subnormals are kept (observed on an H100).
  const auto floats = [&](Format format) {
    return reduced(op, FloatType{format, bytes * 8, bytes, false}, old, value);
  };
  switch (type) {
  case CopyType::F16: return floats(Format::F16);
  case CopyType::BF16: return floats(Format::BF16);
  case CopyType::F32: return floats(Format::F32);
  case CopyType::F64: return floats(Format::F64);
  case CopyType::S32: return reduced(op, isa::AtomType::S32, old, value);
  case CopyType::U64: return reduced(op, isa::AtomType::U64, old, value);
  case CopyType::S64: return reduced(op, isa::AtomType::S64, old, value);
  case CopyType::U32: break;
  }
  return reduced(op, isa::AtomType::U32, old, value);
}

/// Replaces `bytes` by their reduction with `old`.
void combine(isa::AtomOp op, CopyType type, const std::byte (&old)[kUnit], std::byte (&bytes)[kUnit]) {
  for (unsigned at = 0; at < kUnit; at += bytesOf(type)) {
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, old + at, bytesOf(type));
    std::memcpy(&b, bytes + at, bytesOf(type));
    a = combined(op, type, a, b);
    std::memcpy(bytes + at, &a, bytesOf(type));
  }
}

bool reduces(Op op) {
  return op == Op::UBLKRED_G_S || op == Op::UBLKRED_S_S;
}

} // namespace

std::vector<std::uint32_t> Machine::multicastRanks(std::uint32_t mask) {
  std::vector<std::uint32_t> ranks;
  for (; mask != 0; mask &= mask - 1)
    ranks.push_back(static_cast<std::uint32_t>(std::countr_zero(mask)));
  if (!ranks.empty() && ranks.back() >= ctas_.size())
    stop("memcheck", fmt::format("a copy for CTA {} of a cluster that has {}", ranks.back(), ctas_.size()));
  return ranks;
}

bool Machine::isSameCta(std::uint64_t target, std::uint64_t barrier) {
  if (target >> kRankBit == barrier >> kRankBit) return true;
  stop("memcheck", "the mbarrier is not in the shared memory of the CTA that receives the data");
  return false;
}

void Machine::copyBulk(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const int to = row.slotIndex(isa::SlotId::URb), from = row.slotIndex(isa::SlotId::URa);
  const bool isMasked = op.inst.op == Op::UBLKCP_MASKED;
  const bool toGlobal = isMasked || op.inst.op == Op::UBLKCP_G_S || op.inst.op == Op::UBLKRED_G_S;
  const Space target = toGlobal ? Space::Global : Space::Cluster;
  const Space source = op.inst.op == Op::UBLKCP_S_G ? Space::Global : Space::Shared;
  const std::uint64_t toAddress = toGlobal ? value64(op, to, lane) : word(op, to, 0, lane);
  const std::uint64_t fromAddress = source == Space::Global ? value64(op, from, lane) : word(op, from, 0, lane);
  const std::uint64_t barrier = toGlobal ? 0 : word(op, to, 1, lane);
  // The lower part is the size in units, the upper part the mask of CTAs that get a copy.
  const std::uint32_t size = word(op, row.slotIndex(isa::SlotId::URc), 0, lane);
  const std::uint32_t units = size & 0xffff, ctas = size >> 16;
  const bool isMulticast = op.inst.op == Op::UBLKCP_S_G && isa::getMod(op.inst, isa::Mod::Sub2) != 0;
  if (!toGlobal && !isSameCta(toAddress, barrier)) return;
  const auto copyTo = [&](std::uint64_t where) {
    for (std::uint32_t k = 0; k < units && !stopped_; ++k) {
      std::byte bytes[kUnit], old[kUnit];
      if (!readMemory(source, fromAddress + k * kUnit, lane, bytes)) return;
      if (reduces(op.inst.op)) {
        if (!readMemory(target, where + k * kUnit, lane, old, true)) return;
        combine(isa::modAs<isa::AtomOp>(op.inst, isa::Mod::AtomOp),
                static_cast<CopyType>(isa::getMod(op.inst, isa::Mod::AtomType)), old, bytes);
      }
      if (isMasked) { // the mask of bytes replaces the mask of CTAs
        for (unsigned b = 0; b < kUnit; ++b)
          if ((ctas >> b & 1) != 0) writeMemory(target, where + k * kUnit + b, lane, std::span(bytes).subspan(b, 1));
        continue;
      }
      writeMemory(target, where + k * kUnit, lane, bytes, reduces(op.inst.op));
    }
  };
  if (!isMulticast) {
    copyTo(toAddress);
    if (!toGlobal) bytesCame(barrier, lane, units * kUnit);
    return;
  }
  // The same offsets in each CTA.
  for (const std::uint32_t rank : multicastRanks(ctas)) {
    if (stopped_) return;
    copyTo(inRank(rank, toAddress));
    bytesCame(inRank(rank, barrier), lane, units * kUnit);
  }
}

void Machine::clearShared(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const std::uint64_t to = word(op, row.slotIndex(isa::SlotId::URb), 0, lane) + static_cast<std::uint32_t>(op.offset);
  constexpr std::array<std::byte, 8> kZeros{};
  const std::uint32_t units = word(op, row.slotIndex(isa::SlotId::URc), 0, lane);
  for (std::uint32_t k = 0; k < units && !stopped_; ++k)
    writeMemory(Space::Cluster, to + k * kZeros.size(), lane, kZeros);
}

/// USTGR, UREDGR: one access of global memory for all active lanes.
void Machine::storeUniform(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const isa::InstrDesc& row = isa::desc(op.inst.op);
  const int to = row.slotIndex(isa::SlotId::URa), from = row.slotIndex(isa::SlotId::URb);
  const std::uint64_t address = (word(op, to, 0, lane) | std::uint64_t{word(op, to, 1, lane)} << 32) +
                                static_cast<std::uint64_t>(std::int64_t{op.offset});
  const unsigned words = isa::operandWidth(op.inst, static_cast<unsigned>(from));
  std::uint64_t value = word(op, from, 0, lane) | (words == 2 ? std::uint64_t{word(op, from, 1, lane)} << 32 : 0);
  std::size_t bytes = 4 * words;
  if (op.inst.op == isa::Op::USTGR) {
    const auto size = isa::modAs<isa::MemSize>(op.inst, isa::Mod::Size);
    if (size <= isa::MemSize::S8)
      bytes = 1;
    else if (size <= isa::MemSize::S16)
      bytes = 2;
  } else {
    std::uint64_t old = 0;
    if (!readMemory(Space::Global, address, lane, std::as_writable_bytes(std::span(&old, 1)).first(bytes), true))
      return;
    value += old;
  }
  writeMemory(Space::Global, address, lane, std::as_bytes(std::span(&value, 1)).first(bytes));
}

/// The answer is always that there is no further block: launches here do not take work from blocks that have not begun.
void Machine::askForWork(const Operation& op, std::uint32_t lanes) {
  if (lanes == 0) return;
  const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
  const int at = isa::desc(op.inst.op).slotIndex(isa::SlotId::URb);
  const std::uint32_t to = word(op, at, 0, lane), barrier = word(op, at, 1, lane);
  if (!isSameCta(to, barrier)) return;
  constexpr std::array<std::byte, kUnit> kNone{};
  std::vector<std::uint32_t> ranks{to >> kRankBit};
  if (isa::getMod(op.inst, isa::Mod::Sub) != 0) ranks = multicastRanks(~std::uint32_t{0} >> (32 - ctas_.size()));
  for (const std::uint32_t rank : ranks) {
    if (stopped_) return;
    writeMemory(Space::Cluster, inRank(rank, to), lane, kNone);
    bytesCame(inRank(rank, barrier), lane, kUnit);
  }
}

/// The address pair: the destination and the barrier.
void Machine::storeRemote(const Operation& op, std::uint32_t lanes) {
  const bool isReduction = op.inst.op == Op::REDAS;
  const auto kind = isa::modAs<isa::AtomOp>(op.inst, isa::Mod::AtomOp);
  const auto type = isa::modAs<isa::AtomType>(op.inst, isa::Mod::AtomType);
  const unsigned bytes = !isReduction ? op.size : type == isa::AtomType::U64 ? 8 : 4;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint32_t offset = static_cast<std::uint32_t>(op.offset);
    const std::uint32_t to = word(op, op.base, 0, lane) + offset, barrier = word(op, op.base, 1, lane);
    if (!isSameCta(to, barrier)) return;
    std::uint32_t words[4] = {};
    for (unsigned w = 0; w < bytes / 4; ++w)
      words[w] = word(op, op.data, w, lane);
    const std::span<std::byte> data{reinterpret_cast<std::byte*>(words), bytes};
    if (isReduction) {
      std::uint64_t old = 0, value = 0;
      if (!readMemory(Space::Cluster, to, lane, std::as_writable_bytes(std::span(&old, 1)).first(bytes), true)) return;
      std::memcpy(&value, words, bytes);
      old = reduced(kind, type, old, value);
      std::memcpy(words, &old, bytes);
    }
    writeMemory(Space::Cluster, to, lane, data, isReduction);
    bytesCame(barrier, lane, bytes);
  }
}

} // namespace orias::emu
