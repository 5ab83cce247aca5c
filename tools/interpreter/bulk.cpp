#include "tools/interpreter/access.h"
#include "tools/interpreter/async.h"
#include "tools/interpreter/combine.h"
#include "tools/interpreter/handlers.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

// Bulk copies and reductions (cp.async.bulk, cp.reduce.async.bulk), and stores and reductions of single values in
// shared memory (st.async, red.async). All complete immediately and signal their bytes to barriers. The destination and
// the barrier may be in any block of the cluster.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Slot;
using ptx::StateSpace;
using ptx::Type;

/// Inst::list has the destination, the source, the number of bytes, and the mask of destination blocks; Inst::a is the
/// address of the barrier.
struct Bulk {
  Space to = Space::Cluster, from = Space::Global;
  bool hasBarrier = false, isMulticast = false;
  bool isMasked = false;  ///< the last element of the list is then the mask of bytes in each 16
  Mod action = Mod::None; ///< None: a copy
  Type type = Type::U32;  ///< of reduced elements
};

constexpr std::uint32_t kUnit = 16;

void copyTo(Thread& t, const Bulk& bulk, std::uint64_t to, std::uint64_t from, std::uint32_t size,
            std::uint32_t mask = 0) {
  for (std::uint32_t k = 0; k < size; k += kUnit) {
    std::array<std::byte, kUnit> bytes, old;
    load(t, bulk.from, from + k, bytes);
    if (bulk.action != Mod::None) {
      load(t, bulk.to, to + k, old);
      const std::size_t each = bitWidth(bulk.type) / 8;
      for (std::size_t at = 0; at < kUnit; at += each) {
        std::uint64_t a = 0, b = 0;
        std::memcpy(&a, old.data() + at, each);
        std::memcpy(&b, bytes.data() + at, each);
        // Unlike atomics, bulk reductions keep subnormals (observed on an H100).
        a = combined(bulk.action, bulk.type, a, b, Subnormals::Kept);
        std::memcpy(bytes.data() + at, &a, each);
      }
    }
    if (bulk.isMasked) {
      for (unsigned b = 0; b < kUnit; ++b)
        if ((mask >> b & 1) != 0) store(t, bulk.to, to + k + b, std::span(bytes).subspan(b, 1));
      continue;
    }
    store(t, bulk.to, to + k, bytes);
  }
}

void copyBulk(Thread& t, const Inst& i) {
  const auto& bulk = *static_cast<const Bulk*>(i.detail);
  const std::uint64_t to = t.r[i.list[0]], from = t.r[i.list[1]], barrier = t.r[i.a];
  const auto size = get<std::uint32_t>(t, i.list[2]);
  if (size % kUnit != 0)
    throw Stop{"memcheck", fmt::format("a bulk copy of {} bytes, which is not a multiple of 16", size)};
  if (bulk.hasBarrier) checkSameBlock(to, barrier);
  if (!bulk.isMulticast) {
    copyTo(t, bulk, to, from, size, bulk.isMasked ? get<std::uint16_t>(t, i.list[3]) : 0);
    if (bulk.hasBarrier) bytesCame(t, Space::Cluster, barrier, size);
    return;
  }
  // The same offsets in each block.
  for (const std::uint32_t rank : multicastRanks(t, get<std::uint16_t>(t, i.list[3]))) {
    copyTo(t, bulk, inRank(rank, to), from, size);
    bytesCame(t, Space::Cluster, inRank(rank, barrier), size);
  }
}

bool translateCopy(FunctionTranslator& t) {
  const Form& f = t.form();
  Bulk bulk;
  bulk.to = f.space() == StateSpace::Shared ? Space::Cluster : Space::Global;
  bulk.from = f.space2() == StateSpace::Shared ? Space::Shared : Space::Global;
  bulk.hasBarrier = f.space() == StateSpace::Shared;
  if (f.op == Op::CpReduceAsyncBulk) {
    bulk.action = f.action();
    bulk.type = f.type();
  }
  const std::uint32_t to = sumOf(t, t.address(0, f.space())), from = sumOf(t, t.address(1, f.space2()));
  const std::uint32_t size = t.use(2, Type::U32);
  const std::uint32_t barrier = bulk.hasBarrier ? sumOf(t, t.address(3, StateSpace::Shared)) : kSink;
  bulk.isMulticast = f.get(Slot::Multicast) != Mod::None;
  bulk.isMasked = f.has(Mod::CpMask);
  const std::uint32_t blocks = bulk.isMulticast ? t.use(4, Type::B16)
                               : bulk.isMasked  ? t.use(t.operandCount() - 1, Type::B16)
                                                : kSink;
  const auto slots = t.list({to, from, size, blocks});
  Inst& inst = t.emit(&copyBulk);
  inst.list = slots;
  inst.a = barrier;
  inst.detail = t.keep(bulk);
  return true;
}

// ---- Single values. a: destination, a generic or shared address (option); b: the barrier; list: the values

struct Remote {
  Mod action = Mod::None;
  Type type = Type::B32;
};

void writeRemote(Thread& t, const Inst& i) {
  const auto& remote = *static_cast<const Remote*>(i.detail);
  const std::size_t each = bitWidth(remote.type) / 8;
  const auto space = static_cast<Space>(i.option);
  std::uint64_t at = t.r[i.a];
  const Location place = locate(space, at);
  if (place.space != Space::Shared && place.space != Space::Cluster)
    throw Stop{"memcheck", "an address outside the shared memory of the cluster"};
  const std::uint64_t barrier = locate(space, t.r[i.b]).address;
  checkSameBlock(place.address, barrier);
  for (const std::uint32_t slot : i.list) {
    std::uint64_t value = t.r[slot];
    if (remote.action != Mod::None) {
      std::uint64_t old = 0;
      load(t, space, at, std::as_writable_bytes(std::span(&old, 1)).first(each));
      value = combined(remote.action, remote.type, old, value);
    }
    store(t, space, at, std::as_bytes(std::span(&value, 1)).first(each));
    at += each;
  }
  bytesCame(t, Space::Cluster, barrier, each * i.list.size());
}

bool translateRemote(FunctionTranslator& t) {
  const Form& f = t.form();
  // The others are for global memory.
  if (f.get(Slot::Completion) == Mod::None || t.operandCount() != 3) return false;
  Remote remote;
  remote.type = f.type();
  if (f.op == Op::RedAsync) remote.action = f.action();
  const Address to = t.address(0, f.space());
  const std::uint32_t at = sumOf(t, to), barrier = sumOf(t, t.address(2, f.space()));
  const auto values = t.uses(1, f.type());
  Inst& inst = t.emit(&writeRemote);
  inst.a = at;
  inst.option = static_cast<std::uint16_t>(to.space);
  inst.b = barrier;
  inst.list = values;
  inst.detail = t.keep(remote);
  return true;
}

void nothing(Thread&, const Inst&) {}

// ---- st.bulk. a: destination (option: its space); b: number of bytes

void clear(Thread& t, const Inst& i) {
  constexpr std::array<std::byte, 8> kZeros{};
  const std::uint64_t size = t.r[i.b];
  if (size % kZeros.size() != 0)
    throw Stop{"memcheck", fmt::format("st.bulk of {} bytes, which is not a multiple of 8", size)};
  for (std::uint64_t at = 0; at < size; at += kZeros.size())
    store(t, static_cast<Space>(i.option), t.r[i.a] + at, kZeros);
}

bool translateClear(FunctionTranslator& t) {
  const Address to = t.address(0, t.form().space());
  const std::uint32_t at = sumOf(t, to), size = t.use(1, Type::U64);
  Inst& inst = t.emit(&clear);
  inst.a = at;
  inst.b = size;
  inst.option = static_cast<std::uint16_t>(to.space);
  return true;
}

// ---- clusterlaunchcontrol. The answer is always that there is no further block: a launch does not take work from
// blocks that have not begun.

/// a: address for the answer; b: the barrier (option: their space); imm: all blocks of the cluster get it
void askForWork(Thread& t, const Inst& i) {
  constexpr std::array<std::byte, kUnit> kNone{};
  const auto space = static_cast<Space>(i.option);
  const std::uint64_t to = locate(space, t.r[i.a]).address, barrier = locate(space, t.r[i.b]).address;
  checkSameBlock(to, barrier);
  const auto blocks = static_cast<std::uint32_t>(i.imm != 0 ? t.cta->cluster->ctas.size() : 1);
  for (std::uint32_t k = 0; k < blocks; ++k) {
    const std::uint32_t rank = i.imm != 0 ? k : static_cast<std::uint32_t>(to >> kRankBit);
    store(t, Space::Cluster, inRank(rank, to), kNone);
    bytesCame(t, Space::Cluster, inRank(rank, barrier), kUnit);
  }
}

bool translateAsk(FunctionTranslator& t) {
  const Address to = t.address(0, t.form().space());
  const std::uint32_t at = sumOf(t, to), barrier = sumOf(t, t.address(1, t.form().space()));
  Inst& inst = t.emit(&askForWork);
  inst.a = at;
  inst.b = barrier;
  inst.option = static_cast<std::uint16_t>(to.space);
  inst.imm = t.form().get(Slot::Multicast) != Mod::None;
  return true;
}

/// a: 64 bits of the answer; imm: first bit; option: number of bits
void partOfAnswer(Thread& t, const Inst& i) {
  t.r[i.d] = t.r[i.a] >> i.imm & ((std::uint64_t{1} << i.option) - 1);
}

bool translateAnswer(FunctionTranslator& t) {
  const auto answer = t.uses(1, Type::B128);
  const auto part = [&](std::uint32_t d, unsigned word, unsigned bit, unsigned bits) {
    Inst& inst = t.emit(&partOfAnswer);
    inst.d = d;
    inst.a = answer[word];
    inst.imm = bit;
    inst.option = static_cast<std::uint16_t>(bits);
  };
  switch (t.form().get(Slot::Query)) {
  case Mod::IsCanceled: part(t.def(0), 1, 0, 1); return true;
  case Mod::FirstCtaidX: part(t.def(0), 0, 0, 32); return true;
  case Mod::FirstCtaidY: part(t.def(0), 0, 32, 16); return true;
  case Mod::FirstCtaidZ: part(t.def(0), 0, 48, 16); return true;
  default: break;
  }
  const auto to = t.defs(0, Type::B32);
  if (to.size() != 4) return false;
  part(to[0], 0, 0, 32);
  part(to[1], 0, 32, 16);
  part(to[2], 0, 48, 16);
  part(to[3], 1, 63, 0);
  return true;
}

} // namespace

std::vector<std::uint32_t> multicastRanks(const Thread& t, std::uint16_t mask) {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1)
    ranks.push_back(static_cast<std::uint32_t>(std::countr_zero(rest)));
  const std::size_t blocks = t.cta->cluster->ctas.size();
  if (!ranks.empty() && ranks.back() >= blocks)
    throw Stop{"memcheck", fmt::format("a copy for block {} of a cluster that has {}", ranks.back(), blocks)};
  return ranks;
}

void checkSameBlock(std::uint64_t data, std::uint64_t barrier) {
  if (data >> kRankBit == (barrier & 0xffffffff) >> kRankBit) return;
  throw Stop{"memcheck", "the mbarrier is not in the shared memory of the block that receives the data"};
}

bool translateBulk(FunctionTranslator& t) {
  switch (t.form().op) {
  case Op::StBulk: return translateClear(t);
  case Op::ClusterlaunchcontrolTryCancel: return translateAsk(t);
  case Op::ClusterlaunchcontrolQueryCancel: return translateAnswer(t);
  case Op::CpAsyncBulk:
  case Op::CpReduceAsyncBulk: return translateCopy(t);
  case Op::StAsync:
  case Op::RedAsync: return translateRemote(t);
  case Op::CpAsyncBulkPrefetch:
  case Op::CpAsyncBulkCommitGroup:
  case Op::CpAsyncBulkWaitGroup: t.emit(&nothing); return true;
  default: return false;
  }
}

} // namespace orias::interp
