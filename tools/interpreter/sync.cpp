#include "tools/interpreter/handlers.h"

#include <fmt/format.h>

#include <algorithm>

// Waits: of lanes of a warp for each other, of warps of a block for each other (bar, barrier); and fences, which do
// nothing because every access takes effect immediately.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;

void wait(Thread& t, const Inst& i, Wait what) {
  t.state = ThreadState::Waiting;
  t.wait = what;
  t.inst = &i;
}

void release(Thread& t) {
  t.state = ThreadState::Ready;
  t.wait = Wait::None;
  t.inst = nullptr;
}

ptx::OpcodeId opcodeOf(const Thread& t) {
  return t.frames.back().code->function->instructions[t.inst->origin].opcode;
}

/// The lanes that wait together with `t`: the same opcode and mask.
std::uint32_t partners(const Thread& t) {
  std::uint32_t found = 0;
  for (const Thread* other : t.warp->lanes)
    if (other && other->state == ThreadState::Waiting && other->wait == Wait::Lanes && other->waitMask == t.waitMask &&
        opcodeOf(*other) == opcodeOf(t))
      found |= 1u << other->lane;
  return found;
}

void runGroup(Warp& warp, std::uint32_t members) {
  std::array<Thread*, 32> lanes{};
  GroupHandler group = nullptr;
  for (unsigned k = 0; k < 32; ++k)
    if (members >> k & 1) {
      lanes[k] = warp.lanes[k];
      group = lanes[k]->inst->group;
    }
  if (group) group(lanes);
  for (Thread* t : lanes)
    if (t) release(*t);
}

/// Runs the group that waits with `t` if it is complete.
bool tryGroup(Thread& t) {
  const std::uint32_t present = partners(t);
  if ((t.waitMask & t.warp->live & ~present) != 0) return false;
  runGroup(*t.warp, present & t.waitMask);
  return true;
}

} // namespace

void meetLanes(Thread& t, const Inst& i, std::uint32_t mask) {
  if (!(mask >> t.lane & 1))
    throw Stop{"membermask", fmt::format("the executing lane {} is not in the mask {:#x}", t.lane, mask)};
  wait(t, i, Wait::Lanes);
  t.waitMask = mask;
  tryGroup(t);
}

void checkLanes(Warp& warp) {
  for (Thread* t : warp.lanes)
    if (t && t->state == ThreadState::Waiting && t->wait == Wait::Lanes) tryGroup(*t);
}

bool releaseGathered(Warp& warp) {
  std::uint32_t gathered = 0;
  const Inst* at = nullptr;
  for (Thread* t : warp.lanes)
    if (t && t->state == ThreadState::Waiting && t->wait == Wait::Gather) {
      if (!at) at = t->inst;
      if (t->inst == at) gathered |= 1u << t->lane;
    }
  if (gathered == 0) return false;
  runGroup(warp, gathered);
  return true;
}

void gatherLanes(Thread& t, const Inst& i) {
  wait(t, i, Wait::Gather);
}

// ---- Barriers of the block

namespace {

/// The kind of an arrival. option of the instruction.
enum Arrival : std::uint16_t { kSync, kArrive, kRedPopc, kRedAnd, kRedOr };

/// The result of a reduction over the threads that wait.
void reduce(const std::vector<Thread*>& waiting) {
  std::uint32_t count = 0;
  std::uint32_t all = 0;
  for (const Thread* t : waiting)
    if (t->inst->option >= kRedPopc) {
      ++all;
      count += get<bool>(*t, t->inst->c);
    }
  for (Thread* t : waiting) {
    const Inst& i = *t->inst;
    if (i.option == kRedPopc) put<std::uint32_t>(*t, i.d, count);
    if (i.option == kRedAnd) put<bool>(*t, i.d, count == all);
    if (i.option == kRedOr) put<bool>(*t, i.d, count != 0);
  }
}

std::uint32_t liveWarps(const Cta& cta) {
  return static_cast<std::uint32_t>(
      std::count_if(cta.warps.begin(), cta.warps.end(), [](const Warp& w) { return w.live != 0; }));
}

std::size_t numberOf(const Cta& cta, const Barrier& barrier) {
  return static_cast<std::size_t>(&barrier - cta.barriers.data());
}

/// Ends the barrier's phase if all have arrived.
void tryComplete(Cta& cta, Barrier& barrier) {
  if (barrier.arrived == 0) return;
  const std::uint32_t expected = barrier.expected != 0 ? barrier.expected : 32 * liveWarps(cta);
  if (barrier.arrived < expected) return;
  const std::vector<Thread*> waiting = std::move(barrier.waiting);
  barrier.waiting.clear();
  barrier.arrived = barrier.expected = 0;
  reduce(waiting);
  if (Races* races = cta.cluster->races.get()) {
    for (const Thread* t : waiting)
      races->leave(t->warp->number, numberOf(cta, barrier));
    races->reset(cta.rank, numberOf(cta, barrier));
  }
  for (Thread* t : waiting)
    release(*t);
}

/// Counts a warp whose live lanes have all arrived.
void tryWarp(Cta& cta, Barrier& barrier, Warp& warp) {
  std::uint32_t& pending = barrier.pending[warp.index];
  if (pending == 0 || (warp.live & ~pending) != 0) return;
  barrier.arrived += 32;
  if (cta.cluster->races) cta.cluster->races->arrive(warp.number, numberOf(cta, barrier));
  for (unsigned k = 0; k < 32; ++k) {
    if (!(pending >> k & 1) || !(warp.live >> k & 1)) continue;
    Thread& t = *warp.lanes[k];
    if (t.inst->option == kArrive)
      release(t);
    else
      barrier.waiting.push_back(&t);
  }
  pending = 0;
  tryComplete(cta, barrier);
}

/// a: the barrier; b: number of threads (0: all); c: the predicate of a reduction.
void barrier(Thread& t, const Inst& i) {
  const auto id = get<std::uint32_t>(t, i.a);
  const auto count = get<std::uint32_t>(t, i.b);
  if (id >= t.cta->barriers.size()) throw Stop{"barrier", fmt::format("undefined barrier {}", id)};
  if (count % 32 != 0) throw Stop{"barrier", fmt::format("{} threads are not a whole number of warps", count)};
  Barrier& b = t.cta->barriers[id];
  const bool underWay =
      b.arrived != 0 || std::any_of(b.pending.begin(), b.pending.end(), [](auto p) { return p != 0; });
  if (underWay && b.expected != count)
    throw Stop{"barrier",
               fmt::format("{} threads are expected at barrier {}, others expect {}", count, id, b.expected)};
  b.expected = count;
  wait(t, i, Wait::Barrier);
  b.pending[t.warp->index] |= 1u << t.lane;
  tryWarp(*t.cta, b, *t.warp);
}

// ---- barrier.cluster: threads arrive one by one

void completeCluster(Cluster& cluster) {
  if (cluster.arrived == 0 || cluster.arrived < cluster.live()) return;
  cluster.arrived = 0;
  ++cluster.phase;
  if (cluster.races) cluster.races->clusterComplete();
  for (Cta& cta : cluster.ctas)
    for (Thread& t : cta.threads)
      if (t.state == ThreadState::Waiting && t.wait == Wait::Cluster) {
        if (cluster.races) cluster.races->clusterWait(t.number);
        release(t);
      }
}

/// option: the arrival releases nothing.
constexpr std::uint16_t kRelaxed = 1;
void clusterArrive(Thread& t, const Inst& i) {
  Cluster& cluster = *t.cta->cluster;
  if (t.clusterPhase) throw Stop{"memcheck", "arrives at the cluster barrier twice without a wait in between"};
  t.clusterPhase = cluster.phase;
  ++cluster.arrived;
  if (cluster.races) cluster.races->clusterArrive(t.number, i.option != kRelaxed);
  completeCluster(cluster);
}
void clusterWait(Thread& t, const Inst& i) {
  if (!t.clusterPhase) throw Stop{"memcheck", "waits at the cluster barrier before it has arrived"};
  Cluster& cluster = *t.cta->cluster;
  const bool isOver = *t.clusterPhase != cluster.phase;
  t.clusterPhase.reset();
  if (!isOver) return wait(t, i, Wait::Cluster);
  if (cluster.races) cluster.races->clusterWait(t.number);
}

void nothing(Thread&, const Inst&) {}

void fence(Thread& t, const Inst&) {
  if (!t.cta->cluster->races) return;
  t.cta->cluster->races->fence(t.number);
  t.machine->blockRaces->fence(t.cta->cluster->number);
}

/// All lanes of a bar.warp.sync have arrived.
void lanesMet(Lanes lanes) {
  for (const Thread* t : lanes)
    if (t && t->cta->cluster->races) return t->cta->cluster->races->warpSync(t->warp->number);
}

void warpSync(Thread& t, const Inst& i) {
  meetLanes(t, i, get<std::uint32_t>(t, i.a));
}

bool emitBarrier(FunctionTranslator& t, unsigned first, Arrival arrival) {
  // `bar.red d, a{, b}, p`: the predicate is the last.
  const bool isRed = arrival >= kRedPopc;
  const unsigned end = t.operandCount() - (isRed ? 1 : 0);
  const std::uint32_t id = t.use(first, Type::U32);
  const std::uint32_t count = first + 1 < end ? t.use(first + 1, Type::U32) : t.constant(0);
  const std::uint32_t predicate = isRed ? t.use(end, Type::Pred) : kSink;
  Inst& inst = t.emit(&barrier);
  inst.d = isRed ? t.def(0) : kSink;
  inst.a = id;
  inst.b = count;
  inst.c = predicate;
  inst.option = arrival;
  return true;
}

} // namespace

void checkBarriers(Cta& cta) {
  for (Barrier& b : cta.barriers) {
    for (Warp& warp : cta.warps)
      if (warp.live != 0) tryWarp(cta, b, warp);
    // A warp that had partly arrived and has exited no longer counts.
    for (Warp& warp : cta.warps)
      if (warp.live == 0) b.pending[warp.index] = 0;
    tryComplete(cta, b);
  }
}

void leaveCluster(const Thread& t) {
  Cluster& cluster = *t.cta->cluster;
  const bool hasArrived = t.clusterPhase && *t.clusterPhase == cluster.phase;
  if (hasArrived) --cluster.arrived;
  completeCluster(cluster);
  if (!cluster.races || t.cta->live != 0) return;
  if (const auto warp = cluster.races->stillReaching(t.cta->rank)) {
    const launch::Dim3& id = cluster.ctas[*warp / t.cta->warps.size()].id;
    t.machine->report(
        t, "racecheck",
        fmt::format("the block exits while block ({},{},{}) may still access its shared memory,", id.x, id.y, id.z));
  }
}

bool translateSync(FunctionTranslator& t) {
  const Form& f = t.form();
  switch (f.op) {
  case Op::BarSync:
  case Op::BarrierSync: return emitBarrier(t, 0, kSync);
  case Op::BarArrive:
  case Op::BarrierArrive: return emitBarrier(t, 0, kArrive);
  case Op::BarRed:
  case Op::BarrierRed:
    // The operation is .popc or one of the boolean ones.
    return emitBarrier(t, 1, f.has(Mod::Popc) ? kRedPopc : f.has(Mod::And) ? kRedAnd : kRedOr);
  case Op::BarWarpSync: {
    const std::uint32_t mask = t.use(0, Type::B32);
    Inst& inst = t.emit(&warpSync);
    inst.a = mask;
    inst.group = &lanesMet;
    return true;
  }
  case Op::BarrierClusterArrive: t.emit(&clusterArrive).option = f.has(Mod::Relaxed) ? kRelaxed : 0; return true;
  case Op::BarrierClusterWait: t.emit(&clusterWait); return true;
  case Op::Membar:
  case Op::Fence: t.emit(&fence); return true;
  case Op::MembarProxy:
  case Op::FenceMbarrierInit:
  case Op::FenceProxy:
  case Op::Griddepcontrol: t.emit(&nothing); return true;
  default: return false;
  }
}

} // namespace orias::interp
