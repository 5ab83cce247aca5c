// Instructions in which lanes exchange values. A uniform result is set in every active lane.

#include "encoder/isa/semantics/functions.h"
#include "encoder/isa/semantics/lane.h"

#include <bit>

namespace orias::isa::semantics {

namespace {

constexpr unsigned kLanes = 32;

template <typename F> void forEachActive(const WarpValues& warp, F visit) {
  for (std::uint32_t rest = warp.active; rest != 0; rest &= rest - 1)
    visit(static_cast<unsigned>(std::countr_zero(rest)));
}

/// The active lanes in which the predicate in `slot` is true.
std::uint32_t ballot(const Inst& inst, WarpValues& warp, unsigned slot) {
  std::uint32_t mask = 0;
  forEachActive(warp, [&](unsigned i) { mask |= Lane(inst, warp.lane[i]).pred(slot) ? 1u << i : 0; });
  return mask;
}

void setInAll(WarpValues& warp, unsigned slot, std::uint32_t value) {
  forEachActive(warp, [&](unsigned i) { warp.lane[i][slot] = LaneValue::of(value); });
}

std::uint64_t matchValue(const Inst& inst, WarpValues& warp, unsigned lane, unsigned slot) {
  Lane view(inst, warp.lane[lane]);
  return view.mod(Mod::Size) != 0 ? view.raw64(slot) : view.raw(slot);
}

} // namespace

void shfl(const Inst& inst, WarpValues& warp) {
  // PTX shfl: Rb is the lane or distance, Rc the clamp (bits 0..4) and the mask of the segment (bits 8..12).
  const auto mode = static_cast<ShflMode>(getMod(inst, Mod::ShflMode));
  forEachActive(warp, [&](unsigned i) {
    Lane view(inst, warp.lane[i]);
    const auto self = static_cast<int>(i), b = static_cast<int>(view.raw(3) & 31);
    const auto clamp = static_cast<int>(view.raw(4) & 31), segment = static_cast<int>(view.raw(4) >> 8 & 31);
    const int first = self & segment, last = first | (clamp & ~segment & 31);
    int source = self;
    bool inRange = false;
    switch (mode) {
    case ShflMode::UP: source = self - b, inRange = source >= last; break;
    case ShflMode::DOWN: source = self + b, inRange = source <= last; break;
    case ShflMode::BFLY: source = self ^ b, inRange = source <= last; break;
    case ShflMode::IDX: source = first | (b & ~segment & 31), inRange = source <= last; break;
    }
    if (!inRange) source = self;
    // PTX leaves the value of an inactive lane undefined; it is zero here.
    const bool isActive = (warp.active >> source & 1) != 0;
    const std::uint32_t value = isActive ? warp.lane[static_cast<unsigned>(source)][2].w[0] : 0;
    view.setPred(0, inRange);
    view.set(1, value);
  });
}

void vote(const Inst& inst, WarpValues& warp) {
  const std::uint32_t mask = ballot(inst, warp, 2);
  bool result = false;
  switch (static_cast<VoteMode>(getMod(inst, Mod::VoteMode))) {
  case VoteMode::ALL: result = mask == warp.active; break;
  case VoteMode::ANY: result = mask != 0; break;
  case VoteMode::EQ: result = mask == 0 || mask == warp.active; break;
  }
  setInAll(warp, 0, mask);
  setInAll(warp, 1, result ? 1 : 0);
}

void matchAny(const Inst& inst, WarpValues& warp) {
  forEachActive(warp, [&](unsigned i) {
    const std::uint64_t own = matchValue(inst, warp, i, 1);
    std::uint32_t mask = 0;
    forEachActive(warp, [&](unsigned j) { mask |= matchValue(inst, warp, j, 1) == own ? 1u << j : 0; });
    warp.lane[i][0] = LaneValue::of(mask);
  });
}

void matchAll(const Inst& inst, WarpValues& warp) {
  if (warp.active == 0) return;
  const std::uint64_t first = matchValue(inst, warp, static_cast<unsigned>(std::countr_zero(warp.active)), 2);
  bool same = true;
  forEachActive(warp, [&](unsigned i) { same = same && matchValue(inst, warp, i, 2) == first; });
  setInAll(warp, 0, same ? 1 : 0);
  setInAll(warp, 1, same ? warp.active : 0);
}

void redux(const Inst& inst, WarpValues& warp) {
  enum class Function : std::uint8_t { And, Or, Xor, Sum, Min, Max };
  const auto function = static_cast<Function>(getMod(inst, Mod::Func));
  // With their sign bits inverted, signed numbers are ordered as unsigned ones.
  const std::uint32_t turn = getMod(inst, Mod::Type) != 0 ? 0x80000000 : 0;
  std::uint32_t result = 0;
  bool isFirst = true;
  forEachActive(warp, [&](unsigned i) {
    const std::uint32_t v = warp.lane[i][1].w[0];
    if (isFirst) {
      result = v;
      isFirst = false;
      return;
    }
    switch (function) {
    case Function::And: result &= v; break;
    case Function::Or: result |= v; break;
    case Function::Xor: result ^= v; break;
    case Function::Sum: result += v; break;
    case Function::Min: result = (v ^ turn) < (result ^ turn) ? v : result; break;
    case Function::Max: result = (v ^ turn) > (result ^ turn) ? v : result; break;
    }
  });
  setInAll(warp, 0, result);
}

void credux(const Inst& inst, WarpValues& warp) {
  enum Type : unsigned { Unsigned, Signed, Float };
  const unsigned type = getMod(inst, Mod::Type), function = getMod(inst, Mod::Func);
  const bool isMin = (function & 2) != 0, ofMagnitudes = (function & 1) != 0, nanWins = getMod(inst, Mod::Nan) != 0;
  const std::uint32_t turn = type == Signed ? 0x80000000 : 0;
  std::uint32_t result = 0;
  bool isFirst = true;
  forEachActive(warp, [&](unsigned i) {
    std::uint32_t v = warp.lane[i][1].w[0];
    if (type == Float) {
      if (ofMagnitudes) v &= 0x7fffffff;
      const float a = ieee::floatOf(isFirst ? v : result), b = ieee::floatOf(v);
      v = static_cast<std::uint32_t>(ieee::bitsOf(isMin ? ieee::minimum(a, b, nanWins) : ieee::maximum(a, b, nanWins)));
    }
    const bool isBetter =
        type == Float || isFirst || (isMin ? (v ^ turn) < (result ^ turn) : (v ^ turn) > (result ^ turn));
    if (isBetter) result = v;
    isFirst = false;
  });
  setInAll(warp, 0, result);
}

void r2ur(const Inst&, WarpValues& warp) {
  // The value of the first active lane. The predicate is true in lanes with another value.
  if (warp.active == 0) return;
  const std::uint32_t value = warp.lane[static_cast<unsigned>(std::countr_zero(warp.active))][2].w[0];
  forEachActive(warp, [&](unsigned i) { warp.lane[i][0] = LaneValue::of(warp.lane[i][2].w[0] != value ? 1 : 0); });
  setInAll(warp, 1, value);
}

void r2urOr(const Inst& inst, WarpValues& warp) {
  // The predicate is unchanged in lanes that agree, and its old value is not available here.
  if (!Lane(inst, warp.lane[0]).isUnused(0)) throwUnsupported(inst, "a predicate result");
  r2ur(inst, warp);
}

void elect(const Inst& inst, WarpValues& warp) {
  // The hardware may choose any lane; the lowest is used here.
  const std::uint32_t candidates = ballot(inst, warp, 2);
  const auto leader = static_cast<unsigned>(std::countr_zero(candidates));
  setInAll(warp, 1, leader % kLanes);
  forEachActive(warp, [&](unsigned i) { warp.lane[i][0] = LaneValue::of(i == leader ? 1 : 0); });
}

void movm(const Inst&, WarpValues& warp) {
  // The transpose of an 8x8 matrix of halves: a lane holds two adjacent elements, four lanes a row.
  std::array<std::uint32_t, kLanes> result{};
  const auto element = [&](unsigned row, unsigned column) {
    return warp.lane[row * 4 + column / 2][1].w[0] >> (16 * (column % 2)) & 0xffff;
  };
  for (unsigned i = 0; i < kLanes; ++i)
    result[i] = element(i % 4 * 2, i / 4) | element(i % 4 * 2 + 1, i / 4) << 16;
  forEachActive(warp, [&](unsigned i) { warp.lane[i][0] = LaneValue::of(result[i]); });
}

void movmNibbles(const Inst&, WarpValues& warp) {
  // The fragments of a product of 8 rows by 32. A lane has eight elements of a row, and gets four of its first and four
  // of its second half. Their order is unknown: in ptxas' code both factors of a product are converted in this way.
  const auto widened = [&](unsigned lane, unsigned first) {
    std::uint32_t bytes = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const unsigned column = first + i;
      bytes |= (warp.lane[lane / 4 * 4 + column / 8][1].w[0] >> 4 * (column % 8) & 15) << 8 * i;
    }
    return bytes;
  };
  std::array<std::array<std::uint32_t, 2>, kLanes> result{};
  for (unsigned i = 0; i < kLanes; ++i)
    result[i] = {widened(i, i % 4 * 4), widened(i, 16 + i % 4 * 4)};
  forEachActive(warp, [&](unsigned i) {
    warp.lane[i][0] = LaneValue::of(result[i][0]);
    warp.lane[i][0].w[1] = result[i][1];
  });
}

} // namespace orias::isa::semantics
