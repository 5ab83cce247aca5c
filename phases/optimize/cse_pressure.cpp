#include "phases/optimize/cse_pressure.h"

#include "ori/analysis/analyses.h"
#include "phases/occupancy.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::phases {

using isa::File;
using ori::BlockId;
using ori::CompId;
using ori::FileCounts;
using ori::Instr;

namespace {

/// The most predicates that may be live because of sharing: conditions need the others.
constexpr unsigned kMaxPredicates = 4;
/// Limits for the blocks and instructions that are examined exactly. Beyond them, less is shared.
constexpr std::size_t kMaxSteps = 200'000;
constexpr std::size_t kMaxCrossed = 512;

constexpr unsigned kR = static_cast<unsigned>(File::R), kP = static_cast<unsigned>(File::P);

std::uint64_t keyOf(BlockId id, CompId comp) {
  return std::uint64_t{id} << 32 | comp;
}

template <typename F> void forEachResult(const ori::Components& components, const Instr& instr, F&& f) {
  for (const ori::Operand& o : instr.ops())
    if (o.isDef) components.forEach(o, f);
}

} // namespace

CsePressure::CsePressure(ori::Function& function, const ori::Cfg& cfg, PhaseContext& context)
    : function_(function), cfg_(cfg), context_(context), isAware_(context.knobs.get(Knob::RpAwareMcse) != 0),
      isPredicateAware_(context.knobs.get(Knob::PredAwareMcse) != 0),
      isIncremental_(context.knobs.get(Knob::IncrementalUpdateMcse) != 0),
      isVerified_(context.knobs.get(Knob::VerifyUpdateMcse) != 0) {
  measure();
  limit_.fill(~0u);
  if (isAware_) limit_[kR] = registersUpToCliff(function_, maximum_[kR], context);
  const auto predicates = static_cast<std::int64_t>(kMaxPredicates) + context.knobs.get(Knob::PredTargetAdjust);
  limit_[kP] = isPredicateAware_ ? static_cast<unsigned>(std::clamp<std::int64_t>(predicates, 0, 7)) : 0;
}

void CsePressure::measure() {
  liveness_ = &function_.analyses().liveness();
  counter_.emplace(*liveness_);
  const ori::RegisterPressure& pressure = function_.analyses().pressure();
  maximum_ = pressure.maximum();
  byBlock_.assign(cfg_.idCount(), {});
  for (const BlockId id : cfg_.reversePostOrder())
    byBlock_[id] = pressure.inBlock(id);
  own_ = byBlock_;
  taken_ = {};
  added_.clear();
  addedIn_.assign(byBlock_.size(), {});
}

/// Updates the pressure of a block: the current registers of its instructions plus those that now cross it. Never an
/// underestimate: registers that were live at the last measurement count as live.
void CsePressure::rescan(BlockId id) {
  const ori::Block& block = *function_.block(id);
  for (const Instr* instr = block.first; instr; instr = instr->next)
    ++steps_;
  const auto isCounted = [&](unsigned f) { return own_[id][f] + addedIn_[id][f] <= byBlock_[id][f]; };
  if (isCounted(kR) && isCounted(kP)) return;
  counter_->enter(block);
  for (const Instr* instr = block.last; instr; instr = instr->prev)
    counter_->step(*instr);
  own_[id] = counter_->maximum();
  for (unsigned f = 0; f < isa::kFileCount; ++f)
    byBlock_[id][f] = std::max(byBlock_[id][f], own_[id][f] + addedIn_[id][f]);
}

bool CsePressure::fits(const FileCounts& more) const {
  for (const unsigned f : {kR, kP})
    if (more[f] != 0 && (limit_[f] == 0 || maximum_[f] + taken_[f] + more[f] > limit_[f])) return false;
  return true;
}

bool CsePressure::take(const Instr& earlier, const Instr& later) {
  FileCounts more{};
  forEachResult(liveness_->components(), earlier,
                [&](CompId comp) { ++more[static_cast<unsigned>(liveness_->components().file(comp))]; });
  const bool isAcross = earlier.block != later.block;
  if (isAcross && more[kP] != 0 && !isPredicateAware_) return false;
  if (!isClose_ && fits(more)) {
    for (unsigned f = 0; f < isa::kFileCount; ++f)
      taken_[f] += more[f];
    return true;
  }
  if (!isClose_) measure();
  isClose_ = true;
  if (isAcross) {
    if (!takeAcross(earlier, later)) return false;
  } else {
    // Sharing between two instructions of one block extends live ranges only a little.
    if (steps_ < kMaxSteps) rescan(later.block->id);
    for (const unsigned f : {kR, kP})
      byBlock_[later.block->id][f] += more[f];
  }
  // `later` becomes copies: the results of `earlier` are live up to there, and no other live range grows.
  for (unsigned f = 0; f < isa::kFileCount; ++f)
    own_[later.block->id][f] += more[f];
  return true;
}

bool CsePressure::addCrossed(CompId comp, const Instr& earlier, const Instr& later) {
  const std::size_t begin = crossed_.size();
  const auto add = [&](BlockId id) {
    if (liveness_->isLiveOut(id, comp) || added_.contains(keyOf(id, comp))) return;
    const std::pair<BlockId, CompId> crossing{id, comp};
    if (std::find(crossed_.begin() + static_cast<std::ptrdiff_t>(begin), crossed_.end(), crossing) == crossed_.end())
      crossed_.push_back(crossing);
  };
  add(later.block->id);
  for (std::size_t i = begin; i < crossed_.size(); ++i) {
    if (crossed_.size() - begin > kMaxCrossed || ++steps_ > kMaxSteps) return false;
    const BlockId id = crossed_[i].first;
    if (id == earlier.block->id || liveness_->isLiveIn(id, comp)) continue;
    for (const BlockId from : cfg_.predecessors(id))
      if (cfg_.isReachable(from)) add(from);
  }
  return true;
}

bool CsePressure::takeAcross(const Instr& earlier, const Instr& later) {
  crossed_.clear();
  const ori::Components& components = liveness_->components();
  bool isKnown = true;
  forEachResult(components, earlier, [&](CompId comp) { isKnown &= addCrossed(comp, earlier, later); });
  if (!isKnown) return false;
  std::vector<std::pair<BlockId, unsigned>> counted; // block and file, a few entries for each block
  for (const auto& [id, comp] : crossed_)
    counted.emplace_back(id, static_cast<unsigned>(components.file(comp)));
  std::ranges::sort(counted);
  for (std::size_t i = 0, end = 0; i < counted.size(); i = end) {
    end = i;
    while (end < counted.size() && counted[end] == counted[i])
      ++end;
    const auto [id, file] = counted[i];
    const unsigned wanted = byBlock_[id][file] + static_cast<unsigned>(end - i);
    if (wanted <= limit_[file]) continue;
    context_.remarks.missed(&later,
                            fmt::format("not shared: {} registers would be live, limit is {}", wanted, limit_[file]),
                            static_cast<std::int64_t>(wanted));
    return false;
  }
  for (const auto& [id, comp] : crossed_) {
    const auto file = static_cast<unsigned>(components.file(comp));
    added_.insert(keyOf(id, comp));
    ++addedIn_[id][file];
    ++byBlock_[id][file];
  }
  if (!isIncremental_) measure();
  return true;
}

void CsePressure::verify() const {
  if (!isVerified_) return;
  const ori::RegisterPressure& actual = function_.analyses().pressure();
  for (const BlockId id : cfg_.reversePostOrder())
    for (const unsigned f : {kR, kP})
      ORIAS_CHECK(actual.inBlock(id)[f] <= byBlock_[id][f] + taken_[f],
                  fmt::format("incorrect register pressure from incremental update: {} registers are live in .L{}, {} "
                              "were counted",
                              actual.inBlock(id)[f], id, byBlock_[id][f] + taken_[f]));
}

} // namespace orias::phases
