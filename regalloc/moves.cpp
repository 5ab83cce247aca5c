#include "regalloc/moves.h"

#include "ori/function.h"
#include "regalloc/life.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>

namespace orias::regalloc {

using ori::Instr;
using ori::VRegId;

namespace {

/// Lengths that are tried: a web does not return to its register where that is free for fewer points between two
/// conflicts.
constexpr Point kShortest[] = {16, 128, 1024};
/// How many webs tuples may take a run from.
constexpr std::size_t kMaxTakenFrom = 24;

class MovePlacer {
 public:
  MovePlacer(const Webs& webs, const NumberedCode& code, const RegisterBudget& budget, Placement& placement)
      : webs_(webs), code_(code), finder_(code), budget_(budget), slots_(fixedSlots(budget)), fixed_(slots_),
        ownersOf_(budget.limit), placement_(placement) {
    for (std::uint32_t id = 0; id < webs.all.size(); ++id)
      if (placement.slotOf[id] != kNoSlot)
        for (unsigned i = 0; i < webs.all[id].width; ++i) {
          slots_[placement.slotOf[id] + i].occupy(webs.all[id].components[i]);
          ownersOf_[placement.slotOf[id] + i].push_back(id);
        }
  }

  std::optional<Moves> run() {
    if (!makeRoomForTuples()) return std::nullopt;
    Moves moves;
    for (const std::uint32_t id : placement_.failed) {
      if (!isWhole(webs_.all[id])) return std::nullopt;
      std::optional<MovingWeb> web = place(id);
      if (!web) return std::nullopt;
      moves.weight += costOf(web->stays);
      moves.webs.push_back(std::move(*web));
    }
    placement_.failed.clear();
    moves.taken = std::move(taken_);
    return moves;
  }

 private:
  /// A part of a live range within one block.
  struct Part {
    Point start, end;
    bool isFromBefore, isForAfter; ///< begins or ends with the block
  };

  /// A register that is free from a point on.
  struct Opening {
    std::uint32_t slot;
    Point until;
  };
  /// Registers that are free from a point on, in ascending order, each free longer than all before it.
  struct Openings {
    std::vector<Opening> longer;
    std::uint32_t next = 0; ///< the first register that has not been examined
  };

  /// Whether all definitions are unguarded. Values that exist only where a guard is true cannot be copied alone.
  bool isWhole(const Web& web) const {
    for (const auto& [v, offset] : web.members)
      for (const ori::Ref o : code_.function().refs(v))
        if (o->isDef && o.owner->isGuarded() && !isLiveAt(web, 2 * code_.number(*o.owner))) return false;
    return true;
  }

  /// Gives tuples the runs of the cheapest single values, which then lose their registers. False if a tuple has no such
  /// run.
  bool makeRoomForTuples() {
    std::vector<std::uint32_t> failed = placement_.failed;
    std::ranges::stable_sort(failed, std::ranges::greater(), [&](std::uint32_t id) { return webs_.all[id].width; });
    placement_.failed.clear();
    std::size_t taken = 0;
    for (const std::uint32_t id : failed) {
      const Web& web = webs_.all[id];
      if (web.width == 1) {
        placement_.failed.push_back(id);
        continue;
      }
      std::optional<Run> best;
      for (std::uint32_t base = 0; base + web.width <= budget_.limit; base += web.align)
        if (std::optional<Run> run = runAt(web, base); run && (!best || run->weight < best->weight))
          best = std::move(run);
      if (!best || (taken += best->owners.size()) > kMaxTakenFrom) return false;
      for (const std::uint32_t owner : best->owners) {
        slots_[placement_.slotOf[owner]].release(webs_.all[owner].components[0]);
        placement_.slotOf[owner] = kNoSlot;
        placement_.failed.push_back(owner);
      }
      for (unsigned i = 0; i < web.width; ++i) {
        slots_[best->base + i].occupy(web.components[i]);
        std::vector<std::uint32_t>& owners = ownersOf_[best->base + i];
        owners.insert(std::ranges::lower_bound(owners, id), id);
      }
      placement_.slotOf[id] = best->base;
      placement_.used = std::max(placement_.used, best->base + web.width);
    }
    return true;
  }

  /// A run of registers, and the single values that occupy it.
  struct Run {
    std::uint32_t base;
    double weight = 0;
    std::vector<std::uint32_t> owners;
  };

  /// Nothing if the run conflicts with something that cannot move.
  std::optional<Run> runAt(const Web& web, std::uint32_t base) const {
    Run run{base, 0, {}};
    for (unsigned i = 0; i < web.width; ++i) {
      const Range& range = web.components[i];
      if (range.empty()) continue;
      const std::uint32_t slot = base + i;
      if ((slot < budget_.reserved.size() && budget_.reserved[slot]) || fixed_[slot].overlaps(range))
        return std::nullopt;
      if (!slots_[slot].overlaps(range)) continue;
      for (const std::uint32_t other : ownersOf_[slot]) {
        const Web& owner = webs_.all[other];
        const std::uint32_t at = placement_.slotOf[other];
        if (at == kNoSlot || slot < at || slot >= at + owner.width || !owner.components[slot - at].overlaps(range))
          continue;
        if (owner.width != 1 || !isWhole(owner) || run.owners.size() == kMaxTakenFrom) return std::nullopt;
        run.owners.push_back(other);
        run.weight += owner.weight;
      }
    }
    return run;
  }

  bool isReserved(std::uint32_t slot) const { return slot < budget_.reserved.size() && budget_.reserved[slot]; }
  bool isFree(std::uint32_t slot, Point point) const { return !isReserved(slot) && !slots_[slot].isTaken(point); }
  Point nextTaken(std::uint32_t slot, Point from, Point end) const {
    return isReserved(slot) ? from : slots_[slot].nextTaken(from, end);
  }
  Point nextFree(std::uint32_t slot, Point from, Point end) const {
    return isReserved(slot) ? end : slots_[slot].nextFree(from, end);
  }

  std::vector<Part> partsOf(const Web& web) const {
    std::vector<Part> parts;
    for (const Segment s : web.components[0].segments())
      for (Point at = s.start; at < s.end;) {
        const Segment block = finder_.pointsOf(code_.instr(at / 2)->block->id);
        const Point end = std::min(s.end, block.end);
        parts.push_back({at, end, at == block.start, end == block.end});
        at = end;
      }
    return parts;
  }

  std::optional<MovingWeb> place(std::uint32_t id) {
    const Web& web = webs_.all[id];
    const std::vector<Part> parts = partsOf(web);
    openings_.clear();
    struct Candidate {
      double cost;
      std::uint32_t slot;
    };
    std::vector<Candidate> candidates;
    for (std::uint32_t slot = 0; slot < budget_.limit; ++slot) {
      const bool isFull = candidates.size() == kMaxTried;
      const std::optional<double> cost = costAt(parts, slot, isFull ? candidates.back().cost : kAnyCost);
      if (!cost) continue;
      if (isFull) candidates.pop_back();
      candidates.insert(std::ranges::upper_bound(candidates, *cost, {}, &Candidate::cost), {*cost, slot});
    }
    std::optional<MovingWeb> best;
    double lowest = 0;
    std::uint32_t home = kNoSlot;
    for (const Candidate& candidate : candidates)
      for (const Point shortest : kShortest) {
        shortest_ = shortest;
        std::vector<Stay> stays;
        const std::optional<double> cost = stay(parts, candidate.slot, best ? lowest : kAnyCost, stays);
        if (!cost) continue;
        lowest = *cost;
        home = candidate.slot;
        best = MovingWeb{id, std::move(stays)};
      }
    shortest_ = kShortest[0];
    if (best) commit(web, home, best->stays);
    return best;
  }

  /// The weight of the copies, assuming that each stay is entered and left by one copy.
  double costOf(const std::vector<Stay>& stays) const {
    double cost = 0;
    addCosts(stays, 0, cost);
    return cost;
  }
  /// Adds the weight for the stays from `first` on.
  void addCosts(const std::vector<Stay>& stays, std::size_t first, double& cost) const {
    for (std::size_t i = first; i < stays.size(); ++i) {
      const bool isNextTo = i != 0 && stays[i - 1].end == stays[i].start;
      cost += (isNextTo ? 1 : 2) * weightOf(*code_.instr(stays[i].start / 2));
    }
  }

  /// Calls f(start, end) for each stretch of the part in which another web has the register; short free stretches
  /// between are included. False if the part begins or ends in a stretch but must be in the register there.
  template <typename F> bool forEachConflict(const Part& part, std::uint32_t slot, F&& f) const {
    const Point first = part.isFromBefore ? part.start + 2 : part.start;
    for (Point point = part.start; point < std::min(first + 1, part.end); ++point)
      if (part.isFromBefore && !isFree(slot, point)) return false;
    Point start = part.end, end = part.end; // the current stretch; none yet
    bool isOpen = false;
    for (Point point = part.start; (point = nextTaken(slot, point, part.end)) < part.end;) {
      if (isOpen && point > end + shortest_) {
        f(start, end);
        isOpen = false;
      }
      if (!isOpen) start = std::max(part.start, point & ~Point{1});
      isOpen = true;
      // The copy back writes the register, so it is free before that copy.
      point = nextFree(slot, point, part.end);
      end = (point + 2) & ~Point{1};
    }
    if (!isOpen) return true;
    if (end >= part.end) {
      if (part.isForAfter) return false;
      end = part.end;
    }
    f(start, end);
    return true;
  }

  /// The cost of the copies; nothing if `slot` is not possible, or if it costs `enough` or more.
  std::optional<double> costAt(const std::vector<Part>& parts, std::uint32_t slot, double enough) const {
    double cost = 0;
    for (const Part& part : parts) {
      const double weight = weightOf(*code_.instr(part.start / 2));
      const bool isPossible = forEachConflict(
          part, slot, [&](Point start, Point end) { cost += ((start != part.start) + (end != part.end)) * weight; });
      if (!isPossible || cost >= enough) return std::nullopt;
    }
    return cost < enough ? std::optional(cost) : std::nullopt;
  }

  /// Finds registers for the stretches in which `slot` is taken. Returns the cost; nothing if there are no such
  /// registers, or if they cost `enough` or more.
  std::optional<double> stay(const std::vector<Part>& parts, std::uint32_t slot, double enough,
                             std::vector<Stay>& stays) {
    double cost = 0;
    for (const Part& part : parts) {
      const std::size_t old = stays.size();
      bool isPlaced = true;
      if (!forEachConflict(part, slot,
                           [&](Point start, Point end) { isPlaced = isPlaced && cover(part, start, end, stays); }) ||
          !isPlaced)
        return std::nullopt;
      addCosts(stays, old, cost);
      if (cost >= enough) return std::nullopt;
    }
    return cost < enough ? std::optional(cost) : std::nullopt;
  }

  /// Covers the stretch with stays, each in the register that is free longest.
  bool cover(const Part& part, Point start, Point end, std::vector<Stay>& stays) {
    for (Point at = start; at < end;) {
      Stay best{at, at, 0};
      Openings& openings = openings_[at];
      for (std::size_t i = 0; best.end < end; ++i) {
        if (i == openings.longer.size() && !findLonger(openings, part, at)) break;
        const Opening& opening = openings.longer[i];
        const Point until = opening.until < end ? opening.until & ~Point{1} : end;
        if (until > best.end) best = {at, until, opening.slot};
      }
      if (best.end == at) return false;
      at = best.end;
      stays.push_back(best);
    }
    return true;
  }

  /// Looks for the next register that is free longer than all known ones. False if there is none.
  bool findLonger(Openings& openings, const Part& part, Point at) const {
    const Point longest = openings.longer.empty() ? at : openings.longer.back().until;
    if (longest == part.end) return false;
    while (openings.next < budget_.limit) {
      const std::uint32_t slot = openings.next++;
      // The copy writes the register a point earlier, where no other web may be leaving it.
      if (!isFree(slot, at == part.start ? at : at - 1)) continue;
      const Point until = nextTaken(slot, at, part.end);
      if (until <= longest) continue;
      openings.longer.push_back({slot, until});
      return true;
    }
    return false;
  }

  void commit(const Web& web, std::uint32_t slot, const std::vector<Stay>& stays) {
    placement_.slotOf[static_cast<std::size_t>(&web - webs_.all.data())] = slot;
    placement_.used = std::max(placement_.used, slot + 1);
    // Copies before one instruction come in any order: none may write what another one reads. So a register is taken
    // one point before its copy.
    const auto occupy = [&](std::uint32_t where, Point start, Point end, bool isCopied) {
      if (start >= end) return;
      Range range;
      range.add({start - (isCopied ? 1 : 0), end});
      slots_[where].occupy(range);
      taken_.push_back({where, std::move(range)});
    };
    auto next = stays.begin();
    for (const Segment s : web.components[0].segments()) {
      Point at = s.start;
      for (; next != stays.end() && next->start < s.end; ++next) {
        occupy(slot, at, next->start, at != s.start);
        occupy(next->slot, next->start, next->end, next->start != s.start);
        placement_.used = std::max(placement_.used, next->slot + 1);
        at = next->end;
      }
      occupy(slot, at, s.end, at != s.start);
    }
  }

  static constexpr std::size_t kMaxTried = 12;
  static constexpr double kAnyCost = std::numeric_limits<double>::infinity();
  Point shortest_ = kShortest[0];

  const Webs& webs_;
  const NumberedCode& code_;
  LifeFinder finder_;
  const RegisterBudget& budget_;
  std::vector<RegisterOccupancy> slots_;
  const std::vector<RegisterOccupancy> fixed_;       ///< including what cannot be moved
  std::vector<std::vector<std::uint32_t>> ownersOf_; ///< by slot, ascending; some may have left it
  Placement& placement_;
  std::vector<TakenByMoving> taken_;
  std::unordered_map<Point, Openings> openings_; ///< by point; valid until something is placed
};

} // namespace

std::optional<Moves> placeByMoves(const Webs& webs, const NumberedCode& code, const RegisterBudget& budget,
                                  Placement& placement) {
  Placement complete = placement;
  std::optional<Moves> moves = MovePlacer(webs, code, budget, complete).run();
  if (moves) placement = std::move(complete);
  return moves;
}

namespace {

/// Creates virtual registers for the stays of webs.
class MoveInserter {
 public:
  MoveInserter(ori::Function& function, const LiveRanges& ranges, SpillState& state,
               std::vector<std::uint32_t>& physical)
      : function_(function), ranges_(ranges), state_(state), physical_(physical) {}

  void run(const Web& web, const std::vector<Stay>& stays) {
    for (const auto& [v, offset] : web.members) {
      std::vector<VRegId> names;
      for (const Stay& stay : stays)
        names.push_back(nameOf(v, stay));
      rename(v, stays, names);
      for (std::size_t i = 0; i < stays.size(); ++i) {
        const bool isNextTo = i != 0 && stays[i - 1].end == stays[i].start;
        if (passes(v, stays[i].start)) copy(stays[i].start, names[i], isNextTo ? names[i - 1] : v);
        const bool isLast = i + 1 == stays.size() || stays[i + 1].start != stays[i].end;
        if (isLast && passes(v, stays[i].end)) copy(stays[i].end, v, names[i]);
      }
    }
  }

 private:
  /// The register for a stay; kNoId where `v` is not live.
  VRegId nameOf(VRegId v, const Stay& stay) {
    Range range;
    range.add({stay.start, stay.end});
    if (!ranges_.component(v, 0).overlaps(range)) return ori::kNoId;
    const VRegId name = function_.newVReg(isa::File::R);
    state_.grow(function_);
    state_.assignment.standsFor[name] = state_.assignment.standsFor[v];
    state_.assignment.partOf[name] = state_.assignment.partOf[v];
    physical_.resize(function_.vregCount(), ~0u);
    physical_[name] = stay.slot;
    return name;
  }

  void rename(VRegId v, const std::vector<Stay>& stays, const std::vector<VRegId>& names) {
    struct Named {
      Instr* instr;
      unsigned index;
      VRegId name;
    };
    std::vector<Named> all;
    for (const ori::Ref o : function_.refs(v)) {
      if (!ranges_.isNumbered(*o.owner)) continue; // a copy that was inserted for another member
      const Point point = o->isDef ? ranges_.defPoint(*o.owner) : ranges_.usePoint(*o.owner);
      for (std::size_t i = 0; i < stays.size(); ++i)
        if (stays[i].start <= point && point < stays[i].end) all.push_back({o.owner, o.index(), names[i]});
    }
    for (const Named& n : all) {
      isa::Operand operand = n.instr->op_(n.index).value();
      operand.reg = n.name;
      if (n.instr->op_(n.index).isDef)
        function_.moveResult(n.instr, n.index, operand);
      else
        function_.setOperand(n.instr, n.index, operand);
    }
  }

  /// Whether the register is live before and after a point inside a block.
  bool passes(VRegId v, Point point) const {
    const Range& range = ranges_.component(v, 0);
    return point % 2 == 0 && point != 0 && range.contains(point - 1) && range.contains(point) &&
           ranges_.instrAt(point - 1)->block == ranges_.instrAt(point)->block;
  }

  void copy(Point point, VRegId to, VRegId from) {
    Instr* instr = function_.create(ori::Op::COPY, std::array{function_.use(to), function_.use(from)});
    function_.insertBefore(ranges_.instrAt(point), instr);
    state_.assignment.spillMoves[instr->id] = {SpillMove::Kind::Move, 0, 1};
  }

  ori::Function& function_;
  const LiveRanges& ranges_;
  SpillState& state_;
  std::vector<std::uint32_t>& physical_;
};

} // namespace

void insertMoves(ori::Function& function, const Webs& webs, const LiveRanges& ranges, std::span<const MovingWeb> moving,
                 SpillState& state, std::vector<std::uint32_t>& physical) {
  MoveInserter inserter(function, ranges, state, physical);
  for (const MovingWeb& web : moving)
    inserter.run(webs.all[web.web], web.stays);
}

} // namespace orias::regalloc
