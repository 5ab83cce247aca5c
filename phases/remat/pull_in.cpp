#include "phases/remat/pull_in.h"

#include "phases/optimize/phis.h"

#include <algorithm>
#include <optional>

namespace orias::phases {

using ori::BlockId;
using ori::CompId;
using ori::Instr;
using ori::VRegId;

namespace {

bool isIn(const std::vector<VRegId>& values, VRegId value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

void addOnce(std::vector<VRegId>& values, VRegId value) {
  if (!isIn(values, value)) values.push_back(value);
}

} // namespace

bool PullInPlanner::isLiveInto(BlockId block, VRegId reg) const {
  const ori::Components& components = liveness_.components();
  for (unsigned part = 0; part < function_.vreg(reg).width; ++part)
    if (liveness_.isLiveIn(block, components.of(reg, part))) return true;
  return false;
}

bool PullInPlanner::isLiveOutOf(BlockId block, VRegId reg) const {
  const ori::Components& components = liveness_.components();
  for (unsigned part = 0; part < function_.vreg(reg).width; ++part)
    if (liveness_.isLiveOut(block, components.of(reg, part))) return true;
  return false;
}

std::uint32_t PullInPlanner::positionOf(const Instr& instr) const {
  if (numberedIn_[instr.block->id] == version_) return positions_[instr.id];
  numberedIn_[instr.block->id] = version_;
  std::uint32_t position = 0;
  for (const Instr& other : *instr.block) {
    if (other.id >= positions_.size()) positions_.resize(other.id + 1, ori::kNoId);
    positions_[other.id] = position++;
  }
  return positions_[instr.id];
}

void PullInPlanner::codeChanged() {
  ++version_;
  factCount_ = 0;
}

/// As Rematerializer::isDefinedAt, by positions.
bool PullInPlanner::isDefinedAt(VRegId reg, const Instr& where) const {
  bool isDefined = true;
  function_.forEachDef(reg, [&](ori::Ref def) {
    const Instr& owner = *def.owner;
    isDefined &= owner.block == where.block ? positionOf(owner) < positionOf(where)
                                            : dominators_.strictlyDominates(owner.block->id, where.block->id);
  });
  return isDefined;
}

/// Whether the register is live before `where` anyway, and also at the point if that precedes it in the block.
bool PullInPlanner::isLiveAt(VRegId reg, const Instr& where, bool isBelowPoint) const {
  const BlockId block = where.block->id;
  if (isLiveOutOf(block, reg) && (isBelowPoint || isDefinedAt(reg, where))) return true;
  if (!isBelowPoint && isLiveInto(block, reg)) return true;
  bool isRead = false;
  function_.forEachUse(reg, [&](ori::Ref use) {
    if (use.owner->block != where.block || use.owner->op == isa::Op::PHI) return;
    isRead |= positionOf(*use.owner) >= positionOf(where);
  });
  return isRead && (isBelowPoint || isLiveInto(block, reg) || isDefinedAt(reg, where));
}

std::uint32_t PullInPlanner::depthOf(VRegId value) const {
  std::uint32_t depth = 0;
  for (const Instr* def : factsOf(value).definitions)
    depth = std::max(depth, loops_.depth(def->block->id));
  return depth;
}

bool PullInPlanner::collect(VRegId value, const PressurePoint& point) {
  for (const BlockId id : region_)
    regionIndex_[id] = ori::kNoId;
  region_.clear();
  const auto addSuccessors = [&](BlockId id) {
    for (const BlockId to : cfg_.successors(id))
      if (!isInRegion(to) && isLiveInto(to, value)) {
        regionIndex_[to] = static_cast<std::uint32_t>(region_.size());
        region_.push_back(to);
      }
  };
  addSuccessors(point.block);
  for (std::size_t i = 0; i < region_.size(); ++i)
    addSuccessors(region_[i]);
  if (inRegion_.size() < region_.size()) inRegion_.resize(region_.size());
  for (std::size_t i = 0; i < region_.size(); ++i)
    inRegion_[i].clear();
  below_.clear();
  const auto isBelow = [&](const Instr& reader) {
    return point.instr && reader.block->id == point.block && positionOf(reader) >= positionOf(*point.instr);
  };
  bool isPlannable = true;
  function_.forEachUse(value, [&](ori::Ref use) {
    const BlockId at = placeOf(use);
    const bool isPhi = use.owner->op == isa::Op::PHI;
    if (isPhi && at == point.block)
      isPlannable = false;
    else if (!isPhi && isBelow(*use.owner))
      below_.push_back(use);
    else if (cfg_.isReachable(at) && isInRegion(at))
      inRegion_[regionIndex_[at]].push_back(use);
  });
  return isPlannable;
}

bool PullInPlanner::isOverBelow(BlockId top, const PressurePoint& point, const std::vector<bool>& isOver) const {
  return std::any_of(region_.begin(), region_.end(), [&](BlockId id) {
    return dominators_.dominates(top, id) && id != top && (isOver[id] || id == point.block);
  });
}

Instr* PullInPlanner::firstOf(const Readers& readers, const Instr* other) const {
  Instr* first = nullptr;
  for (const ori::Ref reader : readers) {
    Instr* owner = reader.owner;
    if (owner == other || owner->op == isa::Op::PHI) continue;
    if (!first || positionOf(*owner) < positionOf(*first)) first = owner;
  }
  return first;
}

Instr* PullInPlanner::placeFor(std::size_t index, const PressurePoint& point, const std::vector<bool>& isOver) const {
  const auto firstIn = [&](BlockId id, const Readers& readers) -> Instr* {
    if (Instr* first = firstOf(readers)) return first;
    Instr* last = function_.block(id)->last;
    return last && last->op != isa::Op::PHI ? last : nullptr;
  };
  const BlockId block = region_[index];
  BlockId best = block;
  if (block != point.block)
    for (BlockId at = dominators_.idom(block); at != ori::kNoId && isInRegion(at) && at != point.block;
         at = dominators_.idom(at)) {
      if (isOver[at]) break;
      if (loops_.depth(at) >= loops_.depth(best) || !firstIn(at, inRegion_[regionIndex_[at]])) continue;
      if (isOverBelow(at, point, isOver)) break; // the same holds in all dominators of this block
      best = at;
    }
  return firstIn(best, inRegion_[regionIndex_[best]]);
}

void PullInPlanner::placeAll(const PressurePoint& point, const std::vector<bool>& isOver, PullIn& out) {
  if (!below_.empty()) {
    PullInPlace place;
    place.before = firstOf(below_, point.instr);
    place.readers = below_;
    out.places.push_back(std::move(place));
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < region_.size(); ++i)
    if (!inRegion_[i].empty()) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return dominators_.preorderIndex(region_[a]) < dominators_.preorderIndex(region_[b]);
  });
  std::vector<std::optional<bool>> isOverBelowPlace; // computed on demand: each query scans the whole region
  for (const std::uint32_t index : order) {
    const BlockId block = region_[index];
    PullInPlace* shared = nullptr;
    isOverBelowPlace.resize(out.places.size());
    if (block != point.block)
      for (std::size_t i = 0; i < out.places.size(); ++i) {
        const BlockId top = out.places[i].before->block->id;
        if (!dominators_.strictlyDominates(top, block)) continue;
        if (!isOverBelowPlace[i]) isOverBelowPlace[i] = isOverBelow(top, point, isOver);
        if (!*isOverBelowPlace[i]) shared = &out.places[i];
      }
    if (!shared) {
      out.places.push_back({placeFor(index, point, isOver), {}, {}});
      shared = &out.places.back();
      if (!shared->before) return;
    }
    shared->readers.insert(shared->readers.end(), inRegion_[index].begin(), inRegion_[index].end());
  }
}

/// Whether the operand is defined before all of these instructions that read it.
bool PullInPlanner::isAboveReaders(VRegId operand, const std::vector<Instr*>& defs) const {
  return std::all_of(defs.begin(), defs.end(), [&](const Instr* def) {
    const bool reads = std::any_of(def->ops().begin(), def->ops().end(), [&](const ori::Operand& o) {
      return !o.isDef && o.isVirtual() && o.reg == operand;
    });
    return !reads || isDefinedAt(operand, *def);
  });
}

const PullInPlanner::Facts& PullInPlanner::factsOf(VRegId value) const {
  if (value >= factsAt_.size()) factsAt_.resize(function_.vregCount(), 0);
  if (const std::uint32_t at = factsAt_[value]; at < factCount_ && facts_[at].value == value) return facts_[at];
  factsAt_[value] = static_cast<std::uint32_t>(factCount_);
  if (factCount_ == facts_.size()) facts_.emplace_back();
  Facts& facts = facts_[factCount_++];
  facts.value = value;
  facts.operands.clear();
  facts.cost = 0;
  facts.isSpecial = false;
  facts.definitions = remat_.definitions(value);
  facts.isPossible = !remat_.whyNot(value, facts.definitions);
  if (!facts.isPossible) return facts;
  for (const Instr* def : facts.definitions) {
    facts.cost += remat_.cost(*def);
    facts.isSpecial |= remat_.readsSpecialRegister(*def);
  }
  for (const VRegId operand : remat_.operands(value, facts.definitions))
    facts.operands.push_back({operand, remat_.isSettled(operand) && isAboveReaders(operand, facts.definitions)});
  return facts;
}

bool PullInPlanner::isFixed(VRegId value) const {
  const Facts& facts = factsOf(value);
  return !facts.isPossible || facts.cost > rules_.chainCost ||
         !std::ranges::all_of(facts.operands, &Facts::Operand::isKept);
}

PullInPlanner::InChain& PullInPlanner::inChain(VRegId reg) const {
  if (reg >= inChain_.size()) inChain_.resize(function_.vregCount());
  return inChain_[reg];
}

bool PullInPlanner::addChain(VRegId value, Chain& chain, unsigned depth) const {
  if (isIn(chain.values, value)) return true;
  // Many values may have the same operands: each operand is tried once.
  if (inChain(value).failedIn == chain_) return false;
  if (addOperands(value, chain, depth)) {
    chain.values.push_back(value);
    chain.cost += factsOf(value).cost;
    return true;
  }
  inChain(value).failedIn = chain_;
  return false;
}

bool PullInPlanner::addOperands(VRegId value, Chain& chain, unsigned depth) const {
  for (const auto& [operand, isKept] : factsOf(value).operands) {
    ++looks_;
    if (!isKept) return false;
    if (isIn(chain.values, operand)) continue;
    InChain& known = inChain(operand);
    if (known.knownIn != chain_) {
      known.isLive = isLiveAt(operand, *chain.before, chain.isBelowPoint);
      known.knownIn = chain_;
    }
    if (known.isLive) {
      addOnce(chain.leaves, operand);
      continue;
    }
    const Facts& facts = factsOf(operand);
    const bool mayFollow = rules_.allowsChains && depth < Rematerializer::kMaxDepth &&
                           facts.cost + chain.cost <= rules_.chainCost && facts.isPossible &&
                           (!facts.isSpecial || rules_.allowsSpecialRegisters);
    if (mayFollow) {
      // Follow the chain: operands of the operand that have to stay live may serve other values, too.
      const std::size_t values = chain.values.size(), missing = chain.missing.size(), leaves = chain.leaves.size();
      const unsigned cost = chain.cost;
      if (addChain(operand, chain, depth + 1)) continue;
      chain.values.resize(values);
      chain.missing.resize(missing);
      chain.leaves.resize(leaves);
      chain.cost = cost;
    }
    // Predicates and uniform registers must not be kept live additionally.
    if (function_.vreg(operand).file != isa::File::R) return false;
    addOnce(chain.missing, operand);
    addOnce(chain.leaves, operand);
  }
  return true;
}

std::optional<PullIn> PullInPlanner::plan(VRegId value, const PressurePoint& point, const std::vector<bool>& isOver) {
  PullIn out;
  out.value = value;
  if (!collect(value, point)) return std::nullopt;
  placeAll(point, isOver, out);
  if (out.places.empty()) return std::nullopt;
  const std::uint32_t depth = depthOf(value);
  std::vector<VRegId> missing, leaves;
  for (std::size_t i = 0; i < out.places.size(); ++i) {
    if (!out.places[i].before || !isDefinedAt(value, *out.places[i].before)) return std::nullopt;
    PullInPlace& place = out.places[i];
    Chain chain{place.before, i == 0 && !below_.empty(), {}, std::move(missing), std::move(leaves), 0};
    ++chain_;
    if (!addChain(value, chain, 0)) return std::nullopt;
    missing = std::move(chain.missing);
    leaves = std::move(chain.leaves);
    place.chain = std::move(chain.values);
    unsigned cost = chain.cost;
    for (const VRegId link : place.chain)
      out.clones += static_cast<unsigned>(factsOf(link).definitions.size());
    out.costWithoutLoops += cost;
    for (std::uint32_t d = depth; d < loops_.depth(place.before->block->id); ++d)
      cost = std::min(cost * rules_.loopCostFactor, 1'000'000U);
    out.cost += cost;
  }
  std::ranges::sort(missing);
  std::ranges::sort(leaves);
  out.missing = std::move(missing);
  out.leaves = std::move(leaves);
  return out;
}

} // namespace orias::phases
