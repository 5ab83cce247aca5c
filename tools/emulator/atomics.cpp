// Atomic operations. Lanes execute in ascending order, which is one of the orders that the hardware may choose.

#include "tools/emulator/machine.h"

#include "encoder/isa/desc.h"
#include "tools/emulator/reduction.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

using isa::AtomFloat;
using isa::AtomOp;
using isa::AtomType;
using isa::Op;

namespace {

unsigned bytesOf(AtomType type) {
  switch (type) {
  case AtomType::U64:
  case AtomType::S64: return 8;
  case AtomType::U128: return 16;
  default: return 4;
  }
}

FloatType floatTypeOf(AtomFloat type) {
  using ieee::Format;
  switch (type) {
  case AtomFloat::F16x2: return {Format::F16, 16, 4, false};
  case AtomFloat::F16x4: return {Format::F16, 16, 8, false};
  case AtomFloat::F16x8: return {Format::F16, 16, 16, false};
  case AtomFloat::BF16x2: return {Format::BF16, 16, 4, false};
  case AtomFloat::BF16x4: return {Format::BF16, 16, 8, false};
  case AtomFloat::BF16x8: return {Format::BF16, 16, 16, false};
  case AtomFloat::F32Ftz: return {Format::F32, 32, 4, true};
  case AtomFloat::F32x2Ftz: return {Format::F32, 32, 8, true};
  case AtomFloat::F32x4Ftz: return {Format::F32, 32, 16, true};
  case AtomFloat::F32: return {Format::F32, 32, 4, false};
  case AtomFloat::F32x2: return {Format::F32, 32, 8, false};
  case AtomFloat::F32x4: return {Format::F32, 32, 16, false};
  case AtomFloat::F64: return {Format::F64, 64, 8, false};
  default: return {Format::F32, 32, 4, false}; // bytes exist only in LDGMC
  }
}

} // namespace

std::uint64_t reduced(AtomOp op, AtomType type, std::uint64_t old, std::uint64_t value) {
  const bool isSigned = type == AtomType::S32 || type == AtomType::S64;
  const bool isNarrow = bytesOf(type) == 4;
  const auto asSigned = [&](std::uint64_t v) {
    return isNarrow ? std::int64_t{static_cast<std::int32_t>(v)} : static_cast<std::int64_t>(v);
  };
  const bool isLess = isSigned ? asSigned(value) < asSigned(old) : value < old;
  switch (op) {
  case AtomOp::ADD: return old + value;
  case AtomOp::MIN: return isLess ? value : old;
  case AtomOp::MAX: return isLess ? old : value;
  case AtomOp::INC: return old >= value ? 0 : old + 1;
  case AtomOp::DEC: return old == 0 || old > value ? value : old - 1;
  case AtomOp::AND: return old & value;
  case AtomOp::OR: return old | value;
  case AtomOp::XOR: return old ^ value;
  case AtomOp::EXCH: return value;
  }
  return old;
}

ieee::Bits reduced(AtomOp op, const FloatType& type, ieee::Bits old, ieee::Bits value) {
  if (type.flushes) {
    old = ieee::flush(type.format, old);
    value = ieee::flush(type.format, value);
  }
  ieee::Bits result = 0;
  switch (op) {
  case AtomOp::MIN: result = ieee::minimum(type.format, old, value); break;
  case AtomOp::MAX: result = ieee::maximum(type.format, old, value); break;
  default: result = ieee::add(type.format, old, value); break;
  }
  return type.flushes ? ieee::flush(type.format, result) : result;
}

/// Generic atomics perform the operations that the memory itself supports, and return a predicate that tells whether
/// they did. Shared memory has no 64-bit or floating-point additions, local memory has only 32-bit operations. The
/// shared memory of another CTA supports all but floating-point operations, judging by ptxas' code, which has a path
/// after QSPC.D only for those.
bool Machine::canDoAtomic(Space space, std::uint64_t address, bool isInSharedMemory, bool isFloat,
                          unsigned bytes) const {
  if (space != Space::Generic || (bytes == 4 && isInSharedMemory)) return true;
  const Space at = spaceOfGeneric(address);
  if (at == Space::Cluster && (address - kSharedWindow) >> kRankBit != cta_->rank) return !isFloat;
  return at == Space::Global || ((at == Space::Shared || at == Space::Cluster) && isInSharedMemory);
}

void Machine::atomic(const Operation& op, std::uint32_t lanes) {
  const Space space = spaceOf(op.inst.op);
  const auto kind = isa::modAs<AtomOp>(op.inst, isa::Mod::AtomOp);
  const auto type = isa::modAs<AtomType>(op.inst, isa::Mod::AtomType);
  const unsigned bytes = bytesOf(type), words = bytes / 4;
  if (bytes > 8 && kind != AtomOp::EXCH) return stop("unsupported", "a 128-bit atomic operation");
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    forTargets(space, addressOf(op, lane), [&](std::uint64_t address) {
      const bool can = canDoAtomic(space, address, bytes == 4 || kind == AtomOp::EXCH, false, bytes);
      std::uint32_t old[4] = {}, fresh[4] = {};
      if (can && readMemory(space, address, lane, {reinterpret_cast<std::byte*>(old), bytes}, true)) {
        if (bytes > 8) {
          for (unsigned w = 0; w < words; ++w)
            fresh[w] = word(op, op.data, w, lane);
        } else {
          std::uint64_t before = old[0] | std::uint64_t{old[1]} << 32;
          const std::uint64_t value = bytes == 4 ? word(op, op.data, 0, lane) : value64(op, op.data, lane);
          before = reduced(kind, type, before, value);
          fresh[0] = static_cast<std::uint32_t>(before);
          fresh[1] = static_cast<std::uint32_t>(before >> 32);
        }
        writeMemory(space, address, lane, {reinterpret_cast<const std::byte*>(fresh), bytes}, true);
      }
      setAtomicResult(op, lane, can, {old, words});
    });
  }
}

/// Compare and swap. CAST returns 1 if it swapped, instead of the old value; on sm_100 in a predicate.
void Machine::atomicSwap(const Operation& op, std::uint32_t lanes) {
  enum { Cas, Cast, Unknown, CastSpin };
  const Space space = spaceOf(op.inst.op);
  const unsigned bytes = bytesOf(isa::modAs<AtomType>(op.inst, isa::Mod::AtomType)), words = bytes / 4;
  const bool answers = isa::getMod(op.inst, isa::Mod::Sub) != Cas;
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t address = addressOf(op, lane);
    const bool can = canDoAtomic(space, address, true, false, bytes);
    std::uint32_t old[4] = {}, fresh[4] = {};
    bool isSame = true;
    if (can && readMemory(space, address, lane, {reinterpret_cast<std::byte*>(old), bytes}, true)) {
      for (unsigned w = 0; w < words; ++w) {
        isSame &= old[w] == word(op, op.data, w, lane);
        fresh[w] = word(op, op.data2, w, lane);
      }
      if (isSame) writeMemory(space, address, lane, {reinterpret_cast<const std::byte*>(fresh), bytes}, true);
    }
    if (op.inst.op == isa::Op::ATOMS_CAS_P) {
      constexpr int kSwapped = 0; // the slot
      setWord(op, kSwapped, 0, lane, isSame ? 1 : 0);
      continue;
    }
    if (answers) {
      std::fill_n(old, 4, 0);
      old[0] = isSame ? 1 : 0;
    }
    setAtomicResult(op, lane, can, {old, words});
  }
}

void Machine::atomicFloat(const Operation& op, std::uint32_t lanes) {
  const Space space = spaceOf(op.inst.op);
  const auto kind = isa::modAs<AtomOp>(op.inst, isa::Mod::AtomOp);
  const FloatType type = floatTypeOf(isa::modAs<AtomFloat>(op.inst, isa::Mod::AtomFloat));
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    forTargets(space, addressOf(op, lane), [&](std::uint64_t address) {
      const bool can = canDoAtomic(space, address, false, true, type.bytes);
      std::uint32_t old[4] = {}, fresh[4] = {}, value[4] = {};
      if (can && readMemory(space, address, lane, {reinterpret_cast<std::byte*>(old), type.bytes}, true)) {
        for (unsigned w = 0; w < type.bytes / 4; ++w)
          value[w] = word(op, op.data, w, lane);
        for (unsigned bit = 0; bit < 8 * type.bytes; bit += type.bits) {
          const auto element = [&](const std::uint32_t* words) {
            if (type.bits == 64) return words[bit / 32] | std::uint64_t{words[bit / 32 + 1]} << 32;
            const std::uint32_t mask = type.bits == 32 ? ~0u : 0xffffu;
            return std::uint64_t{words[bit / 32] >> bit % 32 & mask};
          };
          const ieee::Bits result = reduced(kind, type, element(old), element(value));
          fresh[bit / 32] |= static_cast<std::uint32_t>(result) << bit % 32;
          if (type.bits == 64) fresh[bit / 32 + 1] = static_cast<std::uint32_t>(result >> 32);
        }
        writeMemory(space, address, lane, {reinterpret_cast<const std::byte*>(fresh), type.bytes}, true);
      }
      setAtomicResult(op, lane, can, {old, type.bytes / 4});
    });
  }
}

/// ATOMS.POPC.INC: adds one for each active lane.
void Machine::atomicCount(const Operation& op, std::uint32_t lanes) {
  for (std::uint32_t rest = lanes; rest != 0 && !stopped_; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const std::uint64_t address = addressOf(op, lane);
    std::uint32_t old = 0;
    if (!readMemory(Space::Shared, address, lane, std::as_writable_bytes(std::span(&old, 1)), true)) continue;
    const std::uint32_t fresh = old + 1;
    writeMemory(Space::Shared, address, lane, std::as_bytes(std::span(&fresh, 1)), true);
    setWord(op, op.result, 0, lane, old);
  }
}

void Machine::setAtomicResult(const Operation& op, unsigned lane, bool wasDone, std::span<const std::uint32_t> old) {
  if (const int done = isa::desc(op.inst.op).slotIndex(isa::SlotId::Pu); done >= 0)
    setWord(op, done, 0, lane, wasDone ? 1 : 0);
  if (!wasDone) return;
  for (unsigned w = 0; w < old.size(); ++w)
    setWord(op, op.result, w, lane, old[w]);
}

} // namespace orias::emu
