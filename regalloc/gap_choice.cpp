#include "regalloc/gap_choice.h"

#include "ori/analysis/loops.h"
#include "ori/function.h"
#include "support/union_find.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace orias::regalloc {

using ori::BlockId;

namespace {

/// Limit for the gaps of all candidates together; beyond it webs are spilled whole.
constexpr std::size_t kMaxGaps = 4'000'000;

/// Gaps that leave the registers together: those of one region of a life, or all of a web.
struct Unit {
  std::uint32_t candidate = 0;
  double reloads = 0;         ///< weight of the reloads
  std::uint64_t coverage = 0; ///< registers that it frees, summed over the points with too high pressure
  bool isChosen = false;
};

struct Candidate {
  std::uint32_t web = 0;
  Life life;
  bool isWhole = false;
  double stores = 0; ///< weight of the stores
  bool isChosen = false;
  std::uint32_t firstUnit = 0;   ///< by region
  std::vector<bool> isKept = {}; ///< by gap: stays in registers
};

class GapChoice {
 public:
  GapChoice(const Webs& webs, const NumberedCode& code, unsigned limit, const PointLimits& limits)
      : webs_(webs), code_(code), finder_(code), change_(2 * code.count(), 0), room_(2 * code.count(), 0) {
    // Registers that are left at each point.
    for (const Web& web : webs.all)
      for (const Range& range : web.components)
        for (const Segment s : range.segments()) {
          ++change_[s.start];
          if (s.end < change_.size()) --change_[s.end];
        }
    int occupied = 0;
    for (Point point = 0; point < room_.size(); ++point)
      room_[point] = static_cast<int>(limit) - (occupied += change_[point]);
    for (const PointLimit& fewer : limits)
      for (const Segment s : fewer.where.segments())
        for (Point point = s.start; point < std::min<std::size_t>(s.end, room_.size()); ++point)
          room_[point] -= static_cast<int>(limit - fewer.limit);
  }

  std::vector<Victim> run(const std::function<bool(std::uint32_t)>& isWhole) {
    if (std::ranges::all_of(room_, [](int room) { return room >= 0; })) return {};
    crowdedBefore_.assign(room_.size() + 1, 0);
    for (Point point = 0; point < room_.size(); ++point)
      crowdedBefore_[point + 1] = crowdedBefore_[point] + (room_[point] < 0 ? 1 : 0);
    findCalmLoops();
    collect(isWhole);
    sweep();
    return settle();
  }

  std::vector<Victim> leave(std::span<const std::uint32_t> some, const Range& where) {
    std::vector<Victim> victims;
    for (const std::uint32_t w : some) {
      const Web& web = webs_.all[w];
      Candidate candidate{w, finder_.find(web)};
      candidate.isKept.assign(candidate.life.gaps.size(), true);
      for (std::uint32_t g = 0; g < candidate.life.gaps.size(); ++g) {
        const Gap& gap = candidate.life.gaps[g];
        bool isTouched = false;
        forEachOccupied(web, gap.start, gap.end, [&](Segment s) {
          Range part;
          part.add(s);
          isTouched = isTouched || part.overlaps(where);
        });
        if (isTouched) free(candidate, g);
      }
      victims.push_back(victimOf(candidate));
    }
    return victims;
  }

 private:
  std::uint64_t crowded(const Web& web, Point start, Point end) const {
    std::uint64_t count = 0;
    forEachOccupied(web, start, end, [&](Segment s) { count += crowdedBefore_[s.end] - crowdedBefore_[s.start]; });
    return count;
  }
  bool isCrowded(Segment s) const { return crowdedBefore_[s.end] != crowdedBefore_[s.start]; }
  double weightOfBlock(BlockId block) const { return weightOf(*code_.function().block(block)->first); }

  /// The outermost loop around each block that contains no crowded point: a value may stay in a register in all of it.
  void findCalmLoops() {
    const ori::DomTree dominators = ori::DomTree::dominators(code_.cfg());
    const ori::Loops loops(code_.cfg(), dominators);
    calmLoop_.assign(code_.cfg().idCount(), ori::kNoId);
    for (ori::LoopId loop = static_cast<ori::LoopId>(loops.all().size()); loop-- > 0;) {
      // Inner loops have higher numbers, so outer ones overwrite their entries.
      const auto blocks = loops.blocks(loop);
      if (std::ranges::any_of(blocks, [&](BlockId b) { return isCrowded(finder_.pointsOf(b)); })) continue;
      for (const BlockId b : blocks)
        calmLoop_[b] = loop;
    }
    for (const ori::Loop& loop : loops.all()) {
      double entries = 0;
      for (const BlockId p : code_.cfg().predecessors(loop.header))
        if (!code_.cfg().isRetreating(p, loop.header))
          entries += static_cast<double>(code_.function().block(p)->frequency) /
                     static_cast<double>(code_.cfg().successors(p).size());
      entryWeight_.push_back(entries);
    }
  }

  void collect(const std::function<bool(std::uint32_t)>& isWhole) {
    std::size_t gaps = 0;
    std::vector<ori::LoopId> entered;
    for (std::uint32_t w = 0; w < webs_.all.size(); ++w) {
      const Web& web = webs_.all[w];
      if (web.spillCost == std::numeric_limits<double>::infinity()) continue;
      if (crowded(web, 0, static_cast<Point>(room_.size())) == 0) continue;
      Candidate candidate{w, finder_.find(web), isWhole(w) || gaps > kMaxGaps};
      const Life& life = candidate.life;
      gaps += life.gaps.size();
      candidate.firstUnit = static_cast<std::uint32_t>(units_.size());
      const auto id = static_cast<std::uint32_t>(candidates_.size());
      units_.resize(units_.size() + (candidate.isWhole ? 1 : life.regions), Unit{id});
      for (const Reference& r : life.references)
        if (r.writes && !isWhole(w)) candidate.stores += weightOf(*code_.instr(r.number));
      for (const Gap& gap : life.gaps)
        units_[unitOf(candidate, gap)].coverage += crowded(web, gap.start, gap.end);
      entered.clear();
      std::uint32_t lastRegion = kNoIndex;
      for (const Gap& gap : life.gaps) {
        if (gap.after == kNoIndex) continue;
        Unit& unit = units_[unitOf(candidate, gap)];
        const ori::LoopId calm = calmLoop_[gap.block];
        if (candidate.isWhole || calm == ori::kNoId) {
          unit.reloads += weightOfBlock(gap.block);
          continue;
        }
        // One reload for all references in a loop where the value may stay.
        if (gap.region != lastRegion) entered.clear();
        lastRegion = gap.region;
        if (std::ranges::find(entered, calm) != entered.end()) continue;
        entered.push_back(calm);
        unit.reloads += entryWeight_[calm];
      }
      candidate.isKept.assign(life.gaps.size(), true);
      candidates_.push_back(std::move(candidate));
    }
  }

  static std::uint32_t unitOf(const Candidate& candidate, const Gap& gap) {
    return candidate.firstUnit + (candidate.isWhole ? 0 : gap.region);
  }

  /// Goes through the program: where too many registers are live, evicts the gaps with the lowest cost per freed
  /// register.
  void sweep() {
    struct Start {
      Point at, end;
      std::uint32_t candidate, unit;
    };
    std::vector<Start> starts;
    for (std::uint32_t c = 0; c < candidates_.size(); ++c)
      for (const Gap& gap : candidates_[c].life.gaps)
        if (gap.start < gap.end && crowded(webs_.all[candidates_[c].web], gap.start, gap.end) != 0)
          starts.push_back({gap.start, gap.end, c, unitOf(candidates_[c], gap)});
    std::ranges::stable_sort(starts, {}, &Start::at);
    std::set<std::pair<double, std::uint32_t>> live; // cheapest first; by index of the start
    std::size_t next = 0;
    for (Point point = 0; point < room_.size(); ++point) {
      for (; next < starts.size() && starts[next].at <= point; ++next) {
        const Unit& unit = units_[starts[next].unit];
        if (unit.isChosen) continue;
        const Candidate& candidate = candidates_[unit.candidate];
        const double cost = unit.reloads + (candidate.isChosen ? 0 : candidate.stores);
        live.insert({cost / static_cast<double>(unit.coverage), static_cast<std::uint32_t>(next)});
      }
      for (auto at = live.begin(); room_[point] < 0 && at != live.end();) {
        const Start& start = starts[at->second];
        Unit& unit = units_[start.unit];
        if (start.end <= point || unit.isChosen) {
          at = live.erase(at);
          continue;
        }
        const Web& web = webs_.all[candidates_[start.candidate].web];
        if (!isLiveAt(web, point)) {
          ++at;
          continue;
        }
        unit.isChosen = true;
        Candidate& candidate = candidates_[unit.candidate];
        candidate.isChosen = true;
        for (std::uint32_t g = 0; g < candidate.life.gaps.size(); ++g)
          if (&units_[unitOf(candidate, candidate.life.gaps[g])] == &unit) free(candidate, g);
        at = live.erase(at);
      }
    }
  }

  void add(const Web& web, Point start, Point end, int registers) {
    forEachOccupied(web, start, end, [&](Segment s) {
      for (Point point = s.start; point < s.end; ++point)
        room_[point] += registers;
    });
  }
  bool hasRoom(Point start, Point end) const {
    return std::all_of(room_.begin() + start, room_.begin() + end, [](int room) { return room >= 0; });
  }
  void free(Candidate& candidate, std::uint32_t g) {
    const Gap& gap = candidate.life.gaps[g];
    candidate.isKept[g] = false;
    add(webs_.all[candidate.web], gap.start, gap.end, 1);
  }

  /// Lets values return to registers where there is room after all, those with the most frequent references first.
  std::vector<Victim> settle() {
    std::vector<std::uint32_t> order;
    for (std::uint32_t c = 0; c < candidates_.size(); ++c)
      if (candidates_[c].isChosen) order.push_back(c);
    std::ranges::stable_sort(order, std::greater{},
                             [&](std::uint32_t c) { return webs_.all[candidates_[c].web].weight; });
    std::vector<Victim> victims;
    for (const std::uint32_t c : order) {
      Candidate& candidate = candidates_[c];
      if (candidate.isWhole) {
        victims.push_back({candidate.web});
        continue;
      }
      for (std::uint32_t g = 0; g < candidate.isKept.size(); ++g) {
        const Gap& gap = candidate.life.gaps[g];
        if (candidate.isKept[g]) continue;
        add(webs_.all[candidate.web], gap.start, gap.end, -1);
        candidate.isKept[g] = hasRoom(gap.start, gap.end);
        if (!candidate.isKept[g]) add(webs_.all[candidate.web], gap.start, gap.end, 1);
      }
      if (std::ranges::all_of(candidate.isKept, std::identity{})) continue;
      const double cost = costOf(candidate);
      victims.push_back(victimOf(candidate));
      victims.back().cost = cost;
    }
    std::ranges::sort(victims, {}, &Victim::web);
    return victims;
  }

  double costOf(const Candidate& candidate) const {
    double cost = candidate.stores;
    std::uint64_t coverage = 0;
    for (std::uint32_t i = 0; i < (candidate.isWhole ? 1 : candidate.life.regions); ++i) {
      const Unit& unit = units_[candidate.firstUnit + i];
      if (!unit.isChosen) continue;
      cost += unit.reloads;
      coverage += unit.coverage;
    }
    return coverage == 0 ? 0 : cost / static_cast<double>(coverage);
  }

  // --- pieces

  Victim victimOf(Candidate& candidate) {
    finder_.select(candidate.life);
    std::vector<std::pair<BlockId, std::uint32_t>> reloads; // at the end of a block, for a gap
    do {
      dropUnneeded(candidate);
      reloads.clear();
    } while (!findReloads(candidate, reloads) || dropExpensive(candidate, reloads));
    return piecesOf(candidate, reloads);
  }

  /// Frees gaps in which a value stays in a register but has no later use there.
  void dropUnneeded(Candidate& candidate) {
    const Life& life = candidate.life;
    std::vector<bool> isNeeded(life.gaps.size(), false);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t g = life.gaps.size(); g-- > 0;) {
        const Gap& gap = life.gaps[g];
        if (isNeeded[g] || !candidate.isKept[g]) continue;
        const auto isWanted = [&](BlockId s) {
          const std::uint32_t head = finder_.headOf(s);
          return head != kNoIndex && isNeeded[head];
        };
        isNeeded[g] = gap.after != kNoIndex || std::ranges::any_of(code_.cfg().successors(gap.block), isWanted);
        changed |= isNeeded[g];
      }
    }
    for (std::uint32_t g = 0; g < life.gaps.size(); ++g)
      if (candidate.isKept[g] && !isNeeded[g]) free(candidate, g);
  }

  /// Finds the blocks where values are reloaded that stay in registers from the beginning of a later block on. False if
  /// there is none for one gap; that gap has been given up then.
  bool findReloads(Candidate& candidate, std::vector<std::pair<BlockId, std::uint32_t>>& reloads) {
    const Web& web = webs_.all[candidate.web];
    std::vector<std::pair<BlockId, std::uint32_t>> found;
    for (std::uint32_t h = 0; h < candidate.life.gaps.size(); ++h) {
      const Gap& gap = candidate.life.gaps[h];
      if (gap.before != kNoIndex || !candidate.isKept[h]) continue;
      bool isAlwaysOutside = true, isPossible = true;
      found.clear();
      for (const BlockId p : code_.cfg().predecessors(gap.block)) {
        const Segment points = finder_.pointsOf(p);
        const std::uint32_t tail = finder_.tailOf(p);
        if (tail == kNoIndex ? points.start != points.end : candidate.isKept[tail]) {
          // The value is in a register there, or the path has no value.
          isAlwaysOutside &= tail == kNoIndex;
          continue;
        }
        found.push_back({p, h});
        isPossible = isPossible && points.start != points.end && code_.cfg().successors(p).size() == 1 &&
                     weightOfBlock(p) <= weightOfBlock(gap.block) && hasRoomAtEnd(web, points, gap.block);
      }
      if (found.empty()) continue;
      if (!isPossible || isAlwaysOutside) {
        free(candidate, h);
        takeBack(candidate, reloads);
        return false;
      }
      for (const auto& [p, head] : found)
        addAtEnd(web, p, gap.block, -1);
      reloads.insert(reloads.end(), found.begin(), found.end());
    }
    return true;
  }

  void takeBack(const Candidate& candidate, const std::vector<std::pair<BlockId, std::uint32_t>>& reloads) {
    for (const auto& [p, head] : reloads)
      addAtEnd(webs_.all[candidate.web], p, candidate.life.gaps[head].block, 1);
  }

  /// Where reloads at the ends of blocks cost more than one reload before each reference that they serve, the value
  /// stays in memory between the blocks: the arms of many branches in a row may each need its register. True if there
  /// was such a case.
  bool dropExpensive(Candidate& candidate, const std::vector<std::pair<BlockId, std::uint32_t>>& reloads) {
    if (reloads.empty()) return false;
    const Life& life = candidate.life;
    // Joins gaps that stay in registers together across blocks.
    UnionFind together(life.gaps.size());
    for (std::uint32_t g = 0; g < life.gaps.size(); ++g) {
      if (life.gaps[g].after != kNoIndex || !candidate.isKept[g]) continue;
      for (const BlockId s : code_.cfg().successors(life.gaps[g].block))
        if (const std::uint32_t head = finder_.headOf(s); head != kNoIndex && candidate.isKept[head])
          together.join(g, head);
    }
    std::vector<double> saved(life.gaps.size(), 0); // by root: reload cost at the references, less that at block ends
    std::vector<bool> isReloaded(life.gaps.size(), false);
    for (std::uint32_t g = 0; g < life.gaps.size(); ++g)
      if (candidate.isKept[g] && life.gaps[g].before == kNoIndex && life.gaps[g].after != kNoIndex)
        saved[together.root(g)] += weightOfBlock(life.gaps[g].block);
    for (const auto& [p, head] : reloads) {
      saved[together.root(head)] -= weightOfBlock(p);
      isReloaded[together.root(head)] = true;
    }
    bool isDropped = false;
    for (std::uint32_t g = 0; g < life.gaps.size(); ++g) {
      const bool isWithinBlock = life.gaps[g].before != kNoIndex && life.gaps[g].after != kNoIndex;
      if (!candidate.isKept[g] || isWithinBlock || !isReloaded[together.root(g)] || saved[together.root(g)] >= 0)
        continue;
      isDropped = true;
      free(candidate, g);
    }
    if (isDropped) takeBack(candidate, reloads);
    return isDropped;
  }

  unsigned liveAtStart(const Web& web, BlockId block) const {
    const Point start = finder_.pointsOf(block).start;
    return static_cast<unsigned>(
        std::ranges::count_if(web.components, [&](const Range& range) { return range.contains(start); }));
  }
  bool hasRoomAtEnd(const Web& web, Segment points, BlockId successor) const {
    const auto wanted = static_cast<int>(liveAtStart(web, successor));
    return room_[points.end - 1] >= wanted && room_[points.end - 2] >= wanted;
  }
  void addAtEnd(const Web& web, BlockId block, BlockId successor, int sign) {
    const Point end = finder_.pointsOf(block).end;
    const int registers = sign * static_cast<int>(liveAtStart(web, successor));
    room_[end - 1] += registers;
    room_[end - 2] += registers;
  }

  Victim piecesOf(Candidate& candidate, const std::vector<std::pair<BlockId, std::uint32_t>>& reloads) {
    Victim victim{candidate.web, false, 0, std::move(candidate.life)};
    victim.isReloaded.assign(victim.life.references.size(), true);
    const Life& life = victim.life;
    // Elements: the references, then the gaps.
    const auto references = static_cast<std::uint32_t>(life.references.size());
    UnionFind together(references + life.gaps.size());
    for (std::uint32_t g = 0; g < life.gaps.size(); ++g) {
      if (!candidate.isKept[g]) continue;
      const Gap& gap = life.gaps[g];
      if (gap.before != kNoIndex) together.join(references + g, gap.before);
      if (gap.after != kNoIndex) {
        together.join(references + g, gap.after);
        victim.isReloaded[gap.after] = false;
        continue;
      }
      for (const BlockId s : code_.cfg().successors(gap.block))
        if (const std::uint32_t head = finder_.headOf(s); head != kNoIndex && candidate.isKept[head])
          together.join(references + g, references + head);
    }
    std::vector<std::uint32_t> numberOf(references + life.gaps.size(), kNoIndex);
    for (std::uint32_t r = 0; r < references; ++r) {
      std::uint32_t& number = numberOf[together.root(r)];
      if (number == kNoIndex) {
        number = static_cast<std::uint32_t>(victim.pieces.size());
        victim.pieces.emplace_back();
      }
      victim.pieceOf.push_back(number);
      ++victim.pieces[number].references;
    }
    for (const auto& [block, head] : reloads)
      if (const std::uint32_t number = numberOf[together.root(references + head)]; number != kNoIndex)
        victim.pieces[number].reloads.push_back({block, life.gaps[head].start});
    return victim;
  }

  const Webs& webs_;
  const NumberedCode& code_;
  LifeFinder finder_;
  std::vector<int> change_;
  std::vector<int> room_; ///< by point: free registers; negative where too many are live
  std::vector<std::uint32_t> crowdedBefore_;
  std::vector<ori::LoopId> calmLoop_; ///< by block
  std::vector<double> entryWeight_;   ///< by loop
  std::vector<Candidate> candidates_;
  std::vector<Unit> units_;
};

} // namespace

std::vector<Victim> chooseGaps(const Webs& webs, const NumberedCode& code, unsigned limit, const PointLimits& limits,
                               const std::function<bool(std::uint32_t)>& isWhole) {
  return GapChoice(webs, code, limit, limits).run(isWhole);
}

double spillWeight(std::span<const Victim> victims, const Webs& webs, const NumberedCode& code) {
  double weight = 0;
  for (const Victim& victim : victims) {
    if (victim.isWhole) {
      weight += webs.all[victim.web].weight;
      continue;
    }
    for (std::size_t r = 0; r < victim.life.references.size(); ++r) {
      const Reference& reference = victim.life.references[r];
      const int accesses = (reference.writes ? 1 : 0) + (reference.reads && victim.isReloaded[r] ? 1 : 0);
      weight += accesses * weightOf(*code.instr(reference.number));
    }
    for (const Piece& piece : victim.pieces)
      for (const auto& [block, point] : piece.reloads)
        weight += weightOf(*code.function().block(block)->first);
  }
  return weight;
}

std::vector<Victim> leaveRegisters(const Webs& webs, const NumberedCode& code, unsigned limit,
                                   std::span<const std::uint32_t> some, const Range& where) {
  return GapChoice(webs, code, limit, {}).leave(some, where);
}

} // namespace orias::regalloc
