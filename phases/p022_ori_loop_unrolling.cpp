#include "encoder/isa/desc.h"
#include "ori/analysis/liveness.h"
#include "ori/analysis/loops.h"
#include "ori/cfg_edit.h"
#include "phases/phases.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;

namespace {

/// Loops of loops that may be unrolled one after the other, from the inside.
constexpr unsigned kMostLevels = 4;
/// Blocks in front of a loop that are searched for the counter's first value.
constexpr unsigned kMostBlocksInFront = 16;
/// Instructions that all unrolling together may add to a function, besides as many as it has.
constexpr std::size_t kMostGrowth = 4096;

std::optional<std::uint32_t> constantOf(const Operand& o) {
  if (o.isImm()) return o.neg() ? -static_cast<std::uint32_t>(o.imm) : static_cast<std::uint32_t>(o.imm);
  if (o.isReg(File::R) && o.isZeroReg()) return 0;
  return std::nullopt;
}

bool isPlainUse(const Operand& o, ori::VRegId reg) {
  return o.isReg(File::R) && o.isVirtual() && o.reg == reg && !o.neg() && !o.abs() && !o.inverted();
}

bool holds(isa::ICmp comparison, bool isSigned, std::uint32_t a, std::uint32_t b) {
  const auto order = [&](auto x, auto y) {
    switch (comparison) {
    case isa::ICmp::LT: return x < y;
    case isa::ICmp::EQ: return x == y;
    case isa::ICmp::LE: return x <= y;
    case isa::ICmp::GT: return x > y;
    case isa::ICmp::NE: return x != y;
    case isa::ICmp::GE: return x >= y;
    case isa::ICmp::T: return true;
    default: return false;
    }
  };
  return isSigned ? order(static_cast<std::int32_t>(a), static_cast<std::int32_t>(b)) : order(a, b);
}

/// A loop whose rounds are known: `test` ends the last of them.
struct Plan {
  LoopId loop = ori::kNoId;
  Block* test = nullptr; ///< the block that a lane leaves the loop from, each round passes it
  BlockId stay = ori::kNoId, leave = ori::kNoId;
  unsigned trips = 0;
  unsigned copies = 0; ///< of the loop's blocks, the first included
};

/// The innermost loops at one time: what becomes of each is decided before any is changed.
class Level {
 public:
  Level(ori::Function& function, PhaseContext& context, std::size_t& growthLeft)
      : function_(function), context_(context), growthLeft_(growthLeft), cfg_(function),
        dominators_(ori::DomTree::dominators(cfg_)), loops_(cfg_, dominators_), liveness_(cfg_),
        pressure_(ori::computePressure(function, liveness_)) {}

  bool run() {
    if (!loops_.isReducible()) return false;
    std::vector<bool> isInnermost(loops_.all().size(), true);
    for (const ori::Loop& loop : loops_.all())
      if (loop.parent != ori::kNoId) isInnermost[loop.parent] = false;
    std::vector<Plan> plans;
    for (LoopId loop = 0; loop < loops_.all().size(); ++loop)
      if (isInnermost[loop])
        if (const std::optional<Plan> plan = planFor(loop)) plans.push_back(*plan);
    if (plans.empty()) return false;
    behind_.assign(function_.blockIdCount(), {});
    for (const Plan& plan : plans)
      apply(plan);
    std::vector<Block*> order;
    for (Block* block : function_.layout()) {
      if (block->id >= behind_.size()) break; // the copies, which stand behind all others yet
      order.push_back(block);
      order.insert(order.end(), behind_[block->id].begin(), behind_[block->id].end());
    }
    function_.setLayout(std::move(order));
    ori::removeUnreachableBlocks(function_);
    ori::mergeBlocks(function_);
    return true;
  }

 private:
  std::optional<Plan> planFor(LoopId id) {
    const ori::Loop& loop = loops_.loop(id);
    const Instr* where = function_.block(loop.header)->last;
    const auto refuse = [&](const char* why) {
      context_.remarks.refused(where, why);
      return std::nullopt;
    };
    if (loop.latches.size() != 1) return refuse("not unrolled: the loop has several back edges");
    std::size_t size = 0;
    unsigned pressure = 0;
    for (BlockId b : loops_.blocks(id)) {
      const Block& block = *function_.block(b);
      for (const Instr& instr : block) {
        if (instr.op == Op::NOP) return refuse("not unrolled: the program says so (.pragma \"nounroll\")");
        if (ori::isTerminator(instr.op) && instr.op != Op::BRA) return refuse("not unrolled: more than branches in it");
        size += isa::desc(instr.op).has(isa::Flag::Copy) ? 0u : 1u;
      }
      pressure = std::max(pressure, pressure_.byBlock[b][static_cast<unsigned>(File::R)]);
    }
    Plan plan;
    plan.loop = id;
    const auto most = static_cast<unsigned>(context_.knobs.get(Knob::LoopUnrollMaxTrips));
    for (const auto& [from, to] : loops_.exits(id)) {
      if (!dominators_.dominates(from, loop.latches[0])) continue;
      plan.test = function_.block(from);
      plan.leave = to;
      plan.trips = tripsOf(loop, plan, most);
      if (plan.trips != 0) break;
    }
    if (plan.trips == 0) return refuse("not unrolled: the number of rounds is not known, or too large");
    // Copies of different rounds can be under way at the same time, and each has its own values then.
    if (pressure > context_.maxRegisters / 2) return refuse("not unrolled: registers are short");

    const auto wholeLimit = static_cast<std::size_t>(context_.knobs.get(Knob::LoopUnrollMaxInstructions));
    const auto partLimit = static_cast<std::size_t>(context_.knobs.get(Knob::LoopUnrollPartInstructions));
    if (plan.trips * size <= wholeLimit) {
      plan.copies = plan.trips;
    } else {
      for (unsigned factor = 8; factor > 1 && plan.copies == 0; factor /= 2)
        if (plan.trips % factor == 0 && factor * size <= partLimit) plan.copies = factor;
    }
    if (plan.copies == 0) return refuse("not unrolled: the code would get too long");
    const std::size_t growth = (plan.copies - 1) * size;
    if (growth > growthLeft_) return refuse("not unrolled: the function has grown enough");
    growthLeft_ -= growth;
    return plan;
  }

  /// How often a lane passes the test until it leaves there; 0 when that is not known, or more than `most`.
  unsigned tripsOf(const ori::Loop& loop, Plan& plan, unsigned most) const {
    const Instr* branch = ori::plainBranch(*plan.test);
    if (!branch || !branch->guard().isReg(File::P) || !branch->guard().isVirtual()) return 0;
    BlockId taken = ori::kNoId;
    for (const ori::Operand& o : branch->ops())
      if (o.isLabel()) taken = o.reg;
    const bool leavesWhenTaken = taken == plan.leave;
    plan.stay = leavesWhenTaken ? plan.test->fallthrough : taken;
    if (plan.stay == plan.leave || (!leavesWhenTaken && plan.test->fallthrough != plan.leave)) return 0;

    const Instr* compare = branch->prev;
    const auto definesCondition = [&](const Instr& instr) {
      return std::any_of(instr.ops().begin(), instr.ops().end(), [&](const ori::Operand& o) {
        return o.isDef && o.isReg(File::P) && o.isVirtual() && o.reg == branch->guard().reg;
      });
    };
    while (compare && !definesCondition(*compare))
      compare = compare->prev;
    if (!compare || compare->op != Op::ISETP || compare->isGuarded() || !compare->op_(0).isVirtual() ||
        compare->op_(0).reg != branch->guard().reg)
      return 0;
    const ori::Operand &counter = compare->op_(2), &other = compare->op_(3), &with = compare->op_(4);
    const auto limit = constantOf(other);
    if (!counter.isReg(File::R) || !counter.isVirtual() || !isPlainUse(counter, counter.reg) || !limit) return 0;
    if (function_.vreg(counter.reg).width != 1 || !with.isZeroReg() || with.inverted() ||
        isa::modAs<isa::BoolOp>(*compare, isa::Mod::Bool) != isa::BoolOp::AND)
      return 0;
    for (unsigned slot = 5; slot < compare->operandCount; ++slot)
      if (!compare->op_(slot).isNone()) return 0; // half of a long comparison

    const Instr* step = nullptr;
    bool isOnlyOne = true;
    function_.forEachDef(counter.reg, [&](const ori::Operand& def) {
      if (!loops_.contains(plan.loop, def.owner->block->id)) return;
      isOnlyOne &= step == nullptr;
      step = def.owner;
    });
    const auto by = step && isOnlyOne ? stepOf(*step, counter.reg) : std::nullopt;
    const auto first = by ? valueInFront(loop, counter.reg) : std::nullopt;
    if (!first || !dominators_.dominates(step->block->id, loop.latches[0])) return 0;
    bool stepsFirst = dominators_.dominates(step->block->id, plan.test->id);
    if (step->block == plan.test) {
      const Instr* at = step;
      while (at && at != compare)
        at = at->next;
      stepsFirst = at != nullptr;
    }

    const auto comparison = isa::modAs<isa::ICmp>(*compare, isa::Mod::Cmp);
    const bool isSigned = isa::modAs<isa::IntType>(*compare, isa::Mod::Type) == isa::IntType::S32;
    std::uint32_t value = *first;
    for (unsigned trip = 1; trip <= most; ++trip, value += *by) {
      const bool isTrue = holds(comparison, isSigned, stepsFirst ? value + *by : value, *limit);
      const bool isTaken = isTrue != branch->guard().inverted();
      if (isTaken == leavesWhenTaken) return trip;
    }
    return 0;
  }

  /// What a sum adds to the register that it replaces.
  static std::optional<std::uint32_t> stepOf(const Instr& instr, ori::VRegId counter) {
    if (instr.op != Op::IADD3 || instr.isGuarded()) return std::nullopt;
    std::uint32_t sum = 0;
    unsigned ownUses = 0;
    for (const ori::Operand& o : instr.ops()) {
      if (o.isNone() || o.isReg(File::P)) {
        if (!o.isNone() && !o.isZeroReg()) return std::nullopt;
        continue;
      }
      if (o.isDef) continue;
      if (isPlainUse(o, counter)) {
        ++ownUses;
        continue;
      }
      const auto constant = constantOf(o);
      if (!constant) return std::nullopt;
      sum += *constant;
    }
    if (ownUses != 1) return std::nullopt;
    return sum;
  }

  /// The value of a register where the loop is entered, when it is written as a number shortly before.
  std::optional<std::uint32_t> valueInFront(const ori::Loop& loop, ori::VRegId reg) const {
    BlockId at = loop.header;
    for (unsigned i = 0; i < kMostBlocksInFront; ++i) {
      BlockId before = ori::kNoId;
      for (BlockId p : cfg_.predecessors(at)) {
        if (!cfg_.isReachable(p) || (at == loop.header && p == loop.latches[0])) continue;
        if (before != ori::kNoId) return std::nullopt;
        before = p;
      }
      if (before == ori::kNoId) return std::nullopt;
      for (const Instr* instr = function_.block(before)->last; instr; instr = instr->prev)
        for (const ori::Operand& o : instr->ops()) {
          if (!o.isDef || !o.isReg(File::R) || !o.isVirtual() || o.reg != reg) continue;
          if (instr->isGuarded() || (instr->op != Op::MOV && instr->op != Op::COPY)) return std::nullopt;
          return constantOf(instr->op_(1));
        }
      at = before;
    }
    return std::nullopt;
  }

  void apply(const Plan& plan) {
    const ori::Loop& loop = loops_.loop(plan.loop);
    const bool isWhole = plan.copies == plan.trips;
    Block* header = function_.block(loop.header);
    context_.remarks.did(header->last,
                         isWhole ? fmt::format("unrolled: all {} rounds", plan.trips)
                                 : fmt::format("unrolled {} times: {} rounds", plan.copies, plan.trips),
                         plan.copies);
    std::vector<Block*> blocks;
    for (BlockId b : loops_.blocks(plan.loop))
      blocks.push_back(function_.block(b));

    // The block of each round, by position in `blocks`.
    std::vector<std::vector<Block*>> rounds{blocks};
    for (unsigned round = 1; round < plan.copies; ++round) {
      std::vector<Block*>& copies = rounds.emplace_back();
      for (const Block* block : blocks)
        copies.push_back(function_.newBlock(block->name));
    }
    const auto positionOf = [&](BlockId id) {
      return static_cast<std::size_t>(
          std::find_if(blocks.begin(), blocks.end(), [&](const Block* b) { return b->id == id; }) - blocks.begin());
    };
    // A back edge leads to the next round.
    const auto target = [&](BlockId id, unsigned round) {
      if (id == loop.header) return rounds[(round + 1) % plan.copies][0]->id;
      const std::size_t at = positionOf(id);
      return at < blocks.size() ? rounds[round][at]->id : id;
    };
    for (unsigned round = plan.copies; round-- > 0;)
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        Block* to = rounds[round][i];
        if (round > 0)
          copyInto(*blocks[i], to, [&](BlockId id) { return target(id, round); });
        else
          retarget(to, [&](BlockId id) { return target(id, 0); });
        if (i != positionOf(plan.test->id)) continue;
        const bool isLast = round + 1 == plan.copies;
        if (isLast && !isWhole) continue;
        to->fallthrough = isLast ? plan.leave : target(plan.stay, round);
        function_.erase(to->last);
      }
    // Copies stand behind the loop, round by round.
    std::vector<Block*>& behind = behind_[blocks.back()->id];
    for (unsigned round = 1; round < plan.copies; ++round)
      behind.insert(behind.end(), rounds[round].begin(), rounds[round].end());
  }

  template <typename Target> void copyInto(const Block& from, Block* to, const Target& target) {
    to->loopDepth = from.loopDepth;
    to->fallthrough = from.fallthrough == ori::kNoId ? ori::kNoId : target(from.fallthrough);
    std::vector<Operand> operands;
    for (const Instr& instr : from) {
      operands.clear();
      for (const ori::Operand& o : instr.ops())
        operands.push_back(o.isLabel() ? Operand::label(target(o.reg)) : o.value());
      Instr* copy = function_.create(instr.op, operands, instr.source);
      copy->mods = instr.mods;
      copy->mayContract = instr.mayContract;
      function_.append(to, copy);
      if (instr.isGuarded()) function_.setGuard(copy, instr.guard().value());
    }
  }

  template <typename Target> void retarget(Block* block, const Target& target) {
    if (block->fallthrough != ori::kNoId) block->fallthrough = target(block->fallthrough);
    if (!block->last || !ori::isTerminator(block->last->op)) return;
    for (unsigned i = 0; i < block->last->operandCount; ++i)
      if (block->last->op_(i).isLabel())
        function_.setOperand(block->last, i, Operand::label(target(block->last->op_(i).reg)));
  }

  ori::Function& function_;
  PhaseContext& context_;
  std::size_t& growthLeft_;
  const ori::Cfg cfg_;
  const ori::DomTree dominators_;
  const ori::Loops loops_;
  const ori::Liveness liveness_;
  const ori::Pressure pressure_;
  std::vector<std::vector<Block*>> behind_; ///< by block: copies that stand behind it
};

} // namespace

/// Phase 22. Loops whose number of rounds is known are written out: whole, or several rounds at a time where that
/// number is a multiple. The tests between the rounds go; the counter becomes constants in phase 29. A NOP in a loop
/// stands for
/// `.pragma "nounroll"`; all of them go here.
bool oriLoopUnrolling(ori::Function& function, PhaseContext& context) {
  std::size_t growthLeft = kMostGrowth;
  for (const Block* block : function.layout())
    for (const Instr& instr : *block)
      growthLeft += instr.op != Op::NOP;
  bool changed = false;
  for (unsigned level = 0; level < kMostLevels && Level(function, context, growthLeft).run(); ++level)
    changed = true;
  for (Block* block : function.layout())
    function.forEachSafe(*block, [&](Instr& instr) {
      if (instr.op == Op::NOP) function.erase(&instr);
    });
  if (changed) {
    const ori::Cfg cfg(function);
    ori::setLoopDepths(function, ori::Loops(cfg, ori::DomTree::dominators(cfg)));
  }
  return changed;
}

} // namespace orias::phases
