#include "ori/analysis/analyses.h"

#include "support/check.h"

#include <fmt/format.h>
#include <optional>
#include <utility>

namespace orias::ori {

namespace {

bool readsCode(AnalysisKind kind) {
  return kind == AnalysisKind::Liveness || kind == AnalysisKind::Pressure || kind == AnalysisKind::Divergence;
}
bool readsValues(AnalysisKind kind) {
  return kind == AnalysisKind::Divergence;
}
/// Liveness is updated if at most one in so many registers is affected.
constexpr std::size_t kShareToFollow = 4;

} // namespace

std::string_view analysisName(AnalysisKind kind) {
  switch (kind) {
  case AnalysisKind::ControlFlow: return "control flow";
  case AnalysisKind::Dominators: return "dominators";
  case AnalysisKind::PostDominators: return "post-dominators";
  case AnalysisKind::Loops: return "loops";
  case AnalysisKind::Liveness: return "liveness";
  case AnalysisKind::Pressure: return "register pressure";
  case AnalysisKind::Divergence: return "divergence";
  case AnalysisKind::kCount: break;
  }
  return "";
}

template <> std::vector<std::unique_ptr<Cfg>>& Analyses::old() {
  return oldCfgs_;
}
template <> std::vector<std::unique_ptr<DomTree>>& Analyses::old() {
  return oldTrees_;
}
template <> std::vector<std::unique_ptr<Loops>>& Analyses::old() {
  return oldLoops_;
}
template <> std::vector<std::unique_ptr<Liveness>>& Analyses::old() {
  return oldLiveness_;
}
template <> std::vector<std::unique_ptr<RegisterPressure>>& Analyses::old() {
  return oldPressures_;
}
template <> std::vector<std::unique_ptr<Divergence>>& Analyses::old() {
  return oldDivergences_;
}

template <typename T> bool Analyses::holds(AnalysisKind kind, const Kept<T>& kept) const {
  const Changes& now = function_.changes();
  return kept.result && kept.flow == now.flow && (!readsCode(kind) || kept.code == now.code) &&
         (!readsValues(kind) || kept.values == now.values);
}

std::uint16_t Analyses::lastChange(AnalysisKind kind, std::uint64_t flow, std::uint64_t code) const {
  const Changes& now = function_.changes();
  if (flow != now.flow) return now.flowPhase;
  if (readsCode(kind) && code != now.code) return now.codePhase;
  return now.valuesPhase;
}

template <typename T> void Analyses::noteBuild(AnalysisKind kind, const Kept<T>& kept) {
  const bool isFirst = !kept.result;
  builds_.push_back(
      {kind, isFirst, function_.changes().phase, isFirst ? std::uint16_t{0} : lastChange(kind, kept.flow, kept.code)});
}

template <typename T, typename Make> const T& Analyses::get(AnalysisKind kind, Kept<T>& kept, Make&& make) {
  ++asked_[static_cast<std::size_t>(kind)];
  kept.isInUse = true;
  if (holds(kind, kept)) {
    if (isVerified_)
      ORIAS_CHECK(*kept.result == make(),
                  fmt::format("the {} of '{}' that was kept is out of date: a change has not been counted",
                              analysisName(kind), function_.name()));
    return *kept.result;
  }
  noteBuild(kind, kept);
  if (kept.result) old<T>().push_back(std::move(kept.result));
  kept.result = std::make_unique<T>(make());
  kept.flow = function_.changes().flow;
  kept.code = function_.changes().code;
  kept.values = function_.changes().values;
  return *kept.result;
}

const Cfg& Analyses::cfg() {
  return get(AnalysisKind::ControlFlow, cfg_, [&] { return Cfg(function_); });
}

const DomTree& Analyses::dominators() {
  const Cfg& flow = cfg();
  return get(AnalysisKind::Dominators, dominators_, [&] { return DomTree::dominators(flow); });
}

const DomTree& Analyses::postDominators() {
  const Cfg& flow = cfg();
  return get(AnalysisKind::PostDominators, postDominators_, [&] { return DomTree::postDominators(flow); });
}

const Loops& Analyses::loops() {
  const Cfg& flow = cfg();
  const DomTree& tree = dominators();
  return get(AnalysisKind::Loops, loops_, [&] { return Loops(flow, tree); });
}

void ChangeLog::begin(const Function& function) {
  for (const VRegId reg : registers_)
    isNoted_[reg] = false;
  registers_.clear();
  most_ = function.vregCount() / kShareToFollow;
  isKept_ = true;
}

bool Analyses::mayFollow() const {
  const Changes& now = function_.changes();
  return liveness_.result && liveness_.flow == now.flow && liveness_.code != now.code && changed_.isKept() &&
         now.code == logBegin_ + told_;
}

void Analyses::beginLog() {
  changed_.begin(function_);
  logBegin_ = function_.changes().code;
  told_ = 0;
}

/// The cached result, to be updated; a copy if references to it may exist.
template <typename T> T& Analyses::forChange(AnalysisKind kind, Kept<T>& kept) {
  noteBuild(kind, kept);
  if (kept.isInUse) {
    auto copy = std::make_unique<T>(*kept.result);
    old<T>().push_back(std::move(kept.result));
    kept.result = std::move(copy);
  }
  kept.code = function_.changes().code;
  kept.values = function_.changes().values;
  return *kept.result;
}

void Analyses::followLiveness() {
  const std::vector<LiveChange> changes = forChange(AnalysisKind::Liveness, liveness_).follow(changed_.registers());
  beginLog();
  if (followsPressure_) liveChanges_.insert(liveChanges_.end(), changes.begin(), changes.end());
}

const Liveness& Analyses::liveness() {
  const Cfg& flow = cfg();
  if (mayFollow()) followLiveness();
  const bool isHeld = holds(AnalysisKind::Liveness, liveness_);
  const Liveness& liveness = get(AnalysisKind::Liveness, liveness_, [&] { return Liveness(flow); });
  if (isHeld) return liveness;
  followsPressure_ = false;
  beginLog();
  // An update does not cover unreachable blocks.
  if (flow.reversePostOrder().size() != function_.layout().size()) changed_.giveUp();
  return liveness;
}

void Analyses::followPressure() {
  RegisterPressure& pressure = forChange(AnalysisKind::Pressure, pressure_);
  std::vector<BlockId> changed;
  for (const BlockId id : cfg_.result->reversePostOrder())
    if (id < isChanged_.size() && isChanged_[id]) changed.push_back(id);
  pressure.update(*liveness_.result, std::move(changed), liveChanges_);
}

const RegisterPressure& Analyses::pressure() {
  const Liveness& live = liveness();
  const bool isHeld = holds(AnalysisKind::Pressure, pressure_);
  if (!isHeld && followsPressure_) followPressure();
  const RegisterPressure& pressure = get(AnalysisKind::Pressure, pressure_, [&] { return RegisterPressure(live); });
  if (isHeld) return pressure;
  followsPressure_ = true;
  isChanged_.assign(function_.blockIdCount(), false);
  liveChanges_.clear();
  return pressure;
}

const Divergence& Analyses::divergence() {
  const Cfg& flow = cfg();
  const DomTree &tree = dominators(), &postTree = postDominators();
  const Loops& cycles = loops();
  return get(AnalysisKind::Divergence, divergence_, [&] { return Divergence(flow, tree, postTree, cycles); });
}

void Analyses::noteReordered(const Changes& before) {
  const Changes& now = function_.changes();
  const auto keep = [&](auto& kept) {
    if (kept.flow == before.flow && kept.code == before.code && kept.values == before.values) kept.code = now.code;
  };
  keep(liveness_);
  keep(divergence_);
  if (liveness_.result && liveness_.flow == now.flow && liveness_.code == now.code) beginLog();
}

void Analyses::dropStale() {
  liveness_.isInUse = pressure_.isInUse = false;
  oldDivergences_.clear();
  oldPressures_.clear();
  oldLiveness_.clear();
  oldLoops_.clear();
  oldTrees_.clear();
  oldCfgs_.clear();
}

void Analyses::dropStaleLiveness() {
  liveness_.isInUse = pressure_.isInUse = false;
  oldPressures_.clear();
  oldLiveness_.clear();
}

void Analyses::clear() {
  dropStale();
  divergence_ = {};
  pressure_ = {};
  liveness_ = {};
  loops_ = {};
  dominators_ = {};
  postDominators_ = {};
  cfg_ = {};
}

} // namespace orias::ori
