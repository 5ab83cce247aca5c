#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/branch_walk.h"
#include "phases/induction_variables.h"
#include "phases/loop_preheader.h"
#include "phases/occupancy.h"
#include "phases/optimize/linear_form.h"
#include "phases/phases.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;
using ori::VRegId;

namespace {

/// In deeper nests, the products of the outermost loops are not reduced.
constexpr std::uint32_t kMaxLevels = 8;
/// Loops with more derived induction variables than this are skipped: each is compared with all others.
constexpr std::size_t kMaxFollowers = 256;
/// Expected trip count over which the computation before the loop has to pay off.
constexpr unsigned kExpectedTrips = 4;

/// What an operand becomes when an instruction computes the step of an induction variable instead of its value.
enum class Part : std::uint8_t {
  Follows,  ///< depends on a counter: replaced by its step
  Vanishes, ///< a loop-invariant addend: dropped
  Stays     ///< kept: a factor, a shift amount, an operand without a value
};

/// A derived induction variable: a sum, or a product with a loop-invariant factor, of a counter. It grows by the same
/// amount in each iteration.
struct Follower {
  Instr* instr = nullptr;
  std::vector<Part> parts;     ///< by operand
  std::vector<VRegId> follows; ///< counters (their phis) and followers
  bool isStep = false;         ///< it is the step of a counter
  bool isRoot = false;         ///< has other users, all of them in the loop
};

/// Issue slots that an instruction takes in an iteration, once phase 45 has expanded it.
unsigned costOf(Op op) {
  switch (op) {
  case Op::IADD64: return 2;
  case Op::IMUL64: return 3;
  case Op::IMAD64: return 3;
  default: return 1;
  }
}

unsigned costOfSum(unsigned width) {
  return width;
}

/// Roots that differ by constants only: one of them becomes a carried sum, the others that sum plus a constant.
struct Group {
  VRegId base = ori::kNoId;
  std::vector<std::pair<VRegId, std::uint32_t>> others; ///< with their distance from the base
};

/// The decisions for one loop.
struct Plan {
  LoopId loop = ori::kNoId;
  BlockId from = ori::kNoId, latch = ori::kNoId;
  std::vector<Counter> counters;
  std::vector<Follower> followers;    ///< of the loop, definitions before uses
  std::vector<Group> groups;          ///< of all roots
  std::vector<std::size_t> taken;     ///< groups that become sums
  std::optional<std::size_t> dropped; ///< the counter that is deleted
  ExitTest test;                      ///< of that counter
  VRegId tested = ori::kNoId;         ///< the root that replaces the counter in the test
};

class Level {
 public:
  Level(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()), definitions_(function) {}

  /// Returns whether a loop changed: the snapshots are out of date then.
  bool run(std::uint32_t depth) {
    std::vector<Plan> plans;
    for (LoopId loop = 0; loop < loops_.all().size(); ++loop)
      if (loops_.loop(loop).depth == depth)
        if (std::optional<Plan> plan = planFor(loop)) plans.push_back(std::move(*plan));
    std::vector<ori::EdgeIds> entries;
    for (const Plan& plan : plans)
      entries.emplace_back(plan.from, loops_.loop(plan.loop).header);
    const std::vector<ori::Block*> fronts = findOrMakePreheaders(function_, cfg_, entries);
    for (std::size_t i = 0; i < plans.size(); ++i)
      apply(plans[i], *fronts[i]);
    return !plans.empty();
  }

 private:
  std::optional<Plan> planFor(LoopId id) {
    Plan plan;
    plan.loop = id;
    plan.from = uniqueEntering(loops_, cfg_, id);
    if (plan.from == ori::kNoId || loops_.loop(id).latches.size() != 1) return std::nullopt;
    plan.latch = loops_.loop(id).latches[0];
    plan.counters = findCounters(definitions_, loops_, id, plan.from);
    if (plan.counters.empty()) return std::nullopt;
    findFollowers(plan);
    if (byValue_.empty()) return std::nullopt;
    if (plan.followers.size() > kMaxFollowers) {
      context_.remarks.missed(plan.counters[0].step, "not strength-reduced: too many induction variables in the loop");
      return std::nullopt;
    }
    return choose(plan) ? std::optional(std::move(plan)) : std::nullopt;
  }

  // --- induction variables

  void findFollowers(Plan& plan) {
    byValue_.clear();
    counterOf_.clear();
    for (std::size_t i = 0; i < plan.counters.size(); ++i)
      counterOf_[plan.counters[i].value.reg] = i;
    for (BlockId b : loops_.blocks(plan.loop))
      for (Instr& instr : *function_.block(b)) {
        std::optional<Follower> follower = follow(plan.loop, instr);
        if (!follower) continue;
        for (const Counter& counter : plan.counters)
          follower->isStep |= counter.step == &instr;
        byValue_[instr.op_(0).reg] = plan.followers.size();
        plan.followers.push_back(std::move(*follower));
      }
    for (Follower& follower : plan.followers)
      follower.isRoot = !follower.isStep && isRoot(plan, follower);
    makeGroups(plan);
  }

  /// Differences by a constant are handled by phases 50 and 58 and by address operands. They save nothing here.
  void makeGroups(Plan& plan) {
    if (!rewriter_) rewriter_.emplace(function_);
    LinearForms forms(*rewriter_);
    std::unordered_map<Terms, std::pair<std::size_t, std::uint32_t>, TermsHash> groupOf;
    for (const Follower& f : plan.followers) {
      const std::optional<LinearForm> form = forms.show(*f.instr);
      if (!f.isRoot) continue;
      const VRegId root = f.instr->op_(0).reg;
      if (form) {
        const auto [at, isNew] = groupOf.try_emplace(form->terms, plan.groups.size(), form->number);
        if (!isNew) {
          plan.groups[at->second.first].others.emplace_back(root, form->number - at->second.second);
          continue;
        }
      }
      plan.groups.push_back({root, {}});
    }
  }

  /// Whether the operand is a whole register that depends on a counter, possibly negated.
  bool isFollowing(const Operand& o) const {
    if (!o.isReg(File::R) || !o.isVirtual() || o.abs() || o.inverted()) return false;
    return o.sub == 0 && o.width == function_.vreg(o.reg).width &&
           (counterOf_.count(o.reg) != 0 || byValue_.count(o.reg) != 0);
  }

  std::optional<Follower> follow(LoopId loop, Instr& instr) const {
    Follower f;
    f.instr = &instr;
    f.parts.assign(instr.operandCount, Part::Stays);
    unsigned firstFactor = 0, factors = 0, firstTerm = 0, terms = 0;
    switch (instr.op) {
    case Op::IADD3:
      if (!isUnusedResult(instr.op_(1)) || !isUnusedResult(instr.op_(2))) return std::nullopt;
      firstTerm = 3, terms = 3;
      break;
    case Op::IMAD: firstFactor = 1, factors = 2, firstTerm = 3, terms = 1; break;
    case Op::LEA:
      if (!isUnusedResult(instr.op_(1)) || !instr.op_(4).isImm()) return std::nullopt;
      firstTerm = 2, terms = 2;
      break;
    case Op::SHF: {
      const bool isLeft = isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) == isa::ShiftDir::L;
      if (!isLeft || isa::getMod(instr.op, instr.mods, Mod::Hi) != 0 || !instr.op_(2).isImm() ||
          static_cast<std::uint32_t>(instr.op_(2).imm) > 31 || !instr.op_(3).isZeroReg())
        return std::nullopt;
      firstTerm = 1, terms = 1;
      break;
    }
    case Op::IADD64: firstTerm = 1, terms = 2; break;
    case Op::IMUL64: firstFactor = 1, factors = 2; break;
    case Op::IMAD64: firstFactor = 1, factors = 2, firstTerm = 3, terms = 1; break;
    default: return std::nullopt;
    }
    const ori::Operand& result = instr.op_(0);
    if (instr.isGuarded() || !isWholeRegister(function_, result) || function_.vreg(result.reg).multiDef)
      return std::nullopt;
    const auto take = [&](unsigned slot, Part otherwise) {
      const Operand o = instr.op_(slot).value();
      if (isFollowing(o)) {
        f.parts[slot] = Part::Follows;
        f.follows.push_back(o.reg);
        return true;
      }
      f.parts[slot] = otherwise;
      return isLoopInvariant(definitions_, loops_, loop, o);
    };
    for (unsigned slot = firstTerm; slot < firstTerm + terms; ++slot)
      if (!take(slot, Part::Vanishes)) return std::nullopt;
    for (unsigned slot = firstFactor; slot < firstFactor + factors; ++slot)
      if (instr.op_(slot).neg() || !take(slot, Part::Stays)) return std::nullopt;
    // A product of two induction variables does not grow linearly. A product of two invariants is left to phase 66.
    if (factors != 0) {
      const auto growing =
          std::count(f.parts.begin() + firstFactor, f.parts.begin() + firstFactor + factors, Part::Follows);
      if (growing != 1) return std::nullopt;
    }
    return f.follows.empty() ? std::nullopt : std::optional(std::move(f));
  }

  /// Whether the follower has users that are not followers. A value that is used after the loop is not replaced: its
  /// sum would have to be copied in each iteration, since the next one is made before the loop is left.
  bool isRoot(const Plan& plan, const Follower& follower) const {
    bool isReadByRest = false, isReadAfter = false;
    function_.forEachUse(follower.instr->op_(0).reg, [&](ori::Ref use) {
      isReadAfter |= use.owner->op == Op::PHI || !loops_.contains(plan.loop, use.owner->block->id);
      isReadByRest |= !isFollower(*use.owner);
    });
    return isReadByRest && !isReadAfter;
  }

  bool isFollower(const Instr& instr) const {
    return instr.operandCount != 0 && instr.op_(0).isVirtual() && instr.op_(0).isDef &&
           byValue_.count(instr.op_(0).reg) != 0;
  }

  // --- profitability

  /// The followers that would be dead if `roots` were carried sums.
  std::vector<bool> deadWith(const Plan& plan, const std::set<VRegId>& roots) const {
    std::vector<bool> isDead(plan.followers.size());
    for (std::size_t i = plan.followers.size(); i-- > 0;) {
      const VRegId value = plan.followers[i].instr->op_(0).reg;
      bool isRead = false;
      if (!plan.followers[i].isStep && roots.count(value) == 0)
        function_.forEachUse(value, [&](ori::Ref use) {
          const auto reader = isFollower(*use.owner) ? byValue_.find(use.owner->op_(0).reg) : byValue_.end();
          isRead |= reader == byValue_.end() || !isDead[reader->second];
        });
      isDead[i] = !plan.followers[i].isStep && !isRead;
    }
    return isDead;
  }

  using Groups = std::set<std::size_t>;

  static std::set<VRegId> rootsOf(const Plan& plan, const Groups& groups, bool withBases) {
    std::set<VRegId> roots;
    for (std::size_t group : groups) {
      if (withBases) roots.insert(plan.groups[group].base);
      for (const auto& [root, more] : plan.groups[group].others)
        roots.insert(root);
    }
    return roots;
  }

  /// Issue slots saved per iteration. Followers that only other members of a group need become dead in any case and do
  /// not count.
  int gainOf(const Plan& plan, const Groups& groups) const {
    const std::vector<bool> isDead = deadWith(plan, rootsOf(plan, groups, true));
    const std::vector<bool> goesAnyway = deadWith(plan, rootsOf(plan, groups, false));
    int gain = 0;
    for (std::size_t i = 0; i < plan.followers.size(); ++i)
      if (isDead[i] && !goesAnyway[i] && dominators_.dominates(plan.followers[i].instr->block->id, plan.latch))
        gain += static_cast<int>(costOf(plan.followers[i].instr->op));
    for (std::size_t group : groups)
      gain -= static_cast<int>(costOfSum(function_.vreg(plan.groups[group].base).width));
    return gain;
  }

  bool choose(Plan& plan) {
    const auto most = static_cast<std::size_t>(context_.knobs.get(Knob::StrengthReduceMaxSums));
    // First the groups that pay off alone.
    Groups taken;
    for (std::size_t group = 0; group < plan.groups.size() && taken.size() < most; ++group)
      if (gainOf(plan, {group}) > 0) taken.insert(group);
    int gain = gainOf(plan, taken);
    if (context_.knobs.enabled(Knob::StrengthReduceTests)) tryDropping(plan, taken, gain, most);
    if (gain <= 0) return false;
    plan.taken.assign(taken.begin(), taken.end());
    return isWorthIt(plan, gain);
  }

  /// A counter that only a test would still read is deleted when one of the sums can be tested instead.
  void tryDropping(Plan& plan, Groups& taken, int& gain, std::size_t most) {
    for (std::size_t c = 0; c < plan.counters.size() && !plan.dropped; ++c) {
      const Counter& counter = plan.counters[c];
      if (counter.value.width != 1) continue;
      Groups all = taken;
      for (std::size_t group = 0; group < plan.groups.size(); ++group)
        if (dependsOnlyOn(plan, plan.groups[group].base, counter)) all.insert(group);
      if (all.empty() || all.size() > most) continue;
      Instr* compare = onlyTest(plan, counter, deadWith(plan, rootsOf(plan, all, true)));
      if (!compare) continue;
      const auto test = testOf(definitions_, loops_, dominators_, plan.loop, counter, *compare);
      if (!test || !endsInOrder(*test, counter)) {
        context_.remarks.missed(compare, "loop counter not replaced: its exit test is not in canonical form");
        continue;
      }
      const int with = gainOf(plan, all) + 1;
      if (with <= gain || with <= 0) continue;
      const auto tested = std::find_if(all.begin(), all.end(), [&](std::size_t group) {
        const VRegId base = plan.groups[group].base;
        return dependsOnlyOn(plan, base, counter) && canBeTested(plan, base, counter, *test);
      });
      if (tested == all.end()) {
        context_.remarks.missed(compare,
                                "loop counter not replaced: no derived induction variable has distinct values");
        continue;
      }
      plan.tested = plan.groups[*tested].base;
      plan.dropped = c;
      plan.test = *test;
      taken = all;
      gain = with;
    }
  }

  /// Whether a value is computed from one counter and loop-invariant values only.
  bool dependsOnlyOn(const Plan& plan, VRegId value, const Counter& counter) const {
    if (value == counter.value.reg || value == counter.next.reg) return true;
    const auto found = byValue_.find(value);
    if (found == byValue_.end() || plan.followers[found->second].isStep) return false;
    const std::vector<VRegId>& follows = plan.followers[found->second].follows;
    return std::all_of(follows.begin(), follows.end(), [&](VRegId v) { return dependsOnlyOn(plan, v, counter); });
  }

  /// The only comparison that reads the counter, apart from its step and instructions that would be dead. Null when
  /// there are other users.
  Instr* onlyTest(const Plan& plan, const Counter& counter, const std::vector<bool>& isDead) const {
    Instr* test = nullptr;
    bool areOthers = false;
    for (VRegId v : {counter.value.reg, counter.next.reg})
      function_.forEachUse(v, [&](ori::Ref use) {
        Instr* reader = use.owner;
        if (reader == counter.step || isPhiOf(counter, *reader)) return;
        const auto found = isFollower(*reader) ? byValue_.find(reader->op_(0).reg) : byValue_.end();
        if (found != byValue_.end() && isDead[found->second]) return;
        areOthers |= test != nullptr || !loops_.contains(plan.loop, reader->block->id);
        test = reader;
      });
    return areOthers ? nullptr : test;
  }

  static bool isPhiOf(const Counter& counter, const Instr& instr) {
    return instr.op == Op::PHI && instr.op_(0).reg == counter.value.reg;
  }

  /// Whether the value reaches its final value exactly when the counter does. The test must be at the end of the
  /// iteration, or read the counter's value from the iteration's start.
  bool canBeTested(const Plan& plan, VRegId value, const Counter& counter, const ExitTest& test) const {
    if (function_.vreg(value).width != 1 || (test.comparesNext && test.branch->block->id != plan.latch)) return false;
    const auto factor = factorOf(plan, value, counter);
    if (!factor || *factor == 0) return false;
    const int zeros = std::countr_zero(*factor);
    if (zeros == 0) return true;
    if (!test.rounds || !counter.by) return false;
    // The distance to the last iteration, times the factor, must not wrap around.
    const auto by = std::abs(static_cast<std::int64_t>(static_cast<std::int32_t>(*counter.by)));
    return *test.rounds <= (std::int64_t{1} << (32 - zeros)) / std::max<std::int64_t>(by, 1) - 1;
  }

  /// The amount by which a value grows when the counter grows by one; nothing when it is not a constant.
  std::optional<std::uint32_t> factorOf(const Plan& plan, VRegId value, const Counter& counter) const {
    if (value == counter.value.reg || value == counter.next.reg) return 1;
    const Instr& instr = *plan.followers[byValue_.at(value)].instr;
    const std::vector<Part>& parts = plan.followers[byValue_.at(value)].parts;
    std::uint32_t sum = 0;
    for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
      if (parts[slot] != Part::Follows) continue;
      std::optional<std::uint32_t> term = factorOf(plan, instr.op_(slot).reg, counter);
      if (!term) return std::nullopt;
      if (instr.op_(slot).neg()) term = 0u - *term;
      if (instr.op == Op::SHF) term = *term << instr.op_(2).imm;
      if (instr.op == Op::LEA && slot == 2) term = *term << instr.op_(4).imm;
      if (instr.op == Op::IMAD && slot != 3) {
        const ori::Operand& other = instr.op_(3 - slot);
        if (!other.isImm()) return std::nullopt;
        term = *term * static_cast<std::uint32_t>(other.imm);
      }
      sum += *term;
    }
    return sum;
  }

  /// The computation before the loop must pay off soon, and the sums need registers.
  bool isWorthIt(const Plan& plan, int gain) {
    const Instr* where = plan.followers[byValue_.at(plan.groups[plan.taken[0]].base)].instr;
    std::size_t inFront = 0;
    unsigned registers = 0;
    for (std::size_t group : plan.taken) {
      const VRegId root = plan.groups[group].base;
      const std::size_t chain = chainOf(plan, root);
      const bool isNumber = stepNumber(plan, root).has_value();
      inFront += isNumber ? chain : 2 * chain;
      registers += function_.vreg(root).width * (isNumber ? 1 : 2);
    }
    if (plan.dropped) inFront += chainOf(plan, plan.tested) + 1;
    const std::int64_t rounds = std::min<std::int64_t>(plan.test.rounds.value_or(kExpectedTrips), kExpectedTrips);
    if (static_cast<std::int64_t>(inFront) > gain * rounds) {
      context_.remarks.missed(where, "not strength-reduced: the preheader code costs more than it saves", gain);
      return false;
    }
    if (!pressure_) pressure_ = &function_.analyses().pressure();
    const auto file = static_cast<unsigned>(File::R);
    unsigned used = 0;
    for (BlockId b : loops_.blocks(plan.loop))
      used = std::max(used, pressure_->inBlock(b)[file]);
    const unsigned limit = registersUpToCliff(function_, pressure_->maximum()[file], context_);
    if (used + registers - (plan.dropped ? 1 : 0) > limit) {
      context_.remarks.missed(where, "not strength-reduced: register pressure is too high", registers);
      return false;
    }
    return true;
  }

  /// Returns the number of followers from the counter to a value, steps included.
  std::size_t chainOf(const Plan& plan, VRegId root) const {
    std::set<VRegId> seen;
    std::vector<VRegId> open{root};
    while (!open.empty()) {
      const VRegId v = open.back();
      open.pop_back();
      const auto found = byValue_.find(v);
      if (found == byValue_.end() || !seen.insert(v).second) continue;
      for (VRegId next : plan.followers[found->second].follows)
        open.push_back(next);
    }
    return seen.size();
  }

  /// The constant by which a word grows in each iteration, if there is one.
  std::optional<std::uint32_t> stepNumber(const Plan& plan, VRegId root) const {
    if (function_.vreg(root).width != 1) return std::nullopt;
    for (const Counter& c : plan.counters) {
      if (c.value.width != 1 || !c.by || !dependsOnlyOn(plan, root, c)) continue;
      const auto factor = factorOf(plan, root, c);
      return factor ? std::optional(*factor * *c.by) : std::nullopt;
    }
    return std::nullopt;
  }

  // --- transformation

  void apply(Plan& plan, ori::Block& front) {
    byValue_.clear();
    for (std::size_t i = 0; i < plan.followers.size(); ++i)
      byValue_[plan.followers[i].instr->op_(0).reg] = i;
    const ori::Loop& loop = loops_.loop(plan.loop);
    ori::Block* header = function_.block(loop.header);
    ori::Block* latch = function_.block(plan.latch);
    ori::Builder before = atEnd(front);

    struct Sum {
      VRegId root;
      std::size_t group;
      Operand first, by;
    };
    std::vector<Sum> sums;
    std::map<VRegId, Operand> firsts, steps;
    for (std::size_t group : plan.taken) {
      const VRegId root = plan.groups[group].base;
      before.setSource(plan.followers[byValue_.at(root)].instr->source);
      const auto number = stepNumber(plan, root);
      sums.push_back(
          {root, group, evaluate(plan, before, root, firsts),
           number ? Operand::immediate(static_cast<std::int32_t>(*number)) : stepOf(plan, before, root, steps)});
    }
    Operand last;
    if (plan.dropped) {
      const Counter& counter = plan.counters[*plan.dropped];
      before.setSource(plan.test.compare->source);
      // The compared value may be the counter of this iteration or of the next.
      const Operand end = endOf(plan, before, counter, evaluate(plan, before, counter.value.reg, firsts));
      last = lastOf(plan, before, counter, end);
    }

    for (const Sum& sum : sums) {
      Instr* root = plan.followers[byValue_.at(sum.root)].instr;
      context_.remarks.applied(
          root, fmt::format("strength-reduced {} to an induction variable", isa::desc(root->op).mnemonic));
      const unsigned width = function_.vreg(sum.root).width;
      const Operand value = function_.use(function_.newVReg(File::R, width, function_.vreg(sum.root).name));
      const Operand next = function_.use(function_.newVReg(File::R, width, function_.vreg(sum.root).name));
      for (unsigned k = width; k-- > 0;) {
        const Operand operands[] = {ori::component(value, k), ori::component(sum.first, k), Operand::label(front.id),
                                    ori::component(next, k), Operand::label(latch->id)};
        function_.prepend(header, function_.create(Op::PHI, operands, root->source));
      }
      ori::Builder atLatch = atEnd(*latch);
      atLatch.setSource(root->source);
      if (width == 1)
        atLatch.emit(Op::IADD3, {next, Operand::pt(), Operand::pt(), value, sum.by, Operand::rz()});
      else
        atLatch.emit(Op::IADD64, {next, value, sum.by});
      if (plan.dropped && sum.root == plan.tested)
        retest(plan, plan.test.branch, plan.test.comparesNext ? next : value, last);
      for (const auto& [other, more] : plan.groups[sum.group].others)
        becomeSum(plan.followers[byValue_.at(other)], value, more);
      replaceUses(sum.root, value.reg);
    }
    eraseUnread(plan);
  }

  ori::Builder atEnd(ori::Block& block) {
    if (block.last && ori::isTerminator(block.last->op)) return ori::Builder::before(function_, block.last);
    return ori::Builder(function_, &block);
  }

  /// Returns a counter's first value, in a register.
  Operand firstOf(ori::Builder& b, const Counter& counter) {
    const Operand to = b.newR(counter.value.width);
    for (unsigned k = 0; k < counter.value.width; ++k)
      b.copy(ori::component(to, k), counter.first[k]);
    return to;
  }

  /// Recomputes a value from known values of the counters, or from their first values.
  Operand evaluate(const Plan& plan, ori::Builder& b, VRegId value, std::map<VRegId, Operand>& known) {
    if (const auto found = known.find(value); found != known.end()) return found->second;
    for (const Counter& counter : plan.counters)
      if (counter.value.reg == value) return known[value] = firstOf(b, counter);
    const Follower& f = plan.followers[byValue_.at(value)];
    std::vector<Operand> operands;
    for (unsigned slot = 0; slot < f.instr->operandCount; ++slot) {
      const Operand o = f.instr->op_(slot).value();
      operands.push_back(f.parts[slot] == Part::Follows ? likewise(evaluate(plan, b, o.reg, known), o)
                                                        : inFront(plan, b, o, slot));
    }
    return known[value] = emitLike(b, *f.instr, operands);
  }

  /// The amount by which a value grows per iteration.
  Operand stepOf(const Plan& plan, ori::Builder& b, VRegId value, std::map<VRegId, Operand>& known) {
    if (const auto found = known.find(value); found != known.end()) return found->second;
    for (const Counter& counter : plan.counters)
      if (counter.value.reg == value || counter.next.reg == value) {
        // The operands of the step without the counter.
        std::vector<Operand> operands;
        for (unsigned slot = 0; slot < counter.step->operandCount; ++slot) {
          const Operand o = counter.step->op_(slot).value();
          const bool isCounter = slot != 0 && o.isVirtual() && o.reg == counter.value.reg;
          operands.push_back(isCounter ? Operand::rz(o.width) : inFront(plan, b, o, slot));
        }
        const Operand by = emitLike(b, *counter.step, operands);
        known[counter.value.reg] = known[counter.next.reg] = by;
        return by;
      }
    const Follower& f = plan.followers[byValue_.at(value)];
    std::vector<Operand> operands;
    for (unsigned slot = 0; slot < f.instr->operandCount; ++slot) {
      const Operand o = f.instr->op_(slot).value();
      switch (f.parts[slot]) {
      case Part::Follows: operands.push_back(likewise(stepOf(plan, b, o.reg, known), o)); break;
      case Part::Vanishes: operands.push_back(Operand::rz(o.isReg() ? o.width : f.instr->op_(0).width)); break;
      case Part::Stays: operands.push_back(inFront(plan, b, o, slot)); break;
      }
    }
    return known[value] = emitLike(b, *f.instr, operands);
  }

  /// An operand that does not depend on the counters. The result, in slot 0, is replaced later.
  Operand inFront(const Plan& plan, ori::Builder& b, const Operand& o, unsigned slot) const {
    return slot == 0 ? o : blockBefore(definitions_, loops_, plan.loop, b, o);
  }

  static Operand likewise(Operand to, const Operand& marks) {
    if (marks.neg()) to = to.negated();
    return to;
  }

  Operand emitLike(ori::Builder& b, const Instr& instr, std::vector<Operand>& operands) {
    operands[0] = b.newR(instr.op_(0).width);
    Instr* made = b.emit(instr.op, operands);
    made->mods = instr.mods;
    return operands[0];
  }

  /// The counter's value in the last test.
  Operand endOf(const Plan& plan, ori::Builder& b, const Counter& counter, const Operand& first) {
    const ExitTest& test = plan.test;
    const Operand end = b.newR(), limit = blockBefore(definitions_, loops_, plan.loop, b, test.compare->op_(3).value());
    if (test.lastTested) {
      b.copy(end, Operand::immediate(static_cast<std::int32_t>(*test.lastTested)));
    } else if (test.stay == isa::ICmp::NE) {
      b.copy(end, limit);
    } else {
      // If the first value is beyond the limit already, the first test is the last.
      Operand start = first;
      if (test.comparesNext) {
        start = b.newR();
        b.emit(Op::IADD3, {start, Operand::pt(), Operand::pt(), first,
                           Operand::immediate(static_cast<std::int32_t>(*counter.by)), Operand::rz()});
      }
      const Op minMax = context_.target.has(isa::Capability::VectorMinMax) ? Op::VIMNMX : Op::IMNMX;
      b.emit(minMax, {end, start, limit, *counter.by == 1 ? Operand::pt().notted() : Operand::pt()},
             {{Mod::Type, isa::modAs<isa::IntType>(*test.compare, Mod::Type)}});
    }
    return end;
  }

  /// The tested sum's value when the counter is `end`.
  Operand lastOf(const Plan& plan, ori::Builder& b, const Counter& counter, const Operand& end) {
    std::map<VRegId, Operand> known{{counter.value.reg, end}};
    return evaluate(plan, b, plan.tested, known);
  }

  /// Replaces the exit test by a test of the sum: the loop continues while the sum differs from its final value.
  void retest(const Plan& plan, Instr* branch, const Operand& value, const Operand& last) {
    const Operand condition = branch->guard().value();
    const bool staysWhenTrue = plan.test.leavesWhenTaken == condition.inverted();
    ori::Builder b = ori::Builder::before(function_, branch);
    b.setSource(plan.test.compare->source);
    const Operand result = plan.test.compare->op_(0).value();
    context_.remarks.applied(plan.test.compare,
                             "replaced the loop counter in the exit test with a derived induction variable");
    b.emit(Op::ISETP, {result, Operand::pt(), value, last, Operand::pt()},
           {{Mod::Cmp, staysWhenTrue ? isa::ICmp::NE : isa::ICmp::EQ},
            {Mod::Type, isa::IntType::U32},
            {Mod::Bool, isa::BoolOp::AND}});
    function_.erase(plan.test.compare);
  }

  void becomeSum(Follower& f, const Operand& value, std::uint32_t more) {
    const Operand operands[] = {f.instr->op_(0).value(),
                                Operand::pt(),
                                Operand::pt(),
                                value,
                                Operand::immediate(static_cast<std::int32_t>(more)),
                                Operand::rz()};
    ori::Builder b = ori::Builder::before(function_, f.instr);
    b.setSource(f.instr->source);
    Instr* sum = b.emit(Op::IADD3, operands);
    function_.erase(f.instr);
    f.instr = sum;
  }

  void replaceUses(VRegId from, VRegId to) {
    function_.forEachUse(from, [&](ori::Ref use) {
      Operand o = use->value();
      o.reg = to;
      function_.setOperand(use.owner, use.index(), o);
    });
  }

  /// Deletes the computations that the sums replace, and a counter without users.
  void eraseUnread(const Plan& plan) {
    if (plan.dropped) {
      const Counter& counter = plan.counters[*plan.dropped];
      std::vector<Instr*> phis;
      function_.forEachDef(counter.value.reg, [&](ori::Ref def) { phis.push_back(def.owner); });
      eraseFollowers(plan);
      for (Instr* phi : phis)
        function_.erase(phi);
      if (!function_.hasUses(counter.next.reg)) function_.erase(counter.step);
      return;
    }
    eraseFollowers(plan);
  }

  void eraseFollowers(const Plan& plan) {
    for (std::size_t i = plan.followers.size(); i-- > 0;) {
      const Follower& f = plan.followers[i];
      if (!f.isStep && !function_.hasUses(f.instr->op_(0).reg)) function_.erase(f.instr);
    }
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  const Definitions definitions_;
  std::optional<Rewriter> rewriter_; ///< for lookups, not for changes
  const ori::RegisterPressure* pressure_ = nullptr;
  std::map<VRegId, std::size_t> byValue_;   ///< of the current loop: followers
  std::map<VRegId, std::size_t> counterOf_; ///< counters by their phis
};

} // namespace

/// Phase 21, strength reduction. Values that grow by the same amount in each iteration, as sums and products of a
/// counter and loop-invariant values, become sums that are carried from iteration to iteration. This is done where it
/// makes an iteration shorter: an addition replaces a chain. A counter that then only the exit test reads is deleted,
/// too: the loop ends when a sum has its last value, if that value identifies the iteration. The initial values of the
/// sums are computed before the loop. (The inventory lists the phase before unrolling. Here it runs after it, in SSA
/// form: unrolling recognizes loops by their counters, and addresses have been simplified by then, so only products
/// that no instruction can take as an operand are left.)
bool oriStrengthReduce(ori::Function& function, PhaseContext& context) {
  if (!function.ssa || context.knobs.get(Knob::StrengthReduceMaxSums) == 0) return false;
  return changeFromInnermost(function, kMaxLevels,
                             [&](std::uint32_t depth) { return Level(function, context).run(depth); });
}

} // namespace orias::phases
