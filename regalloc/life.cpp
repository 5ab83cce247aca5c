#include "regalloc/life.h"

#include "ori/function.h"
#include "support/union_find.h"

#include <algorithm>

namespace orias::regalloc {

using ori::BlockId;

bool isLiveAt(const Web& web, Point point) {
  return std::ranges::any_of(web.components, [&](const Range& range) { return range.contains(point); });
}

LifeFinder::LifeFinder(const NumberedCode& code)
    : code_(code), points_(code.cfg().idCount()), heads_(code.cfg().idCount()), tails_(code.cfg().idCount()),
      seen_(code.cfg().idCount(), 0) {
  for (const ori::Block* block : code.function().layout())
    if (!block->empty()) points_[block->id] = {2 * code.number(*block->first), 2 * code.number(*block->last) + 2};
}

void LifeFinder::findReferences(const Web& web, Life& life) const {
  for (const auto& [v, offset] : web.members)
    for (const ori::Ref o : code_.function().refs(v))
      life.references.push_back({code_.number(*o.owner), o.owner->block->id, !o->isDef, o->isDef});
  std::ranges::sort(life.references, {}, &Reference::number);
  std::size_t count = 0;
  for (const Reference& r : life.references) {
    if (count != 0 && life.references[count - 1].number == r.number) {
      life.references[count - 1].reads |= r.reads;
      life.references[count - 1].writes |= r.writes;
    } else {
      life.references[count++] = r;
    }
  }
  life.references.resize(count);
}

std::vector<BlockId> LifeFinder::blocksOf(const Web& web, const Life& life) {
  std::vector<BlockId> blocks;
  const auto add = [&](Point point) {
    const BlockId block = code_.instr(point / 2)->block->id;
    if (seen_[block] == stamp_) return block;
    seen_[block] = stamp_;
    blocks.push_back(block);
    return block;
  };
  for (const Range& range : web.components)
    for (const Segment s : range.segments())
      for (Point at = s.start; at < s.end;)
        at = points_[add(at)].end;
  for (const Reference& r : life.references)
    add(2 * r.number);
  std::ranges::sort(blocks, {}, [&](BlockId block) { return points_[block].start; });
  return blocks;
}

bool LifeFinder::isLiveOut(const Web& web, BlockId block) const {
  if (!isLiveAt(web, points_[block].end - 1)) return false;
  return std::ranges::any_of(code_.cfg().successors(block), [&](BlockId s) {
    return points_[s].start == points_[s].end || isLiveAt(web, points_[s].start);
  });
}

void LifeFinder::connect(Life& life) {
  UnionFind together(life.gaps.size());
  for (std::uint32_t g = 0; g < life.gaps.size(); ++g) {
    if (life.gaps[g].after != kNoIndex) continue;
    for (const BlockId s : code_.cfg().successors(life.gaps[g].block))
      if (const std::uint32_t head = headOf(s); head != kNoIndex) together.join(g, head);
  }
  std::vector<std::uint32_t> numberOf(life.gaps.size(), kNoIndex);
  for (std::uint32_t g = 0; g < life.gaps.size(); ++g) {
    std::uint32_t& number = numberOf[together.root(g)];
    if (number == kNoIndex) number = life.regions++;
    life.gaps[g].region = number;
  }
}

void LifeFinder::select(const Life& life) {
  ++stamp_;
  for (std::uint32_t g = 0; g < life.gaps.size(); ++g) {
    const Gap& gap = life.gaps[g];
    if (gap.before == kNoIndex) heads_[gap.block] = {stamp_, g};
    if (gap.after == kNoIndex) tails_[gap.block] = {stamp_, g};
  }
}

Life LifeFinder::find(const Web& web) {
  ++stamp_;
  Life life;
  findReferences(web, life);
  std::uint32_t next = 0;
  for (const BlockId block : blocksOf(web, life)) {
    const auto [start, end] = points_[block];
    const bool isLiveIn = isLiveAt(web, start);
    const std::uint32_t first = next;
    Point from = start;
    std::uint32_t before = kNoIndex;
    for (; next < life.references.size() && 2 * life.references[next].number < end; ++next) {
      const Reference& r = life.references[next];
      if (before == kNoIndex ? isLiveIn : isLiveAt(web, 2 * r.number)) {
        if (before == kNoIndex) heads_[block] = {stamp_, static_cast<std::uint32_t>(life.gaps.size())};
        life.gaps.push_back({block, from, 2 * r.number, before, next});
      }
      before = next;
      from = 2 * r.number + (r.writes ? 2 : 1);
    }
    const bool isThrough = first == next && isLiveIn;
    if ((first == next && !isThrough) || !isLiveOut(web, block)) continue;
    if (isThrough) heads_[block] = {stamp_, static_cast<std::uint32_t>(life.gaps.size())};
    tails_[block] = {stamp_, static_cast<std::uint32_t>(life.gaps.size())};
    life.gaps.push_back({block, from, end, before, kNoIndex});
  }
  connect(life);
  return life;
}

} // namespace orias::regalloc
