#include "phases/remat/live_in_engine.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/optimize/linear_form.h"
#include "phases/optimize/phis.h"
#include "phases/split_components.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <unordered_map>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::BlockId;
using ori::Instr;
using ori::VRegId;

namespace {

constexpr auto kR = static_cast<std::size_t>(File::R);
constexpr const char* kOutOfReach = "rematerialization cannot reach the target";
constexpr unsigned kIterations = 5;
/// The most values that are tried in one function, since each attempt recounts the pressure.
constexpr std::size_t kMaxTries = 400;
/// The longest chain that is rematerialized for one value.
constexpr std::size_t kMaxLinks = 8;
/// Upper bound of the cost in deep loops.
constexpr std::int64_t kHighestCost = 1'000'000'000;

// Levels of do-remat.
constexpr std::int64_t kWithoutOperands = 1, kLiveOperands = 2;
// Of simplify-live-out: 1 is bits only, 3 keeps operands live that are narrower than the value.
constexpr std::int64_t kSums = 2;

bool isLoad(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  return row.has(Flag::Load) || (row.has(Flag::ConstLoad) && !row.has(Flag::Copy));
}

Rematerializer::Costs costsOf(const PhaseContext& context, bool mayLoad) {
  Rematerializer::Costs costs;
  costs.load = static_cast<unsigned>(context.knobs.get(Knob::RematLliFactor));
  costs.mayLoad = mayLoad;
  return costs;
}

} // namespace

LiveInEngine::LiveInEngine(ori::Function& function, PhaseContext& context, Mode mode)
    : function_(function), context_(context), mode_(mode), cfg_(function.analyses().cfg()),
      dominators_(function.analyses().dominators()), loops_(function.analyses().loops()),
      remat_(function, dominators_, costsOf(context, mode == Mode::WithLoads)), targets_(function, context),
      pressure_(cfg_, context.knobs.enabled(Knob::VerifyUpdateMrpa)), log_(function) {}

template <typename... Args>
void LiveInEngine::dump(std::int64_t level, fmt::format_string<Args...> line, Args&&... args) const {
  if (!context_.dump || context_.knobs.get(Knob::DumpRemat) < level) return;
  *context_.dump += fmt::format(line, std::forward<Args>(args)...) + "\n";
}

/// Lines that the dumps contain for parts of the work only.
void LiveInEngine::dumpPart(const Candidate& candidate, std::size_t sites) const {
  if (!context_.dump) return;
  const auto print = [&](const char* what) {
    *context_.dump += fmt::format("{} %r{} at {} places, cost {}\n", what, candidate.value, sites, candidate.cost);
  };
  const std::vector<Instr*> defs = remat_.definitions(candidate.value);
  const bool loads = std::any_of(defs.begin(), defs.end(), [](const Instr* def) { return isLoad(*def); });
  if (mode_ == Mode::LiveOut && context_.knobs.enabled(Knob::DumpSimplifyLiveOut)) print(candidate.name);
  if (loads && context_.knobs.get(Knob::DumpRematLoad) > 0) print("load");
  if (factors_.count(candidate.value) && context_.knobs.get(Knob::DumpRematAdd) > 0) print("factor");
}

/// Splits pairs that are never read or written as a pair into separate registers with shorter live ranges.
void LiveInEngine::splitPairs() {
  const std::size_t count = function_.vregCount();
  for (VRegId id = 0; id < count; ++id) {
    const ori::VReg reg = function_.vreg(id);
    if (reg.file != File::R || reg.width != 2 || reg.multiDef || !reg.hasRefs()) continue;
    bool areWords = true;
    for (const ori::Ref o : function_.refs(id))
      areWords &= o->width == 1;
    if (!areWords) continue;
    Operand words[2]; // that of an unused half remains empty
    for (const ori::Ref o : function_.refs(id)) {
      Operand& word = words[o->sub];
      if (!word.isNone()) continue;
      word = function_.use(function_.newVReg(File::R, 1, reg.name));
      function_.vreg(word.reg).divergent = reg.divergent;
    }
    renameWords(function_, id, words, [&](ori::Ref o, const Operand& value) { replace(o, value); });
  }
  pressure_.update();
}

void LiveInEngine::replace(ori::Ref use, const Operand& value) {
  log_.changes(use.owner, static_cast<int>(use.index()));
  pressure_.note(*use.owner);
  function_.setOperand(use, value);
  pressure_.note(*use.owner);
}

bool LiveInEngine::run() {
  for (const ori::Block* block : function_.layout())
    if (cfg_.isReachable(block->id))
      dump(2, "Block .L{}: live-in = {}", block->id, pressure_.pressure().liveIn(block->id)[kR]);
  liveAtFirst_ = pressure_.pressure().maximum()[kR];
  if (liveAtFirst_ <= static_cast<unsigned>(context_.knobs.get(Knob::RematMaxLiveLimit))) return false;
  if (mode_ == Mode::Full && context_.knobs.enabled(Knob::RematAdd)) findFactors();
  const std::vector<RematTarget> targets = targets_.forLive(liveAtFirst_);
  if (targets.empty()) return false;
  sizeAtFirst_ = size();
  return std::any_of(targets.begin(), targets.end(), [&](const RematTarget& target) { return reach(target); });
}

bool LiveInEngine::reach(const RematTarget& target) {
  target_ = target;
  tried_.clear();
  pulled_.clear();
  dump(1, "{}: max live = {}, target = {} ({})", function_.name(), liveAtFirst_, target.registers,
       nameOf(target.reason));
  if (mode_ == Mode::Early && target.reason == RematTarget::Reason::Occupancy) return false;
  splitPairs();
  if (target.reason != RematTarget::Reason::Share && isOutOfReach()) {
    context_.remarks.missed(nullptr, kOutOfReach);
    takeBack(0);
    return false;
  }
  for (unsigned i = 0; i < kIterations && excess() != 0; ++i)
    if (!iterate()) break;
  // A target that is not reached gains nothing: if there are many spills anyway, clones in loops make it worse.
  const bool isReached = target.reason == RematTarget::Reason::Share || excess() == 0;
  const bool isWorthIt = !pulled_.empty() && isReached;
  if (!isWorthIt || (target.reason == RematTarget::Reason::Occupancy && !pays())) {
    if (!pulled_.empty())
      context_.remarks.missed(nullptr, isReached ? "a higher occupancy would cost more than it gains" : kOutOfReach);
    takeBack(0);
    return false;
  }
  commit();
  return true;
}

/// Whether a block stays above the target even without all live-in and live-out values that can be rematerialized: not
/// worth trying.
bool LiveInEngine::isOutOfReach() const {
  const ori::Liveness& liveness = pressure_.liveness();
  const ori::Components& parts = liveness.components();
  std::unordered_map<VRegId, bool> isPossible;
  return std::ranges::any_of(cfg_.reversePostOrder(), [&](BlockId id) {
    const unsigned more = targets_.excessIn(id, pressure_.pressure(), target_);
    if (more == 0) return false;
    unsigned possible = 0;
    const auto count = [&](ori::CompId part) {
      if (parts.file(part) != File::R || !parts.isVirtual(part)) return;
      const VRegId value = parts.vreg(part);
      const auto [at, isNew] = isPossible.try_emplace(value);
      if (isNew) at->second = factors_.count(value) != 0 || !whyNot(value);
      if (at->second) ++possible;
    };
    liveness.liveIn(id).forEach(count);
    liveness.liveOut(id).forEach([&](ori::CompId part) {
      if (!liveness.isLiveIn(id, part)) count(part);
    });
    return possible < more;
  });
}

/// The sum over all blocks of the registers above the target.
std::uint64_t LiveInEngine::excess() const {
  std::uint64_t sum = 0;
  for (const BlockId id : cfg_.reversePostOrder())
    sum += targets_.excessIn(id, pressure_.pressure(), target_);
  return sum;
}

/// Values that are live into all blocks above the target, or into the one with the highest pressure.
std::vector<VRegId> LiveInEngine::liveIntoFull(bool intoAll) const {
  std::vector<BlockId> full;
  BlockId fullest = ori::kNoId;
  for (const BlockId id : cfg_.reversePostOrder()) {
    const unsigned more = targets_.excessIn(id, pressure_.pressure(), target_);
    if (more == 0) continue;
    full.push_back(id);
    if (fullest == ori::kNoId || more > targets_.excessIn(fullest, pressure_.pressure(), target_)) fullest = id;
  }
  if (full.empty()) return {};
  if (!intoAll) full.assign(1, fullest);
  const ori::Liveness& liveness = pressure_.liveness();
  const ori::Components& parts = liveness.components();
  std::vector<VRegId> values;
  liveness.liveIn(full[0]).forEach([&](ori::CompId part) {
    if (parts.file(part) != File::R || !parts.isVirtual(part)) return;
    for (const BlockId id : full)
      if (!liveness.isLiveIn(id, part)) return;
    if (values.empty() || values.back() != parts.vreg(part)) values.push_back(parts.vreg(part));
  });
  return values;
}

bool LiveInEngine::iterate() {
  bool changed = false;
  for (const bool intoAll : {true, false}) {
    std::int64_t total = 0;
    for (const Candidate& candidate : candidates(liveIntoFull(intoAll))) {
      if (excess() == 0 || tried_.size() >= kMaxTries) break;
      tried_.insert(candidate.value);
      if (!tryPullIn(candidate)) continue;
      total += candidate.cost;
      changed = true;
    }
    if (total != 0) dump(4, "Total pull-in cost = {}", total);
  }
  return changed;
}

bool LiveInEngine::isLiveInto(BlockId block, VRegId reg) const {
  const ori::Liveness& liveness = pressure_.liveness();
  return liveness.isLiveIn(block, liveness.components().of(reg, 0));
}

/// Why the value cannot be rematerialized; null when it can.
const char* LiveInEngine::whyNot(VRegId value) const {
  if (const char* why = remat_.whyNot(value)) return why;
  for (const Instr* def : remat_.definitions(value)) {
    const bool isCopy = isa::desc(def->op).has(Flag::Copy) && def->op_(1).isReg() && !def->op_(1).isZeroReg();
    if (isCopy && !context_.knobs.enabled(Knob::RematMove)) return "it is a copy";
  }
  const bool takesOperands = mode_ != Mode::Early && context_.knobs.get(Knob::DoRemat) > kWithoutOperands;
  for (const VRegId operand : remat_.operands(value)) {
    if (!takesOperands) return "it is computed from registers";
    if (function_.vreg(operand).multiDef) return "an operand is written more than once";
  }
  if (mode_ == Mode::LiveOut && !nameOfSimple(value)) return "it is neither a bit operation nor an addition";
  return nullptr;
}

/// The name of a value that phase 69d computes where it is read; null for values that it does not handle.
const char* LiveInEngine::nameOfSimple(VRegId value) const {
  bool areBits = true, isSum = true;
  for (const Instr* def : remat_.definitions(value)) {
    areBits &= def->op == Op::LOP3 || def->op == Op::SHF || def->op == Op::PRMT;
    isSum &= def->op == Op::IADD3 || def->op == Op::IADD3_X || def->op == Op::LEA || def->op == Op::LEA_HI_X ||
             def->op == Op::IMAD_WIDE;
  }
  if (areBits) return "nloNewBit";
  return isSum && context_.knobs.get(Knob::SimplifyLiveOut) >= kSums ? "nloNewAdd" : nullptr;
}

/// Whether the operands of the value are live there anyway, or take fewer registers than the value.
bool LiveInEngine::hasOperandsAt(VRegId value, const Site& site) const {
  // Predicates and uniform registers must not be kept live additionally.
  for (const VRegId operand : remat_.operands(value))
    if (function_.vreg(operand).file != File::R && !isLiveInto(site.block, operand)) return false;
  if (mode_ != Mode::LiveOut && context_.knobs.get(Knob::DoRemat) > kLiveOperands) return true;
  unsigned longer = 0;
  for (const VRegId operand : remat_.operands(value))
    if (!isLiveInto(site.block, operand)) longer += function_.vreg(operand).width;
  const bool mayLiveOn = mode_ == Mode::LiveOut && context_.knobs.get(Knob::SimplifyLiveOut) > kSums;
  return mayLiveOn ? longer < function_.vreg(value).width : longer == 0;
}

/// Finds sums that differ from another sum by a number: that one is the base, if it is available.
void LiveInEngine::findFactors() {
  const Rewriter rewriter(function_);
  LinearForms forms(rewriter);
  std::unordered_map<Terms, std::pair<VRegId, std::uint32_t>, TermsHash> first;
  for (const BlockId id : cfg_.reversePostOrder())
    for (const Instr& instr : *function_.block(id)) {
      const auto form = forms.show(instr);
      if (!form || form->terms.empty() || !instr.op_(0).isReg(File::R) || !instr.op_(0).isVirtual()) continue;
      const VRegId value = instr.op_(0).reg;
      if (function_.vreg(value).width != 1 || !remat_.isStable(value)) continue;
      const auto [base, isNew] = first.try_emplace(form->terms, value, form->number);
      if (!isNew) factors_[value] = {base->second.first, form->number - base->second.second};
    }
}

std::vector<LiveInEngine::Site> LiveInEngine::sitesOf(VRegId value) const {
  std::map<BlockId, Site> sites;
  function_.forEachUse(value, [&](ori::Ref use) {
    Site& site = sites[placeOf(use)];
    site.block = placeOf(use);
    site.readers.push_back(use);
  });
  std::vector<Site> result;
  for (auto& [id, site] : sites) {
    const bool isOwn = [&] {
      bool isHere = false;
      function_.forEachDef(value, [&](ori::Ref def) { isHere |= def.owner->block->id == id; });
      return isHere;
    }();
    if (isOwn || !cfg_.isReachable(id)) continue;
    for (Instr& instr : *function_.block(id)) {
      if (instr.op == Op::PHI) continue;
      const bool reads =
          std::any_of(site.readers.begin(), site.readers.end(), [&](ori::Ref o) { return o.owner == &instr; });
      const bool ends = &instr == function_.block(id)->last && ori::isTerminator(instr.op);
      if (!reads && !ends) continue;
      site.before = &instr;
      break;
    }
    result.push_back(std::move(site));
  }
  std::sort(result.begin(), result.end(), [&](const Site& a, const Site& b) {
    return dominators_.preorderIndex(a.block) < dominators_.preorderIndex(b.block);
  });
  return result;
}

/// base_cost * use_factor: the cost of the chain, once for each block that reads the value, times the trip counts of
/// the loops that do not contain the definition.
std::int64_t LiveInEngine::costOf(VRegId value, const std::vector<Site>& sites) const {
  const std::int64_t trips = context_.knobs.get(Knob::RematLoopTrip);
  const std::int64_t base = factors_.count(value) ? 1 : remat_.cost(value);
  std::int64_t factor = 0;
  std::size_t readers = 0;
  std::uint32_t depth = 0;
  const std::vector<Instr*> defs = remat_.definitions(value);
  for (const Instr* def : defs)
    depth = std::max(depth, loops_.depth(def->block->id));
  for (const Site& site : sites) {
    if (loadsInLoop(defs, site)) return -1;
    std::int64_t rounds = 1;
    for (std::uint32_t d = depth; d < loops_.depth(site.block); ++d)
      rounds = std::min(rounds * trips, kHighestCost);
    factor += rounds;
    readers += site.readers.size();
  }
  if (readers > static_cast<std::size_t>(context_.knobs.get(Knob::RematUseLimit)) && factor >= trips) return -1;
  const std::int64_t cost = std::min(base * factor, kHighestCost);
  const bool isAddress = function_.vreg(value).width == 2;
  if (isAddress && cost > context_.knobs.get(Knob::RematGepCost)) return -1;
  const bool isLimited = !context_.knobs.enabled(Knob::RematIgnoreSingleCost);
  return isLimited && cost > context_.knobs.get(Knob::RematSingleCostLimit) ? -1 : cost;
}

std::vector<LiveInEngine::Candidate> LiveInEngine::candidates(const std::vector<VRegId>& values) {
  std::vector<Candidate> result;
  for (const VRegId value : values) {
    if (tried_.count(value)) continue;
    const bool isFactored = factors_.count(value) != 0;
    if (const char* why = isFactored ? nullptr : whyNot(value)) {
      dump(3, "%r{}: not rematerialized: {}", value, why);
      continue;
    }
    const std::vector<Site> sites = sitesOf(value);
    const std::int64_t cost = sites.empty() ? -1 : costOf(value, sites);
    if (cost < 0) {
      dump(3, "%r{}: not rematerialized: it costs too much", value);
      continue;
    }
    const char* name = isFactored ? "factor" : mode_ == Mode::LiveOut ? nameOfSimple(value) : nullptr;
    result.push_back({value, function_.vreg(value).width, cost, name});
  }
  // The cheapest per register come first.
  std::stable_sort(result.begin(), result.end(),
                   [](const Candidate& a, const Candidate& b) { return a.cost * b.width < b.cost * a.width; });
  return result;
}

bool LiveInEngine::loadsInLoop(std::span<Instr* const> defs, const Site& site) const {
  return std::any_of(defs.begin(), defs.end(), [&](const Instr* def) {
    return isa::desc(def->op).has(Flag::Load) && loops_.depth(def->block->id) < loops_.depth(site.block);
  });
}

/// Computes the value at `site`, and those of its operands that are not live there.
VRegId LiveInEngine::cloneAt(VRegId value, const Site& site, const char* prefix, unsigned depth) {
  std::map<VRegId, VRegId> again;
  if (const auto factored = factors_.find(value); factored != factors_.end()) {
    const VRegId copy = function_.newVReg(File::R, 1, function_.intern(prefix));
    ori::Builder b = ori::Builder::before(function_, site.before);
    b.setSource(site.before->source);
    inserted(b.emit(Op::IADD3, {function_.use(copy), Operand::pt(), Operand::pt(), function_.use(factored->second.base),
                                Operand::immediate(static_cast<std::int32_t>(factored->second.more)), Operand::rz()}));
    return copy;
  }
  if (mode_ != Mode::LiveOut && context_.knobs.get(Knob::DoRemat) > kLiveOperands && depth < kMaxLinks)
    for (const VRegId operand : remat_.operands(value)) {
      const std::vector<Instr*> defs = remat_.definitions(operand);
      const bool isHere = !defs.empty() && defs.front()->block->id == site.block;
      if (isHere || isLiveInto(site.block, operand) || factors_.count(operand) || whyNot(operand)) continue;
      if (!hasOperandsAt(operand, site) || loadsInLoop(defs, site)) continue;
      // One clone serves all values that are computed after it in the block.
      const auto [shared, isNew] = shared_.try_emplace({site.block, operand}, ori::kNoId);
      if (!isNew && remat_.isStable(shared->second) && remat_.isDefinedAt(shared->second, *site.before)) {
        again[operand] = shared->second;
        continue;
      }
      again[operand] = cloneAt(operand, site, prefix, depth + 1);
      shared_[{site.block, operand}] = again[operand];
    }
  std::vector<Instr*> made;
  const VRegId copy = remat_.clone(value, site.before, prefix, &made);
  for (Instr* instr : made) {
    for (const auto& [from, to] : again)
      replaceUses(function_, instr, from, to);
    inserted(instr);
  }
  return copy;
}

/// Rematerializes the value in each block that reads it. Reverts that if the pressure does not decrease.
bool LiveInEngine::tryPullIn(const Candidate& candidate) {
  const std::uint64_t before = excess();
  const std::size_t mark = log_.mark();
  const std::vector<Site> sites = sitesOf(candidate.value);
  std::vector<BlockId> done;
  for (const Site& site : sites) {
    const auto factored = factors_.find(candidate.value);
    const bool isFactored = factored != factors_.end();
    if (!site.before || !remat_.isDefinedAt(candidate.value, *site.before) ||
        (isFactored ? !remat_.isDefinedAt(factored->second.base, *site.before)
                    : !hasOperandsAt(candidate.value, site))) {
      takeBack(mark);
      return false;
    }
    const bool isBelow = std::any_of(done.begin(), done.end(),
                                     [&](BlockId above) { return dominators_.strictlyDominates(above, site.block); });
    const char* prefix = candidate.name ? candidate.name : isBelow ? "uclone_" : "remat_";
    const VRegId copy = cloneAt(candidate.value, site, prefix, 0);
    done.push_back(site.block);
    for (const ori::Ref reader : site.readers) {
      Operand now = reader->value();
      now.reg = copy;
      replace(reader, now);
    }
  }
  removeDead(function_, {candidate.value}, [&](const Instr& dead) {
    // The log may restore it later, so it is not modified.
    log_.erases(const_cast<Instr&>(dead));
    pressure_.note(dead);
  });
  pressure_.update();
  if (excess() < before) {
    pulled_.push_back(candidate.value);
    dump(3, "%r{}: pulled in {} times, cost {}", candidate.value, sites.size(), candidate.cost);
    dumpPart(candidate, sites.size());
    return true;
  }
  takeBack(mark);
  return false;
}

void LiveInEngine::inserted(Instr* instr) {
  log_.inserted(instr);
  pressure_.note(*instr);
}

void LiveInEngine::takeBack(std::size_t mark) {
  log_.undo(mark, [&](const Instr& instr) { pressure_.note(instr); });
  pressure_.update();
}

LiveInEngine::Size LiveInEngine::size() const {
  Size size;
  for (const ori::Block* block : function_.layout()) {
    double rounds = 1;
    if (cfg_.isReachable(block->id))
      for (std::uint32_t d = 0; d < loops_.depth(block->id); ++d)
        rounds *= static_cast<double>(context_.knobs.get(Knob::RematLoopTrip));
    for (const Instr& instr : *block) {
      if (instr.op == Op::PHI) continue;
      ++size.instructions;
      size.weight += rounds * (isLoad(instr) ? 2 : 1);
    }
  }
  return size;
}

bool LiveInEngine::pays() const {
  const double added = size().weight - sizeAtFirst_.weight;
  return targets_.areWarpsWorth(liveAtFirst_, pressure_.pressure().maximum()[kR], added, sizeAtFirst_.weight);
}

void LiveInEngine::commit() {
  const unsigned live = pressure_.pressure().maximum()[kR];
  const auto more =
      static_cast<std::int64_t>(size().instructions) - static_cast<std::int64_t>(sizeAtFirst_.instructions);
  context_.remarks.applied(
      nullptr,
      fmt::format("rematerialized {} values with {} additional instructions: {} registers live instead of {}",
                  pulled_.size(), more, live, liveAtFirst_),
      more);
  context_.remarks.countRematerialised(static_cast<unsigned>(pulled_.size()));
}

} // namespace orias::phases
