#include "phases/remat/block_engine.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/live_step.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <set>

namespace orias::phases {

using isa::File;
using ori::BlockId;
using ori::CompId;
using ori::Instr;
using ori::VRegId;

namespace {

/// Bits of knob NvRematBlock.
constexpr unsigned kChains = 2, kSecondChance = 4, kWideFirst = 8;
/// The most points of one block in one iteration.
constexpr unsigned kMaxPoints = 16;
/// Compile-time bounds. A plan examines the instructions of a block and operands, on each path that leads to them. The
/// first bound is for all such work in a function.
constexpr std::uint64_t kMaxWork = 10'000'000, kWorkOfPlan = 500;
constexpr std::uint64_t kMaxWorkForWarps = kMaxWork / 25; // spills cost more than additional warps gain

Rematerializer::Costs costsOf(const Knobs& knobs) {
  Rematerializer::Costs costs;
  costs.load = static_cast<unsigned>(knobs.get(Knob::NvRematBlockLoadCost));
  costs.mayLoad = knobs.enabled(Knob::LoadRemat);
  costs.mayLoadGeneric = !knobs.enabled(Knob::VaspFix1);
  return costs;
}

unsigned knobOf(const PhaseContext& context, Knob knob) {
  return static_cast<unsigned>(context.knobs.get(knob));
}

/// Whether the document's target applies, regardless of the occupancy.
bool followsDocument(const PhaseContext& context) {
  return knobOf(context, Knob::MaxRegKind) == 1;
}

} // namespace

BlockEngine::BlockEngine(ori::Function& function, PhaseContext& context)
    : function_(function), context_(context), cfg_(function.analyses().cfg()),
      dominators_(function.analyses().dominators()), loops_(function.analyses().loops()),
      modes_(knobOf(context, Knob::NvRematBlock)), remat_(function, dominators_, costsOf(context.knobs)),
      targets_(function, context), pressure_(cfg_, context.knobs.enabled(Knob::VerifyUpdateMrpa)),
      planner_(function, cfg_, dominators_, loops_, pressure_.liveness(), remat_), log_(function) {}

template <typename... Args> void BlockEngine::dump(fmt::format_string<Args...> line, Args&&... args) const {
  if (!context_.dump || !context_.knobs.enabled(Knob::NvDumpRematBlock)) return;
  *context_.dump += fmt::format(line, std::forward<Args>(args)...) + "\n";
}

double BlockEngine::weightOf(const ori::Block& block) const {
  constexpr double kRounds = 8, kCold = 0.01;
  return block.isCold ? kCold : std::pow(kRounds, std::min<std::uint32_t>(loops_.depth(block.id), 6));
}

std::vector<RematTarget> BlockEngine::targets() const {
  if (!followsDocument(context_)) return targets_.forLive(maxLive());
  return {{std::min(knobOf(context_, Knob::NvRematDefaultMaxReg), targets_.limit()), RematTarget::Reason::Share}};
}

void BlockEngine::noteOverfull() {
  isOver_.assign(cfg_.idCount(), false);
  for (const BlockId id : cfg_.reversePostOrder())
    isOver_[id] = excessIn(id) > 0;
}

bool BlockEngine::run(const RematTarget& target) {
  liveAtFirst_ = maxLive();
  target_ = target;
  dump("Max-Live-Function({}) = {}", cfg_.reversePostOrder().size(), liveAtFirst_);
  if (targets_.excess(pressure_.pressure(), cfg_, target_) == 0) return false;
  if (needsTarget() && isFull()) return false;
  if (needsTarget() && isPeakOutOfReach()) return false;
  liveOutBlocks_.assign(function_.vregCount(), 0);
  for (const BlockId id : cfg_.reversePostOrder()) {
    VRegId last = ori::kNoId;
    pressure_.liveness().liveOut(id).forEach([&](CompId comp) {
      if (!pressure_.liveness().components().isVirtual(comp)) return;
      const VRegId reg = pressure_.liveness().components().vreg(comp);
      if (reg != last) ++liveOutBlocks_[reg];
      last = reg;
    });
    const ori::Block& block = *function_.block(id);
    for (const Instr* instr = block.first; instr; instr = instr->next)
      weightAtFirst_ += weightOf(block);
  }
  for (unsigned i = 1; i <= knobOf(context_, Knob::NvRematMaxTimes); ++i) {
    if (i > 1) dump("Max-Live-Function({}) = {}", cfg_.reversePostOrder().size(), maxLive());
    if (!iterate() || targets_.excess(pressure_.pressure(), cfg_, target_) == 0) break;
  }
  if (values_ == 0) return false;
  if (!isWorthIt()) {
    context_.remarks.missed(
        nullptr, fmt::format("{} values not rematerialized: pressure {} instead of {} does not pay (target {}, {})",
                             values_, maxLive(), liveAtFirst_, target_.registers, nameOf(target_.reason)));
    dump("Reverted: no gain");
    log_.undo();
    return false;
  }
  context_.remarks.countRematerialised(values_);
  context_.remarks.applied(
      nullptr,
      fmt::format("rematerialized {} values with {} instructions: maximum pressure {} instead of {} (target {}, {})",
                  values_, clones_, maxLive(), liveAtFirst_, target_.registers, nameOf(target_.reason)),
      clones_);
  return true;
}

bool BlockEngine::needsTarget() const {
  return !followsDocument(context_) && target_.reason == RematTarget::Reason::Occupancy;
}

bool BlockEngine::isFull() {
  const ori::Components& components = pressure_.liveness().components();
  PullInRules rules;
  rules.chainCost = knobOf(context_, Knob::NvRematBlockSingleCost);
  planner_.setRules(rules);
  std::vector<std::optional<bool>> isFixed(function_.vregCount()); // computed on demand
  std::vector<BlockId> liveIn(components.count(),
                              ori::kNoId); // the block in which the component is live at the current position
  std::vector<CompId> ended;
  unsigned count = 0;
  for (const BlockId id : cfg_.reversePostOrder()) {
    if (pressure_.pressure().inBlock(id)[static_cast<std::size_t>(File::R)] != maxLive()) continue;
    const auto isLive = [&](CompId comp) { return liveIn[comp] == id; };
    const auto add = [&](CompId comp) {
      if (isLive(comp) || components.file(comp) != File::R) return;
      if (components.isVirtual(comp)) {
        std::optional<bool>& fixed = isFixed[components.vreg(comp)];
        if (!fixed) fixed = planner_.isFixed(components.vreg(comp));
        if (!*fixed) return;
      }
      liveIn[comp] = id;
      ++count;
    };
    const auto remove = [&](CompId comp) {
      if (!isLive(comp)) return;
      liveIn[comp] = ori::kNoId;
      --count;
    };
    count = 0;
    pressure_.liveness().liveOut(id).forEach(add);
    for (const Instr* instr = function_.block(id)->last; instr && count <= target_.registers; instr = instr->prev)
      stepUpwards(pressure_.liveness(), *instr, ended, isLive, add, remove);
    if (count > target_.registers) return true;
  }
  return false;
}

bool BlockEngine::isPeakOutOfReach() {
  const auto isPeak = [&](BlockId id) {
    return pressure_.pressure().inBlock(id)[static_cast<std::size_t>(File::R)] == maxLive();
  };
  const auto peak = std::ranges::find_if(cfg_.reversePostOrder(), isPeak);
  if (peak == cfg_.reversePostOrder().end()) return false;
  noteOverfull();
  std::vector<VRegId> live;
  const PressurePoint point = pointOf(*peak, live);
  setRulesFor(*peak);
  return isOutOfReach(classify(point, live), excessIn(*peak));
}

bool BlockEngine::isWorthIt() const {
  if (!needsTarget()) return true;
  if (maxLive() > target_.registers) return false;
  const unsigned otherwise = std::max(liveAtFirst_, target_.otherwise);
  return targets_.areWarpsWorth(otherwise, maxLive(), added_, weightAtFirst_);
}

bool BlockEngine::iterate() {
  bool changed = false;
  for (const BlockId id : cfg_.reversePostOrder())
    for (unsigned i = 0; i < kMaxPoints && excessIn(id) > 0 && !isHopeless_; ++i) {
      if (!pullInto(id)) break;
      changed = true;
    }
  return changed && !isHopeless_;
}

/// The point of highest pressure in a block, and the values that are live across it, without those that the instruction
/// there reads or writes.
PressurePoint BlockEngine::pointOf(BlockId id, std::vector<VRegId>& live) const {
  constexpr auto kR = static_cast<std::size_t>(File::R);
  const ori::Liveness& liveness = pressure_.liveness();
  const ori::Components& components = liveness.components();
  PressurePoint point{id, nullptr};
  ori::LiveCursor cursor(liveness);
  cursor.enter(*function_.block(id));
  const auto take = [&](CompId comp) {
    if (components.isVirtual(comp) && components.file(comp) == File::R) live.push_back(components.vreg(comp));
  };
  const bool isAtEnd = followsDocument(context_) && !context_.knobs.enabled(Knob::NvRematCheckInternalLive);
  if (!isAtEnd) {
    const unsigned most = pressure_.pressure().inBlock(id)[kR];
    std::vector<CompId> after;
    while (cursor.next() && cursor.maximum()[kR] < most) {
      after = cursor.live();
      point.instr = cursor.next();
      cursor.step();
    }
    if (point.instr) {
      for (const CompId comp : after)
        if (cursor.isLive(comp)) take(comp);
      std::erase_if(live, [&](VRegId reg) {
        return std::any_of(point.instr->refs().begin(), point.instr->refs().end(),
                           [&](const ori::Operand& o) { return o.isVirtual() && o.reg == reg; });
      });
    }
  }
  if (!point.instr)
    for (const CompId comp : cursor.live())
      take(comp);
  std::sort(live.begin(), live.end());
  return point;
}

void BlockEngine::setRulesFor(BlockId id) {
  PullInRules rules;
  rules.allowsChains = hasMode(kChains);
  rules.allowsSpecialRegisters = excessIn(id) >= knobOf(context_, Knob::NvRematThresholdForSpecReg);
  rules.loopCostFactor = knobOf(context_, Knob::NvRematBlockLoopCostFactor);
  rules.chainCost = knobOf(context_, Knob::NvRematBlockSingleCost);
  planner_.setRules(rules);
}

BlockEngine::Candidates BlockEngine::classify(const PressurePoint& point, const std::vector<VRegId>& live) {
  const std::uint64_t mostWork = target_.reason == RematTarget::Reason::Occupancy ? kMaxWorkForWarps : kMaxWork;
  std::uint64_t workOfPlan = kWorkOfPlan;
  for (const Instr* at = function_.block(point.block)->first; at; at = at->next)
    ++workOfPlan;
  Candidates out;
  for (std::size_t i = 0, end = 0; i < live.size(); i = end) {
    while (end < live.size() && live[end] == live[i])
      ++end;
    const VRegId value = live[i];
    if (!planner_.isPossible(value)) {
      if (context_.dump) dump("%r{}: {}", value, remat_.whyNot(value));
      continue;
    }
    if (!planner_.isAllowed(value) || work_ >= mostWork) continue;
    const std::uint64_t looks = planner_.looks();
    std::optional<PullIn> plan = planner_.plan(value, point, isOver_);
    work_ += workOfPlan + planner_.looks() - looks;
    if (!plan) continue;
    plan->width = static_cast<unsigned>(end - i);
    (plan->missing.empty() ? out.good : out.waiting).push_back(std::move(*plan));
  }
  return out;
}

bool BlockEngine::isOutOfReach(const Candidates& candidates, unsigned excess) const {
  if (!needsTarget()) return false;
  unsigned most = 0;
  for (const PullIn& p : candidates.good)
    if (isAffordable(p)) most += p.width;
  for (const PullIn& p : candidates.waiting)
    most += p.width;
  return most < excess;
}

/// Second chance for values that need operands kept live: one more live value for each operand, if that frees more
/// registers. Moves those for which it does to the good candidates. Returns how many.
unsigned BlockEngine::giveSecondChance(Candidates& candidates) const {
  // Many candidates need the same operands.
  struct Need {
    std::vector<VRegId> rest; // what is missing and not kept yet, sorted
    unsigned width = 0;       // of all candidates that need these
  };
  std::vector<Need> needs;
  std::map<std::vector<VRegId>, std::size_t> indexOf;
  for (const PullIn& waiting : candidates.waiting) {
    const auto [at, isNew] = indexOf.try_emplace(waiting.missing, needs.size());
    if (isNew) needs.push_back({waiting.missing, 0});
    needs[at->second].width += waiting.width;
  }
  std::vector<VRegId> kept; // sorted
  const auto paysOff = [&](const Need& need) {
    unsigned gain = 0, price = 0;
    for (const Need& other : needs)
      if (other.rest.size() <= need.rest.size() && std::ranges::includes(need.rest, other.rest)) gain += other.width;
    for (const VRegId reg : need.rest)
      price += function_.vreg(reg).width;
    return gain > price;
  };
  for (auto next = std::ranges::find_if(needs, paysOff); next != needs.end();
       next = std::ranges::find_if(needs, paysOff)) {
    const std::vector<VRegId> added = next->rest;
    const auto middle = static_cast<std::ptrdiff_t>(kept.size());
    kept.insert(kept.end(), added.begin(), added.end());
    std::ranges::inplace_merge(kept, kept.begin() + middle);
    for (Need& need : needs)
      std::erase_if(need.rest, [&](VRegId reg) { return std::ranges::binary_search(added, reg); });
    std::erase_if(needs, [](const Need& need) { return need.rest.empty(); });
  }
  const auto isServed = [&](const PullIn& waiting) { return std::ranges::includes(kept, waiting.missing); };
  const auto served = std::ranges::stable_partition(candidates.waiting, std::not_fn(isServed));
  const auto added = static_cast<unsigned>(served.size());
  std::ranges::move(served, std::back_inserter(candidates.good));
  candidates.waiting.erase(served.begin(), served.end());
  return added;
}

/// Applies the document's limits on one value. Where values would be spilled otherwise, a clone may cost as much as a
/// reload, regardless of its frequency: the reload would run as often. For an occupancy class, the sum is checked at
/// the end.
bool BlockEngine::isAffordable(const PullIn& pullIn) const {
  const unsigned single = knobOf(context_, Knob::NvRematBlockSingleCost);
  const unsigned size = knobOf(context_, Knob::NvRematBlockMapSizeLimit);
  if (!followsDocument(context_) && target_.reason != RematTarget::Reason::Share) {
    // The allocator rematerializes values without register operands itself where it has to.
    const bool isForSpills = target_.reason == RematTarget::Reason::Limit;
    if (isForSpills && pullIn.leaves.empty() && pullIn.cost > pullIn.costWithoutLoops) return false;
    const auto places = static_cast<unsigned>(pullIn.places.size());
    return pullIn.costWithoutLoops <= single * places && pullIn.clones <= size * places;
  }
  return pullIn.cost <= single && pullIn.clones <= size;
}

/// Returns the cheapest candidates that free enough registers.
std::vector<PullIn> BlockEngine::select(std::vector<PullIn> good, unsigned excess) const {
  const auto isWide = [&](const PullIn& p) {
    const std::size_t blocks = cfg_.reversePostOrder().size();
    const unsigned liveOut = p.value < liveOutBlocks_.size() ? liveOutBlocks_[p.value] : 0;
    return hasMode(kWideFirst) && 100 * liveOut >= knobOf(context_, Knob::NvRematBlockLiveoutMinPercentage) * blocks;
  };
  std::erase_if(good, [&](const PullIn& p) { return p.cost == 0 || !isAffordable(p); });
  // Cost per register; first the values that are live nearly everywhere.
  std::stable_sort(good.begin(), good.end(), [&](const PullIn& a, const PullIn& b) {
    if (isWide(a) != isWide(b)) return isWide(a);
    return std::uint64_t{a.cost} * b.width < std::uint64_t{b.cost} * a.width;
  });
  std::vector<PullIn> chosen;
  std::set<VRegId> values, leaves, kept;
  int freed = 0;
  unsigned cost = 0;
  const unsigned most = knobOf(context_, Knob::NvRematBlockMaxCost);
  for (PullIn& p : good) {
    if (freed >= static_cast<int>(excess)) break;
    // A value that another chosen one reads is kept in this iteration.
    const bool isRead = leaves.count(p.value) || std::any_of(p.leaves.begin(), p.leaves.end(),
                                                             [&](VRegId leaf) { return values.count(leaf) != 0; });
    if (isRead) continue;
    if (target_.reason == RematTarget::Reason::Share &&
        cost + p.cost > most * (static_cast<unsigned>(chosen.size()) + p.width))
      continue;
    cost += p.cost;
    freed += static_cast<int>(p.width);
    for (const VRegId reg : p.missing)
      if (kept.insert(reg).second) freed -= function_.vreg(reg).width;
    values.insert(p.value);
    leaves.insert(p.leaves.begin(), p.leaves.end());
    chosen.push_back(std::move(p));
  }
  // Operands that are kept live must free more registers than they take.
  for (const VRegId reg : kept) {
    const auto wants = [&](const PullIn& p) { return std::ranges::binary_search(p.missing, reg); };
    unsigned gain = 0;
    for (const PullIn& p : chosen)
      if (wants(p)) gain += p.width;
    if (gain <= function_.vreg(reg).width) std::erase_if(chosen, wants);
  }
  unsigned total = 0;
  for (const PullIn& p : chosen)
    total += p.cost;
  dump("Really Final Pull-in: {} ({})", chosen.size(), total);
  return chosen;
}

bool BlockEngine::pullInto(BlockId id) {
  noteOverfull();
  const unsigned excess = excessIn(id);
  std::vector<VRegId> live;
  const PressurePoint point = pointOf(id, live);
  dump("Block .L{}: live-out = {}", id, pressure_.pressure().liveOut(id)[static_cast<std::size_t>(File::R)]);
  setRulesFor(id);
  Candidates candidates = classify(point, live);
  dump("Pullable: {}", candidates.good.size());
  dump("After pre-check, {} good candidates, {} given second-chance", candidates.good.size(),
       candidates.waiting.size());
  if (isOutOfReach(candidates, excess)) {
    isHopeless_ = true;
    return false;
  }
  if (excess > candidates.good.size() && hasMode(kSecondChance) && !candidates.waiting.empty()) {
    const unsigned added = giveSecondChance(candidates);
    dump("ADD {} candidates from second-chance", added);
  }
  dump("Total Pullable before considering cost: {}", candidates.good.size());
  bool changed = false;
  for (const PullIn& chosen : select(std::move(candidates.good), excess)) {
    if (point.instr && !point.instr->block) break; // removed as dead code
    changed |= execute(chosen, point, !changed);
  }
  return changed;
}

/// Applies a plan, or another one if earlier changes may have affected the readers.
bool BlockEngine::execute(const PullIn& chosen, const PressurePoint& point, bool isCurrent) {
  if (isCurrent) {
    apply(chosen, chosen.width, point);
    return true;
  }
  const std::optional<PullIn> plan = planner_.plan(chosen.value, point, isOver_);
  const bool isAsChosen =
      plan && plan->cost <= chosen.cost &&
      std::includes(chosen.missing.begin(), chosen.missing.end(), plan->missing.begin(), plan->missing.end());
  if (isAsChosen) apply(*plan, chosen.width, point);
  return isAsChosen;
}

void BlockEngine::apply(const PullIn& plan, unsigned width, const PressurePoint& point) {
  const Instr* def = remat_.definitions(plan.value).front();
  context_.remarks.applied(def,
                           fmt::format("{} rematerialized at {} uses: {} registers fewer live through .L{}",
                                       isa::desc(def->op).mnemonic, plan.places.size(), width, point.block),
                           plan.cost);
  for (const PullInPlace& place : plan.places) {
    std::vector<std::pair<VRegId, VRegId>> renamed;
    for (const VRegId link : place.chain) {
      std::vector<Instr*> added;
      const VRegId copy = remat_.clone(link, place.before, "remat_", &added);
      for (Instr* instr : added) {
        for (const auto& [from, to] : renamed)
          replaceUses(function_, instr, from, to);
        log_.inserted(instr);
        pressure_.note(*instr);
        added_ += weightOf(*instr->block);
        ++clones_;
      }
      renamed.emplace_back(link, copy);
    }
    for (const ori::Ref reader : place.readers)
      replaceReader(reader, renamed.back().second);
  }
  removeDead(function_, {plan.value}, [&](Instr& instr) {
    added_ -= weightOf(*instr.block);
    pressure_.note(instr);
    log_.erases(instr);
  });
  pressure_.update();
  noteOverfull();
  planner_.codeChanged();
  ++values_;
}

void BlockEngine::replaceReader(ori::Ref reader, VRegId value) {
  Instr* owner = reader.owner;
  isa::Operand operand = reader->value();
  operand.reg = value;
  pressure_.note(*owner);
  log_.changes(owner, reader.isGuard() ? -1 : static_cast<int>(reader.index()));
  function_.setOperand(reader, operand);
  pressure_.note(*owner);
}

bool allowsBlockRemat(const ori::Function& function, const PhaseContext& context) {
  return context.knobs.enabled(Knob::NvRematBlock) && !context.knobs.lists(Knob::NoMiRemat, function.name());
}

} // namespace orias::phases
