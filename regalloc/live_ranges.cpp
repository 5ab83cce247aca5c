#include "regalloc/live_ranges.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "ori/calls.h"
#include "ori/results.h"
#include "regalloc/wgmma_sync.h"
#include "support/check.h"

#include <algorithm>
#include <bit>

namespace orias::regalloc {

std::string_view fileName(isa::File file) {
  switch (file) {
  case isa::File::R: return "R";
  case isa::File::UR: return "UR";
  case isa::File::P: return "P";
  case isa::File::UP: return "UP";
  case isa::File::B: return "B";
  }
  return "";
}

using isa::File;
using ori::Block;
using ori::Function;
using ori::Instr;
using ori::Operand;

std::uint64_t Range::length() const {
  std::uint64_t sum = 0;
  for (Segment s : segments_)
    sum += s.end - s.start;
  return sum;
}

std::vector<Segment>::const_iterator Range::firstEndingAfter(Point point) const {
  return std::upper_bound(segments_.begin(), segments_.end(), point, [](Point p, Segment s) { return p < s.end; });
}

bool Range::overlaps(const Range& other) const {
  if (empty() || other.empty()) return false;
  // Both may be long lists that overlap in one place only.
  auto a = firstEndingAfter(other.start());
  auto b = other.firstEndingAfter(start());
  while (a != segments_.end() && b != other.segments_.end()) {
    if (a->end <= b->start)
      ++a;
    else if (b->end <= a->start)
      ++b;
    else
      return true;
  }
  return false;
}

bool Range::covers(const Range& other) const {
  if (other.empty()) return true;
  auto a = firstEndingAfter(other.start());
  for (Segment s : other.segments_) {
    while (a != segments_.end() && a->end < s.end)
      ++a;
    if (a == segments_.end() || a->start > s.start) return false;
  }
  return true;
}

bool Range::contains(Point point) const {
  const auto it = firstEndingAfter(point);
  return it != segments_.end() && it->start <= point;
}

void Range::add(Segment segment) {
  auto first =
      std::lower_bound(segments_.begin(), segments_.end(), segment.start, [](Segment s, Point p) { return s.end < p; });
  auto last = first;
  while (last != segments_.end() && last->start <= segment.end) {
    segment.start = std::min(segment.start, last->start);
    segment.end = std::max(segment.end, last->end);
    ++last;
  }
  if (first == last) {
    segments_.insert(first, segment);
  } else {
    *first = segment;
    segments_.erase(first + 1, last);
  }
}

void Range::unite(const Range& other) {
  if (other.segments_.size() * 8 <= segments_.size() + 16) {
    for (Segment s : other.segments_)
      add(s);
    return;
  }
  std::vector<Segment> all;
  all.reserve(segments_.size() + other.segments_.size());
  std::merge(segments_.begin(), segments_.end(), other.segments_.begin(), other.segments_.end(),
             std::back_inserter(all), [](Segment a, Segment b) { return a.start < b.start; });
  segments_.clear();
  for (Segment s : all) {
    if (!segments_.empty() && s.start <= segments_.back().end)
      segments_.back().end = std::max(segments_.back().end, s.end);
    else
      segments_.push_back(s);
  }
}

void Range::addBefore(Segment segment) {
  if (!segments_.empty() && segments_.back().start <= segment.end) {
    segments_.back().start = std::min(segments_.back().start, segment.start);
    segments_.back().end = std::max(segments_.back().end, segment.end);
  } else {
    segments_.push_back(segment);
  }
}

void Range::reverse() {
  std::reverse(segments_.begin(), segments_.end());
}

NumberedCode::NumberedCode(const Function& function)
    : cfg_(function.analyses().cfg()), liveness_(function.analyses().liveness()), vregs_(function.vregCount()),
      number_(function.instrIdCount(), 0) {
  for (const Block* block : function.layout())
    for (Instr& instr : *block) {
      number_[instr.id] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(&instr);
    }
}

namespace {
/// Finding regions takes branches times blocks steps in the worst case. Above this many steps, all sides of the
/// remaining branches count as the whole function.
constexpr std::size_t kMaxRegionSteps = 4'000'000;
} // namespace

const std::vector<NumberedCode::Sides>& NumberedCode::sidesOfBranches() const {
  const ori::Changes& changes = function().changes();
  if (areSidesKnown_ && sidesFlow_ == changes.flow && sidesCode_ == changes.code) return sides_;
  areSidesKnown_ = true;
  sidesFlow_ = changes.flow;
  sidesCode_ = changes.code;
  sides_.clear();
  const ori::DomTree& postDominators = cfg_.function().analyses().postDominators();
  std::vector<std::uint32_t> mark(function().blockIdCount(), 0);
  std::uint32_t stamp = 0;
  std::size_t steps = 0;
  const std::vector<Block*>& layout = function().layout();
  std::vector<std::uint32_t> placeOf(function().blockIdCount()); // position in the layout
  for (std::uint32_t i = 0; i < layout.size(); ++i)
    placeOf[layout[i]->id] = i;
  std::vector<std::uint64_t> isMember(layout.size() / 64 + 1); // by position; empty between two calls
  auto pointsOf = [&](std::span<const ori::BlockId> blocks) {
    std::size_t last = 0, first = isMember.size();
    for (const ori::BlockId b : blocks) {
      const std::size_t word = placeOf[b] / 64;
      isMember[word] |= std::uint64_t{1} << placeOf[b] % 64;
      last = std::max(last, word + 1);
      first = std::min(first, word);
    }
    Range range;
    for (std::size_t word = last; word-- > first;)
      for (std::uint64_t& left = isMember[word]; left != 0;) {
        const auto bit = static_cast<std::size_t>(63 - std::countl_zero(left));
        left &= ~(std::uint64_t{1} << bit);
        if (const Block& block = *layout[64 * word + bit]; !block.empty())
          range.addBefore({2 * number(*block.first), 2 * number(*block.last) + 2});
      }
    range.reverse();
    return range;
  };
  // By block, the side that begins with it and was found last: many branches lead to the same block.
  struct Known {
    ori::BlockId meet = ori::kNoId;
    std::size_t steps = 0, branch = 0, side = 0; ///< the steps it took, and its index in sides_
  };
  std::vector<Known> known(function().blockIdCount());
  for (const Block* branch : function().layout()) {
    if (cfg_.successors(branch->id).size() < 2) continue;
    const ori::BlockId meet = postDominators.idom(branch->id);
    std::vector<Range> sides;
    std::vector<std::pair<ori::BlockId, std::size_t>> found; // first blocks and steps, by side
    for (ori::BlockId first : cfg_.successors(branch->id)) {
      if (first == meet) continue;
      if (steps > kMaxRegionSteps) {
        sides.emplace_back().add({0, 2 * count()});
        found.emplace_back(first, 0);
        continue;
      }
      if (const Known& same = known[first]; same.steps != 0 && same.meet == meet) {
        steps += same.steps;
        sides.push_back(sides_[same.branch][same.side]);
        found.emplace_back(first, 0);
        continue;
      }
      ++stamp;
      std::vector<ori::BlockId> side{first};
      mark[first] = stamp;
      for (std::size_t i = 0; i < side.size(); ++i)
        for (ori::BlockId s : cfg_.successors(side[i])) {
          if (s == meet || mark[s] == stamp) continue;
          mark[s] = stamp;
          side.push_back(s);
        }
      steps += side.size();
      sides.push_back(pointsOf(side));
      found.emplace_back(first, side.size());
    }
    if (sides.size() < 2) continue;
    for (std::size_t i = 0; i < found.size(); ++i)
      if (const auto& [first, taken] = found[i]; taken != 0) known[first] = {meet, taken, sides_.size(), i};
    sides_.push_back(std::move(sides));
  }
  // A value that is live anywhere after a YIELD is live in all blocks after it.
  for (const std::vector<ori::BlockId>& blocks : ori::blocksAfterYields(cfg_, postDominators)) {
    const Range range = pointsOf(blocks);
    sides_.push_back({range, range});
  }
  return sides_;
}

LiveRanges::LiveRanges(std::shared_ptr<const NumberedCode> code, File file, bool keepsUnread) : code_(std::move(code)) {
  ORIAS_CHECK(code_->hasAll(), "the code has grown since its liveness was found");
  const Function& function = code_->function();
  firstUnit_.resize(function.vregCount());
  std::uint32_t units = 0;
  for (ori::VRegId v = 0; v < function.vregCount(); ++v) {
    firstUnit_[v] = units;
    if (function.vreg(v).file == file) units += function.vreg(v).width;
  }
  units_.resize(units);
  if (units) build(file, keepsUnread);
}

namespace {

bool isWarpFile(File file) {
  return file == File::UR || file == File::UP || file == File::B;
}

/// Whether the zero register can take an unused result of an instruction. Pseudo instructions except calls are lowered
/// to code that accesses components of its registers, and accumulators of wgmma are written in place. A load of tensor
/// memory whose only used result is the minimum or maximum has registers for all values in all code of ptxas
/// (observed).
bool mayDrop(const Instr& instr, const Operand& result) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.isPseudo()) return ori::isCall(instr);
  switch (isa::latencyClassOf(instr.op, instr.mods)) {
  case isa::LatencyClass::Gmma: return false;
  case isa::LatencyClass::TensorLoad:
    return row.slotIndex(isa::SlotId::Rs) < 0 || &result != &instr.op_(row.slotIndex(isa::SlotId::Rd));
  default: return true;
  }
}

bool isDropped(const Function& function, ori::VRegId v) {
  for (const ori::Ref o : function.refs(v))
    if (!o->isDef || !mayDrop(*o.owner, *o)) return false;
  return true;
}

} // namespace

void LiveRanges::build(File file, bool keepsUnread) {
  const Function& function = code_->function();
  const ori::Liveness& liveness = code_->liveness();
  const ori::Components& components = liveness.components();
  auto forEachUnitIn = [&](const ori::SparseBits& live, auto&& f) {
    live.forEach([&](ori::CompId c) {
      if (components.isVirtual(c) && components.file(c) == file) f(firstUnit_[components.vreg(c)] + components.sub(c));
    });
  };

  std::vector<bool> dropped(function.vregCount(), false);
  for (ori::VRegId v = 0; v < function.vregCount() && !keepsUnread && file != File::B; ++v)
    dropped[v] = function.vreg(v).file == file && isDropped(function, v);

  // A walk over each block from its end builds the segments. `liveUntil` is the end of the segment being built.
  std::vector<Point> liveUntil(units_.size(), 0);
  std::vector<std::uint32_t> open;
  for (auto at = function.layout().rbegin(); at != function.layout().rend(); ++at) {
    const Block* block = *at;
    if (block->empty()) continue;
    const Point top = usePoint(*block->first);
    const Point bottom = usePoint(*block->last) + 2;
    open.clear();
    auto begin = [&](std::uint32_t u, Point end) {
      if (liveUntil[u] != 0) return;
      liveUntil[u] = end;
      open.push_back(u);
    };
    forEachUnitIn(liveness.liveOut(block->id), [&](std::uint32_t u) { begin(u, bottom); });
    for (Instr* instr = block->last; instr; instr = instr->prev) {
      const Point use = usePoint(*instr);
      for (const Operand& o : ori::resultSlots(*instr))
        if (namesVirtual(o, file) && o.isDef && !dropped[o.reg])
          for (unsigned i = 0; i < registersOf(o); ++i) {
            const std::uint32_t u = firstUnit_[o.reg] + o.sub + i;
            const bool isRead = liveUntil[u] != 0;
            begin(u, use + 2); // an unused part of a tuple still needs a register
            const bool maySurvive =
                isRead && instr->isGuarded() && !liveness.startsLife(*instr, components.of(o.reg, o.sub + i));
            if (maySurvive) continue;
            units_[u].addBefore({use + 1, liveUntil[u]});
            liveUntil[u] = 0;
          }
      for (const Operand& o : instr->isGuarded() ? instr->refs() : instr->ops())
        if (namesVirtual(o, file) && !o.isDef)
          for (unsigned i = 0; i < registersOf(o); ++i)
            begin(firstUnit_[o.reg] + o.sub + i, isWgmmaInput(*instr, o) ? use + 2 : use + 1);
    }
    for (std::uint32_t u : open) {
      if (liveUntil[u] != 0) units_[u].addBefore({top, liveUntil[u]});
      liveUntil[u] = 0;
    }
  }
  for (Range& unit : units_)
    unit.reverse();
  if (isWarpFile(file)) extendOverDivergence();
}

/// Values live on one side of a divergent branch become live throughout the other sides. Values within one block need
/// not be extended: they already interfere with the extended ones.
void LiveRanges::extendOverDivergence() {
  auto isLocal = [&](const Range& range) {
    return range.empty() || instrAt(range.start())->block == instrAt(range.end() - 1)->block;
  };
  if (std::all_of(units_.begin(), units_.end(), isLocal)) return;

  const std::vector<NumberedCode::Sides>& branches = code_->sidesOfBranches();
  for (Range& unit : units_) {
    if (isLocal(unit)) continue;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::vector<Range>& sides : branches)
        for (std::size_t i = 0; i < sides.size(); ++i) {
          if (!unit.overlaps(sides[i])) continue;
          for (std::size_t j = 0; j < sides.size(); ++j) {
            if (i == j || unit.covers(sides[j])) continue;
            unit.unite(sides[j]);
            changed = true;
          }
        }
    }
  }
}

bool LiveRanges::isLiveAnywhere(ori::VRegId reg) const {
  std::uint32_t end = reg + 1 < firstUnit_.size() ? firstUnit_[reg + 1] : static_cast<std::uint32_t>(units_.size());
  for (std::uint32_t u = firstUnit_[reg]; u < end; ++u)
    if (!units_[u].empty()) return true;
  return false;
}

unsigned LiveRanges::mostLive() const {
  return mostAtOnce(pointCount(), [&](auto&& f) { std::for_each(units_.begin(), units_.end(), f); });
}

} // namespace orias::regalloc
