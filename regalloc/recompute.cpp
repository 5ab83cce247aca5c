#include "regalloc/recompute.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/latency_class.h"
#include "encoder/isa/mods.h"
#include "ori/analysis/analyses.h"
#include "ori/fixed_registers.h"
#include "regalloc/predicate_packing.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace orias::regalloc {

using isa::File;
using isa::Flag;
using ori::Instr;
using ori::Op;
using ori::Operand;
using ori::VRegId;
using IsaOperand = isa::Operand;

namespace {

/// The table of a PLOP3 that is true if all three sources are.
constexpr std::int64_t kConjunction = 0x80;
/// Sources of a comparison: Ra, Rb, Pp. Of a PLOP3: Pp, Pq, Pr, table.
constexpr unsigned kFirstSource = 2, kComparisonPredicate = 4, kTable = 5;
/// How many uniform registers may live longer.
constexpr std::ptrdiff_t kMaxUniform = 8;

bool isPlainTrue(const Operand& o) {
  return o.isReg(File::P) && o.isZeroReg() && !o.inverted();
}

bool isUnusedResult(const Operand& o) {
  return !o.isReg() || o.isZeroReg();
}

/// Whether the instruction takes no longer than a move between files.
bool isCheap(const Instr& instr) {
  switch (isa::latencyClassOf(instr.op, instr.mods)) {
  case isa::LatencyClass::Alu:
  case isa::LatencyClass::Select:
  case isa::LatencyClass::Imad: return true;
  default: return false;
  }
}

/// Calls f with each operand that must be live where the value is recomputed.
template <typename F> void forEachSource(const Recipe& recipe, F&& f) {
  for (unsigned i = 0; i < recipe.operands.size(); ++i)
    if (i != recipe.result && !(recipe.step.definition && i == recipe.step.operand)) f(recipe.operands[i]);
  for (unsigned i = 0; i < recipe.step.operands.size(); ++i)
    if (i != recipe.step.result) f(recipe.step.operands[i]);
}

} // namespace

bool isPureComputation(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (instr.isGuarded() || (row.has(Flag::Pseudo) && instr.op != Op::COPY)) return false;
  if (row.has(Flag::Volatile) && !ori::isFixedSpecialRead(instr)) return false;
  for (Flag flag : {Flag::Load, Flag::Store, Flag::Atomic, Flag::SideEffect, Flag::Convergent, Flag::WarpWide,
                    Flag::Branch, Flag::Fence, Flag::Uniform, Flag::UniformGuard})
    if (row.has(flag)) return false;
  return true;
}

void Recomputation::choose(const Webs& webs, std::vector<std::uint32_t>& victims) {
  struct Candidate {
    std::uint32_t web;
    VRegId value;
    bool readsOwnFile;
    Longer longer;
    std::optional<Longer> longerWithStep;
  };
  std::vector<Candidate> candidates;
  for (std::uint32_t w : victims) {
    if (webs.all[w].members.size() != 1) continue;
    const VRegId value = webs.all[w].members.front().first;
    const std::optional<Recipe> recipe = find(value);
    if (!recipe) continue;
    const bool readsOwnFile = std::ranges::any_of(
        recipe->operands, [&](const IsaOperand& o) { return o.reg != value && namesVirtual(o, file_); });
    candidates.push_back({w, value, readsOwnFile, longerLives(value, *recipe), {}});
    if (Candidate& last = candidates.back(); file_ == File::P && !last.longer.empty())
      if (const std::optional<Recipe> withStep = findWithStep(value))
        last.longerWithStep = longerLives(value, *withStep);
  }
  const auto allOf = [&](bool withStep) {
    Longer all;
    for (const Candidate& c : candidates) {
      const Longer& longer = withStep && c.longerWithStep ? *c.longerWithStep : c.longer;
      all.insert(all.end(), longer.begin(), longer.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  Longer all = allOf(false);
  if (2 * all.size() > candidates.size())
    if (Longer less = allOf(true); 2 * less.size() <= all.size()) {
      all = std::move(less);
      for (Candidate& c : candidates) {
        if (!c.longerWithStep) continue;
        c.longer = std::move(*c.longerWithStep);
        withStep_.push_back(c.value);
      }
      std::sort(withStep_.begin(), withStep_.end());
    }
  const auto uniform = std::ranges::count_if(all, [&](VRegId v) { return function_.vreg(v).file == File::UR; });
  const bool mayLiveLonger = file_ == File::P && uniform <= kMaxUniform && all.size() <= candidates.size();
  // Uniform predicates are allocated already, and their registers may hold other values where they would live longer.
  const auto hasItsRegister = [&](VRegId v) { return function_.vreg(v).file == File::UP; };
  std::erase_if(candidates, [&](const Candidate& c) {
    return !c.longer.empty() && (!mayLiveLonger || std::ranges::any_of(c.longer, hasItsRegister));
  });
  // Victims that read other victims come first: their definitions must still read the original registers.
  std::ranges::stable_partition(candidates, [](const Candidate& c) { return c.readsOwnFile; });
  std::vector<std::uint32_t> ordered;
  std::vector<bool> isChosen(webs.all.size(), false);
  for (const Candidate& c : candidates) {
    ordered.push_back(c.web);
    chosen_.push_back(c.value);
    isChosen[c.web] = true;
  }
  std::ranges::copy_if(victims, std::back_inserter(ordered), [&](std::uint32_t w) { return !isChosen[w]; });
  victims = std::move(ordered);
  std::sort(chosen_.begin(), chosen_.end());
}

std::optional<Recipe> Recomputation::recipe(VRegId value) {
  if (!std::binary_search(chosen_.begin(), chosen_.end(), value)) return std::nullopt;
  return std::binary_search(withStep_.begin(), withStep_.end(), value) ? findWithStep(value) : find(value);
}

std::optional<Recipe> Recomputation::find(VRegId value) {
  Recipe recipe;
  recipe.definition = function_.singleDef(value);
  if (!recipe.definition || !recipe.definition->block || state_.assignment.spillMoves.count(recipe.definition->id) ||
      !isPureComputation(*recipe.definition) || !fillIn(*recipe.definition, recipe))
    return std::nullopt;
  const IsaOperand& result = recipe.operands[recipe.result];
  if (result.reg != value || result.sub != 0 || result.width != function_.vreg(value).width) return std::nullopt;
  if (!dominatesReads(value, *recipe.definition)) return std::nullopt;
  if (recipe.definition->op == Op::PLOP3) mergeComparison(recipe);
  return recipe;
}

/// A recipe that also recomputes one of its operands in file R.
std::optional<Recipe> Recomputation::findWithStep(VRegId value) {
  std::optional<Recipe> recipe = find(value);
  if (!recipe) return std::nullopt;
  for (unsigned i = 0; i < recipe->operands.size(); ++i) {
    const IsaOperand& o = recipe->operands[i];
    if (i == recipe->result || !namesVirtual(o, File::R) || function_.vreg(o.reg).width != 1) continue;
    Instr* definition = function_.singleDef(o.reg);
    if (!definition || !definition->block || !isPureComputation(*definition) || !isCheap(*definition)) continue;
    Recipe step;
    if (!fillIn(*definition, step) || step.operands[step.result].reg != o.reg) continue;
    const auto registers = std::ranges::count_if(step.operands, [](const IsaOperand& x) { return x.isVirtual(); });
    if (registers > 2) continue; // the result and one source
    recipe->step = {definition, std::move(step.operands), step.result, i};
    return recipe;
  }
  return std::nullopt;
}

/// Copies the operands of the definition into the recipe. Only one result may be used, and each source must keep its
/// value wherever the definition has been executed.
bool Recomputation::fillIn(Instr& definition, Recipe& recipe) {
  unsigned results = 0;
  recipe.operands.clear();
  for (unsigned i = 0; i < definition.operandCount; ++i) {
    const Operand& o = definition.op_(i);
    recipe.operands.push_back(o.value());
    if (o.kind == IsaOperand::Kind::Frame || o.isLabel()) return false;
    if (o.isDef) {
      if (isUnusedResult(o)) continue;
      if (!o.isVirtual()) return false;
      ++results;
      recipe.result = i;
    } else if (o.isVirtual() || (o.isReg() && !o.isZeroReg())) {
      if (!isSingleAbove(o, definition)) return false;
    }
  }
  return results == 1;
}

bool Recomputation::isSingleAbove(const IsaOperand& operand, const Instr& definition) {
  if (!operand.isVirtual() || !operand.isReg() || operand.file == File::B) return false;
  if (operand.reg < state_.unspillable.size() &&
      (state_.unspillable[operand.reg] || state_.homes[operand.reg].exists()))
    return false;
  const Instr* source = function_.singleDef(operand.reg);
  return source && source->block && !source->isGuarded() && dominates(*source, definition);
}

/// Merges a conjunction of a comparison and another predicate into one comparison with a predicate operand.
bool Recomputation::mergeComparison(Recipe& recipe) {
  const Instr& both = *recipe.definition;
  if (both.operandCount <= kTable || !both.op_(kTable).isImm() || both.op_(kTable).imm != kConjunction ||
      !isUnusedResult(both.op_(1)))
    return false;
  std::vector<unsigned> sources;
  for (unsigned i = kFirstSource; i < kTable; ++i)
    if (!isPlainTrue(both.op_(i))) sources.push_back(i);
  if (sources.size() != 2) return false;
  auto usesOf = [&](unsigned i) {
    unsigned uses = 0;
    if (both.op_(i).isVirtual()) function_.forEachUse(both.op_(i).reg, [&](ori::Ref) { ++uses; });
    return uses;
  };
  // The source with more uses remains as the predicate operand.
  if (usesOf(sources[0]) > usesOf(sources[1])) std::swap(sources[0], sources[1]);
  for (unsigned attempt = 0; attempt < 2; ++attempt, std::swap(sources[0], sources[1])) {
    const Operand& compared = both.op_(sources[0]);
    if (!compared.isVirtual() || compared.inverted()) continue;
    Instr* comparison = function_.singleDef(compared.reg);
    if (!comparison || !comparison->block || comparison->op != Op::ISETP || !isPureComputation(*comparison) ||
        state_.assignment.spillMoves.count(comparison->id))
      continue;
    if (comparison->operandCount != kComparisonPredicate + 1 || !isPlainTrue(comparison->op_(kComparisonPredicate)) ||
        isa::getMod(Op::ISETP, comparison->mods, isa::Mod::Bool) != static_cast<unsigned>(isa::BoolOp::AND))
      continue;
    Recipe merged = recipe;
    merged.merged = comparison;
    if (!fillIn(*comparison, merged) || merged.result != 0) continue;
    merged.operands[kComparisonPredicate] = both.op_(sources[1]).value();
    recipe = std::move(merged);
    return true;
  }
  return false;
}

bool Recomputation::dominatesReads(VRegId value, const Instr& definition) {
  bool isFit = true;
  function_.forEachUse(value,
                       [&](ori::Ref use) { isFit = isFit && use.owner->block && dominates(definition, *use.owner); });
  return isFit;
}

void Recomputation::addTo(Webs& registers, const Webs& webs, std::span<const std::uint32_t> victims) {
  // The predicates defined in one block share a register (packSpilledPredicates), up to 32 of them.
  struct Word {
    std::size_t web = 0;
    unsigned predicates = 0;
  };
  std::unordered_map<ori::BlockId, Word> words; // looked up only
  for (const std::uint32_t w : victims) {
    Range where = envelope(webs.all[w]);
    if (where.empty()) continue;
    const auto& members = webs.all[w].members;
    const std::optional<Recipe> again = members.size() == 1 ? recipe(members.front().first) : std::nullopt;
    if (!again) {
      const Instr* def = members.size() == 1 ? function_.singleDef(members.front().first) : nullptr;
      if (def && !def->isGuarded()) {
        Word& word = words[def->block->id];
        if (word.predicates != 0 && word.predicates < kMaxPackedPredicates) {
          ++word.predicates;
          Web& waiting = registers.all[word.web];
          waiting.components.front().unite(where);
          waiting.start = std::min(waiting.start, waiting.components.front().start());
          continue;
        }
        word = {registers.all.size(), 1};
      }
      Web waiting;
      waiting.weight = waiting.spillCost = std::numeric_limits<double>::infinity();
      waiting.start = where.start();
      waiting.components.push_back(std::move(where));
      registers.all.push_back(std::move(waiting));
      continue;
    }
    forEachSource(*again, [&](const IsaOperand& o) {
      if (!o.isVirtual() || !o.isReg(File::R) || registers.webOf[o.reg] == ~0u) return;
      Web& read = registers.all[registers.webOf[o.reg]];
      for (unsigned c = 0; c < o.width; ++c)
        read.components[registers.offsetOf[o.reg] + o.sub + c].unite(where);
    });
  }
}

Recomputation::Longer Recomputation::longerLives(VRegId value, const Recipe& recipe) {
  Longer longer;
  function_.forEachUse(value, [&](ori::Ref use) {
    const Instr* place = placeOf(*use.owner);
    forEachSource(recipe, [&](const IsaOperand& o) {
      if (!o.isVirtual()) return;
      const LiveRanges& live = ranges(o.file);
      bool isLive = place && live.knows(o.reg);
      for (unsigned c = 0; c < o.width && isLive; ++c)
        isLive = live.component(o.reg, o.sub + c).contains(live.usePoint(*place));
      if (!isLive && std::ranges::find(longer, o.reg) == longer.end()) longer.push_back(o.reg);
    });
  });
  return longer;
}

bool Recomputation::dominates(const Instr& definition, const Instr& use) {
  if (definition.block != use.block) {
    if (!cfg_) {
      cfg_ = &function_.analyses().cfg();
      dominators_ = &function_.analyses().dominators();
    }
    return dominators_->strictlyDominates(definition.block->id, use.block->id);
  }
  const Instr *a = placeOf(definition), *b = placeOf(use);
  if (!a || !b) return false;
  return own_.usePoint(*a) < own_.usePoint(*b);
}

const LiveRanges& Recomputation::ranges(File file) {
  if (file == file_) return own_;
  std::optional<LiveRanges>& known = ranges_[static_cast<unsigned>(file)];
  if (!known) known.emplace(function_, file);
  return *known;
}

const Instr* Recomputation::placeOf(const Instr& instr) {
  const Instr* at = &instr;
  while (at && !own_.isNumbered(*at))
    at = at->next;
  return at;
}

} // namespace orias::regalloc
