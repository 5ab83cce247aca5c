#include "support/ieee.h"
#include "tools/interpreter/handlers.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

// Communication between the lanes of a warp: shfl, vote, match, redux, elect, activemask.

namespace orias::interp {

namespace {

using ptx::Form;
using ptx::Mod;
using ptx::Op;
using ptx::Type;

using U32 = std::uint32_t;

/// c: the mask; without one (forms from before sm_70) the lanes that arrive at the same time.
template <bool HasMask> void meet(Thread& t, const Inst& i) {
  if (HasMask)
    meetLanes(t, i, get<U32>(t, i.list[0]));
  else
    gatherLanes(t, i);
}

/// For every participating lane.
template <typename F> void forLanes(Lanes lanes, F f) {
  for (Thread* t : lanes)
    if (t) f(*t, *t->inst);
}

U32 membersOf(Lanes lanes) {
  U32 members = 0;
  forLanes(lanes, [&](Thread& t, const Inst&) { members |= 1u << t.lane; });
  return members;
}

// ---- shfl: a = value, b = lane or distance, c = clamp and segment mask

/// The lane that a lane reads, and whether it is in range (the predicate is then true); the manual's formulas.
template <Mod Mode> bool source(U32 lane, U32 b, U32 c, U32& from) {
  b &= 31;
  const U32 clamp = c & 31;
  const U32 segment = c >> 8 & 31;
  const U32 maxLane = (lane & segment) | (clamp & ~segment);
  const U32 minLane = lane & segment;
  bool inRange = false;
  U32 j = 0;
  switch (Mode) {
  case Mod::Up:
    j = lane - b;
    inRange = static_cast<std::int32_t>(j) >= static_cast<std::int32_t>(maxLane);
    break;
  case Mod::Down:
    j = lane + b;
    inRange = j <= maxLane;
    break;
  case Mod::Bfly:
    j = lane ^ b;
    inRange = j <= maxLane;
    break;
  default:
    j = minLane | (b & ~segment);
    inRange = j <= maxLane;
    break;
  }
  from = inRange ? j : lane;
  return inRange;
}

/// If the source lane does not participate, the lane reads its own value (undefined in the manual; memcheck reports
/// it).
template <Mod Mode> void shfl(Lanes lanes) {
  std::array<U32, 32> values{};
  std::array<bool, 32> inRange{};
  forLanes(lanes, [&](Thread& t, const Inst& i) {
    U32 from = 0;
    inRange[t.lane] = source<Mode>(t.lane, get<U32>(t, i.b), get<U32>(t, i.c), from);
    const Thread* other = lanes[from & 31];
    if (!other) {
      other = &t;
      if (t.machine->options.memcheck)
        t.machine->report(t, "memcheck",
                          fmt::format("reads the value of lane {}, which does not participate,", from & 31));
    }
    values[t.lane] = get<U32>(*other, other->inst->a);
  });
  forLanes(lanes, [&](Thread& t, const Inst& i) {
    put(t, i.e, inRange[t.lane]);
    put(t, i.d, values[t.lane]);
  });
}

// ---- vote

enum class Vote { All, Any, Uni, Ballot };

template <Vote Kind> void vote(Lanes lanes) {
  U32 yes = 0;
  forLanes(lanes, [&](Thread& t, const Inst& i) { yes |= U32{get<bool>(t, i.a)} << t.lane; });
  const U32 members = membersOf(lanes);
  forLanes(lanes, [&](Thread& t, const Inst& i) {
    if constexpr (Kind == Vote::Ballot) put(t, i.d, yes);
    if constexpr (Kind == Vote::All) put(t, i.d, yes == members);
    if constexpr (Kind == Vote::Any) put(t, i.d, yes != 0);
    if constexpr (Kind == Vote::Uni) put(t, i.d, yes == 0 || yes == members);
  });
}

// ---- match

template <typename T> void matchAny(Lanes lanes) {
  std::array<U32, 32> same{};
  forLanes(lanes, [&](Thread& t, const Inst& i) {
    forLanes(lanes, [&](Thread& other, const Inst& o) {
      if (get<T>(t, i.a) == get<T>(other, o.a)) same[t.lane] |= 1u << other.lane;
    });
  });
  forLanes(lanes, [&](Thread& t, const Inst& i) { put(t, i.d, same[t.lane]); });
}
template <typename T> void matchAll(Lanes lanes) {
  bool all = true;
  const Thread* first = nullptr;
  forLanes(lanes, [&](Thread& t, const Inst& i) {
    if (!first) first = &t;
    all = all && get<T>(t, i.a) == get<T>(*first, first->inst->a);
  });
  const U32 members = membersOf(lanes);
  forLanes(lanes, [&](Thread& t, const Inst& i) {
    put(t, i.e, all);
    put(t, i.d, all ? members : 0);
  });
}

// ---- redux

template <typename T, Mod Action> void redux(Lanes lanes) {
  bool isFirst = true;
  T total{};
  forLanes(lanes, [&](Thread& t, const Inst& i) {
    const T value = get<T>(t, i.a);
    if (isFirst)
      total = value;
    else if constexpr (Action == Mod::Add)
      total = static_cast<T>(static_cast<U32>(total) + static_cast<U32>(value));
    else if constexpr (Action == Mod::Min)
      total = std::min(total, value);
    else if constexpr (Action == Mod::Max)
      total = std::max(total, value);
    else if constexpr (Action == Mod::And)
      total &= value;
    else if constexpr (Action == Mod::Or)
      total |= value;
    else
      total ^= value;
    isFirst = false;
  });
  forLanes(lanes, [&](Thread& t, const Inst& i) { put(t, i.d, total); });
}

/// min and max of f32, of magnitudes with .abs.
template <bool IsMin, bool OfMagnitudes, bool NanWins> void reduxFloat(Lanes lanes) {
  bool isFirst = true;
  float total = 0;
  forLanes(lanes, [&](Thread& t, const Inst& i) {
    const float value = ieee::floatOf(get<U32>(t, i.a) & (OfMagnitudes ? 0x7fffffffu : ~0u));
    if (isFirst) total = value; // a NaN becomes the canonical one
    total = IsMin ? ieee::minimum(total, value, NanWins) : ieee::maximum(total, value, NanWins);
    isFirst = false;
  });
  forLanes(lanes, [&](Thread& t, const Inst& i) { put(t, i.d, static_cast<U32>(ieee::bitsOf(total))); });
}

/// The lowest lane is elected.
void elect(Lanes lanes) {
  const auto leader = static_cast<U32>(std::countr_zero(membersOf(lanes)));
  forLanes(lanes, [&](Thread& t, const Inst& i) {
    put(t, i.d, leader);
    put(t, i.e, t.lane == leader);
  });
}

void activemask(Lanes lanes) {
  const U32 members = membersOf(lanes);
  forLanes(lanes, [&](Thread& t, const Inst& i) { put(t, i.d, members); });
}

// ---- Choice

GroupHandler shflHandler(Mod mode) {
  switch (mode) {
  case Mod::Up: return &shfl<Mod::Up>;
  case Mod::Down: return &shfl<Mod::Down>;
  case Mod::Bfly: return &shfl<Mod::Bfly>;
  default: return &shfl<Mod::Idx>;
  }
}

GroupHandler voteHandler(Mod mode) {
  switch (mode) {
  case Mod::All: return &vote<Vote::All>;
  case Mod::Any: return &vote<Vote::Any>;
  case Mod::Uni: return &vote<Vote::Uni>;
  default: return &vote<Vote::Ballot>;
  }
}

template <bool IsMin> GroupHandler floatReduxHandler(const Form& f) {
  if (f.has(Mod::Abs)) return f.has(Mod::NaN) ? &reduxFloat<IsMin, true, true> : &reduxFloat<IsMin, true, false>;
  return f.has(Mod::NaN) ? &reduxFloat<IsMin, false, true> : &reduxFloat<IsMin, false, false>;
}

GroupHandler reduxHandler(const Form& f) {
  if (f.type() == Type::F32) return f.action() == Mod::Min ? floatReduxHandler<true>(f) : floatReduxHandler<false>(f);
  const bool isSigned = f.type() == Type::S32;
  switch (f.action()) {
  case Mod::Add: return &redux<U32, Mod::Add>;
  case Mod::Min: return isSigned ? &redux<std::int32_t, Mod::Min> : &redux<U32, Mod::Min>;
  case Mod::Max: return isSigned ? &redux<std::int32_t, Mod::Max> : &redux<U32, Mod::Max>;
  case Mod::And: return &redux<U32, Mod::And>;
  case Mod::Or: return &redux<U32, Mod::Or>;
  case Mod::Xor: return &redux<U32, Mod::Xor>;
  default: return nullptr;
  }
}

/// `mask`: the operand that holds the membermask, 0 for none.
Inst& emitGroup(FunctionTranslator& t, GroupHandler group, std::uint32_t a, std::uint32_t mask) {
  const bool hasMask = mask != kSink;
  Inst& inst = t.emit(hasMask ? &meet<true> : &meet<false>);
  inst.group = group;
  inst.d = t.def(0);
  inst.e = t.secondDef(0);
  inst.a = a;
  if (hasMask) inst.list = t.list({mask});
  return inst;
}

} // namespace

bool translateWarp(FunctionTranslator& t) {
  const Form& f = t.form();
  switch (f.op) {
  case Op::Shfl: {
    const U32 slots[] = {t.use(1, Type::B32), t.use(2, Type::B32), t.use(3, Type::B32)};
    const U32 mask = f.has(Mod::Sync) ? t.use(4, Type::B32) : kSink;
    Inst& inst = emitGroup(t, shflHandler(f.mode()), slots[0], mask);
    inst.b = slots[1];
    inst.c = slots[2];
    return true;
  }
  case Op::Vote: {
    const U32 a = t.use(1, Type::Pred);
    emitGroup(t, voteHandler(f.mode()), a, f.has(Mod::Sync) ? t.use(2, Type::B32) : kSink);
    return true;
  }
  case Op::Match: {
    const bool is64 = bitWidth(f.type()) == 64;
    const bool all = f.mode() == Mod::All;
    const U32 a = t.use(1, f.type());
    emitGroup(
        t,
        all ? (is64 ? &matchAll<std::uint64_t> : &matchAll<U32>) : (is64 ? &matchAny<std::uint64_t> : &matchAny<U32>),
        a, t.use(2, Type::B32));
    return true;
  }
  case Op::Redux: {
    const GroupHandler group = reduxHandler(f);
    if (!group) return false;
    const U32 a = t.use(1, f.type());
    emitGroup(t, group, a, t.use(2, Type::B32));
    return true;
  }
  case Op::Elect: emitGroup(t, &elect, kSink, t.use(1, Type::B32)); return true;
  case Op::Activemask: emitGroup(t, &activemask, kSink, kSink); return true;
  default: return false;
  }
}

} // namespace orias::interp
