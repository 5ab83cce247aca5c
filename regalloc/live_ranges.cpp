#include "regalloc/live_ranges.h"

#include "ori/analysis/cfg.h"
#include "ori/analysis/dominators.h"
#include "ori/analysis/liveness.h"

#include <algorithm>

namespace orias::regalloc {

using isa::File;
using ori::Block;
using ori::Function;
using ori::Instr;
using ori::Operand;

std::uint64_t Range::length() const {
  std::uint64_t sum = 0;
  for (Segment s : segments_) sum += s.end - s.start;
  return sum;
}

bool Range::overlaps(const Range& other) const {
  auto a = segments_.begin(), b = other.segments_.begin();
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

bool Range::contains(Point point) const {
  auto it = std::upper_bound(segments_.begin(), segments_.end(), point, [](Point p, Segment s) { return p < s.end; });
  return it != segments_.end() && it->start <= point;
}

void Range::add(Segment segment) {
  auto first = std::lower_bound(segments_.begin(), segments_.end(), segment.start,
                                [](Segment s, Point p) { return s.end < p; });
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
  if (other.segments_.size() <= 2) {
    for (Segment s : other.segments_) add(s);
    return;
  }
  std::vector<Segment> all;
  all.reserve(segments_.size() + other.segments_.size());
  std::merge(segments_.begin(), segments_.end(), other.segments_.begin(), other.segments_.end(), std::back_inserter(all),
             [](Segment a, Segment b) { return a.start < b.start; });
  segments_.clear();
  for (Segment s : all) {
    if (!segments_.empty() && s.start <= segments_.back().end)
      segments_.back().end = std::max(segments_.back().end, s.end);
    else
      segments_.push_back(s);
  }
}

LiveRanges::LiveRanges(const Function& function, File file) {
  numberInstructions(function);
  firstUnit_.resize(function.vregCount());
  std::uint32_t units = 0;
  for (ori::VRegId v = 0; v < function.vregCount(); ++v) {
    firstUnit_[v] = units;
    if (function.vreg(v).file == file) units += function.vreg(v).width;
  }
  units_.resize(units);
  if (units) build(function, file);
}

void LiveRanges::numberInstructions(const Function& function) {
  number_.assign(function.instrIdCount(), 0);
  for (const Block* block : function.layout())
    for (Instr& instr : *block) {
      number_[instr.id] = static_cast<std::uint32_t>(order_.size());
      order_.push_back(&instr);
    }
  pointCount_ = static_cast<Point>(2 * order_.size());
}

namespace {

bool isWarpFile(File file) { return file == File::UR || file == File::UP || file == File::B; }

bool isOf(const isa::Operand& o, File file) { return o.isReg(file) && o.isVirtual(); }

/// The blocks that run between a divergent branch and the point where all its sides have met again.
std::vector<ori::BlockId> divergentRegion(const ori::Cfg& cfg, ori::BlockId branch, ori::BlockId meet,
                                          std::vector<std::uint32_t>& mark, std::uint32_t stamp) {
  std::vector<ori::BlockId> region;
  for (ori::BlockId s : cfg.successors(branch))
    if (s != meet && mark[s] != stamp) {
      mark[s] = stamp;
      region.push_back(s);
    }
  for (std::size_t i = 0; i < region.size(); ++i)
    for (ori::BlockId s : cfg.successors(region[i]))
      if (s != meet && mark[s] != stamp) {
        mark[s] = stamp;
        region.push_back(s);
      }
  return region;
}

} // namespace

void LiveRanges::build(const Function& function, File file) {
  const ori::Cfg cfg(function);
  const ori::Liveness liveness(cfg);
  const ori::Components& components = liveness.components();
  const std::size_t blockCount = function.blockIdCount();
  auto forEachUnitIn = [&](const ori::SparseBits& live, auto&& f) {
    live.forEach([&](ori::CompId c) {
      if (components.isVirtual(c) && components.file(c) == file) f(firstUnit_[components.vreg(c)] + components.sub(c));
    });
  };

  // A walk over each block from its end gives the segments. `liveUntil` is the end of the segment that is being built.
  std::vector<Point> liveUntil(units_.size(), 0);
  std::vector<std::uint32_t> open;
  for (const Block* block : function.layout()) {
    if (block->empty()) continue;
    const Point top = 2 * number_[block->first->id];
    const Point bottom = 2 * number_[block->last->id] + 2;
    open.clear();
    auto begin = [&](std::uint32_t u, Point end) {
      if (liveUntil[u] != 0) return;
      liveUntil[u] = end;
      open.push_back(u);
    };
    forEachUnitIn(liveness.liveOut(block->id), [&](std::uint32_t u) { begin(u, bottom); });
    for (Instr* instr = block->last; instr; instr = instr->prev) {
      const Point use = 2 * number_[instr->id];
      for (const Operand& o : instr->refs())
        if (isOf(o, file) && o.isDef)
          for (unsigned i = 0; i < o.width; ++i) {
            const std::uint32_t u = firstUnit_[o.reg] + o.sub + i;
            begin(u, use + 2); // a result that nobody reads still needs a place
            if (instr->isGuarded() && !liveness.startsLife(*instr, components.of(o.reg, o.sub + i))) continue;
            units_[u].add({use + 1, liveUntil[u]});
            liveUntil[u] = 0;
          }
      for (const Operand& o : instr->refs())
        if (isOf(o, file) && !o.isDef)
          for (unsigned i = 0; i < o.width; ++i) begin(firstUnit_[o.reg] + o.sub + i, use + 1);
    }
    for (std::uint32_t u : open) {
      if (liveUntil[u] != 0) units_[u].add({top, liveUntil[u]});
      liveUntil[u] = 0;
    }
  }
  if (isWarpFile(file)) extendOverDivergence(function, cfg, blockCount);
}

/// Values of the warp are live throughout each divergent region in which they are live somewhere.
void LiveRanges::extendOverDivergence(const Function& function, const ori::Cfg& cfg, std::size_t blockCount) {
  const ori::DomTree postDominators = ori::DomTree::postDominators(cfg);
  std::vector<std::uint32_t> mark(blockCount, 0);
  std::uint32_t stamp = 0;
  std::vector<std::vector<Segment>> regions;
  for (const Block* branch : function.layout()) {
    if (cfg.successors(branch->id).size() < 2) continue;
    Range region;
    for (ori::BlockId b : divergentRegion(cfg, branch->id, postDominators.idom(branch->id), mark, ++stamp)) {
      const Block* block = function.block(b);
      if (!block->empty()) region.add({2 * number_[block->first->id], 2 * number_[block->last->id] + 2});
    }
    regions.emplace_back(region.segments().begin(), region.segments().end());
  }
  for (Range& unit : units_) {
    if (unit.empty()) continue;
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& segments : regions) {
        Range region;
        region.segments_ = segments;
        // What begins and ends inside one block of the region disturbs only what is live there anyway.
        if (!unit.overlaps(region) || isInsideOneBlock(unit)) continue;
        const std::uint64_t before = unit.length();
        unit.unite(region);
        changed |= unit.length() != before;
      }
    }
  }
}

bool LiveRanges::isInsideOneBlock(const Range& range) const {
  return instrAt(range.start())->block == instrAt(range.end() - 1)->block;
}

bool LiveRanges::isLiveAnywhere(ori::VRegId reg) const {
  std::uint32_t end = reg + 1 < firstUnit_.size() ? firstUnit_[reg + 1] : static_cast<std::uint32_t>(units_.size());
  for (std::uint32_t u = firstUnit_[reg]; u < end; ++u)
    if (!units_[u].empty()) return true;
  return false;
}

std::vector<std::uint32_t> LiveRanges::pressure() const {
  std::vector<std::int32_t> change(order_.size() + 1, 0);
  for (const Range& range : units_)
    for (Segment s : range.segments()) {
      // Counted at instruction i when live at either of its points.
      change[s.start / 2] += 1;
      change[std::min<std::size_t>((s.end - 1) / 2 + 1, order_.size())] -= 1;
    }
  std::vector<std::uint32_t> out(order_.size());
  std::int32_t now = 0;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::uint32_t>(now += change[i]);
  return out;
}

} // namespace orias::regalloc
