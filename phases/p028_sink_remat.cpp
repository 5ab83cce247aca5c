#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "phases/occupancy.h"
#include "phases/optimize/phis.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace orias::phases {

using isa::File;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;

namespace {

/// The most copies of an instruction, for readers on several sides.
constexpr std::size_t kMaxCopies = 4;
/// The fewest constants that are sunk past an exit of some lanes. The remaining lanes wait for the first of them.
constexpr unsigned kMinAfterExit = 4;

class Sinker {
 public:
  Sinker(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()) {}

  bool run() {
    bool changed = false;
    sinksPastLoops_ = !loops_.all().empty() && isShortOfRegisters();
    // Readers first: the producers of a sunk instruction may follow it.
    const auto order = cfg_.reversePostOrder();
    for (std::size_t i = order.size(); i-- > 0;) {
      Block* block = function_.block(order[i]);
      const bool isPastExit = endsWithGuardedExit(*block) && isWorthPassingExit(*block);
      passesExit_ = isPastExit;
      if (!hasSeveralWaysOut(*block) && !sinksPastLoops_) continue;
      for (Instr *instr = block->last, *above; instr; instr = above) {
        above = instr->prev;
        changed |= sink(*instr);
      }
    }
    return changed;
  }

 private:
  /// The readers on one side of the block that computes what they read.
  struct Side {
    BlockId entry = kNoId; ///< where the side begins: a dominator tree child of that block
    BlockId to = kNoId;    ///< where the value is computed for them
    std::vector<ori::Ref> readers;
  };

  bool sink(Instr& instr) {
    if (speculationOf(function_, instr) != Speculation::Free || readsUniformOfLoop(function_, loops_, instr))
      return false;
    std::vector<const ori::Operand*> sources;
    const ori::Operand* result = nullptr;
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isVirtual()) continue;
      if (o.isDef) {
        if (result) return false;
        result = &o;
      } else {
        if (function_.vreg(o.reg).multiDef) return false;
        sources.push_back(&o);
      }
    }
    if (!result || !function_.singleDef(result->reg) || result->width != function_.vreg(result->reg).width)
      return false;
    std::vector<Side> sides;
    if (!findSides(*instr.block, result->reg, sides)) return false; // no readers, or readers in this block
    // Sources that stay live instead of the result would take more registers than it.
    const char* kMoreLive = "its sources would stay live and need more registers than its result";
    if (!sinksPastLoops_ && longerLives(sources, sides) > result->width) return reportMissed(instr, kMoreLive);
    if (sides.size() > kMaxCopies) return reportMissed(instr, "too many branch arms use it");
    // A constant can be loaded for the warp even where only some of its lanes are active.
    if (!divergence_) divergence_ = &function_.analyses().divergence();
    const bool isForWarp = divergence_->isUniformBlock(instr.block->id) && !divergence_->isDivergent(result->reg) &&
                           !isSafeConstantLoad(instr);
    for (Side& side : sides)
      if (const char* why = place(*instr.block, side, isForWarp, sides.size() > 1)) return reportMissed(instr, why);
    if (sinksPastLoops_ && longerLives(sources, sides) > result->width) return reportMissed(instr, kMoreLive);
    if (sides.size() > 1 && !isSpared(*instr.block, sides)) return reportMissed(instr, "every path uses it");

    for (std::size_t i = 1; i < sides.size(); ++i)
      remake(instr, sides[i]);
    context_.remarks.applied(&instr, fmt::format("sank {} to its uses{}", isa::desc(instr.op).mnemonic,
                                                 sides.size() > 1 ? fmt::format(", {} times", sides.size()) : ""));
    function_.unlink(&instr);
    insertAfterPhis(function_, *function_.block(sides.front().to), &instr);
    return true;
  }

  bool reportMissed(const Instr& instr, const char* why) {
    context_.remarks.missed(&instr, fmt::format("{} not sunk: {}", isa::desc(instr.op).mnemonic, why));
    return false;
  }

  /// Whether lanes may diverge, or leave the program while others continue.
  bool hasSeveralWaysOut(const Block& block) const { return cfg_.successors(block.id).size() > 1 || passesExit_; }

  static bool endsWithGuardedExit(const Block& block) {
    return block.last && block.last->op == isa::Op::EXIT && block.last->isGuarded();
  }

  /// After an exit of some lanes, a few constants would arrive later and save too little.
  bool isWorthPassingExit(const Block& block) const {
    unsigned constants = 0;
    for (const Instr& instr : block) {
      if (!isSafeConstantLoad(instr) || speculationOf(function_, instr) != Speculation::Free) continue;
      std::vector<Side> sides;
      constants += findSides(block, instr.op_(0).reg, sides);
    }
    return constants >= kMinAfterExit;
  }

  /// Groups the readers by the sides of `from`; false when there are none, or one is in `from` itself.
  bool findSides(const Block& from, ori::VRegId value, std::vector<Side>& sides) const {
    bool areAllBelow = true;
    function_.forEachUse(value, [&](ori::Ref use) {
      const BlockId at = placeOf(use);
      areAllBelow &= dominators_.strictlyDominates(from.id, at);
      if (!areAllBelow) return;
      auto side = std::ranges::find_if(sides, [&](const Side& s) { return dominators_.dominates(s.entry, at); });
      if (side == sides.end()) {
        BlockId entry = at;
        while (dominators_.idom(entry) != from.id)
          entry = dominators_.idom(entry);
        side = sides.insert(side, {entry, at, {}});
      }
      side->to = dominators_.commonDominator(side->to, at);
      side->readers.push_back(use);
    });
    return areAllBelow && !sides.empty();
  }

  /// Chooses the block of a side and returns null, or returns why there is none. A value is not sunk into loops, nor to
  /// a place where the warp could not compute it once any more. Of several sides none may follow another, or some path
  /// would compute the value twice.
  const char* place(const Block& from, Side& side, bool isForWarp, bool isOneOfMany) const {
    if (isOneOfMany && cfg_.predecessors(side.entry).size() != 1)
      return "it is used in a branch arm and after the join";
    bool isLoop = false;
    while (side.to != from.id) {
      const bool isDeeper = function_.block(side.to)->loopDepth > from.loopDepth;
      if (!isDeeper && (!isForWarp || divergence_->isUniformBlock(side.to))) break;
      isLoop |= isDeeper;
      side.to = dominators_.idom(side.to);
    }
    if (side.to == from.id)
      return isLoop ? "it is used in a loop" : "a warp-uniform value would be computed in divergent control flow";
    // A block that runs whenever this one does gains nothing, unless there are loops in between.
    if (sinksPastLoops_ && !isOneOfMany && livesThroughLoop(side.readers.front()->reg, from.id, side.to))
      return nullptr;
    if (!hasSeveralWaysOut(from)) return "there is no loop between definition and use";
    return cfg_.predecessors(side.to).size() == 1 ? nullptr : "several paths reach its use";
  }

  /// Whether the value is live through a loop that contains neither of two blocks.
  bool livesThroughLoop(ori::VRegId value, BlockId from, BlockId to) const {
    if (value >= knownRegisters_) return false;
    const ori::CompId part = liveness_->components().of(value, 0);
    return std::any_of(loops_.all().begin(), loops_.all().end(), [&](const ori::Loop& loop) {
      const auto id = static_cast<ori::LoopId>(&loop - loops_.all().data());
      return liveness_->isLiveIn(loop.header, part) && !loops_.contains(id, from) && !loops_.contains(id, to);
    });
  }

  /// The widths of the sources that are not live at the readers otherwise.
  unsigned longerLives(const std::vector<const ori::Operand*>& sources, const std::vector<Side>& sides) const {
    unsigned sum = 0;
    for (const ori::Operand* source : sources) {
      const bool isLive = liveness_ && sides.size() == 1 && source->reg < knownRegisters_ &&
                          liveness_->isLiveIn(sides[0].to, liveness_->components().of(source->reg, source->sub));
      sum += isLive ? 0 : source->width;
    }
    return sum;
  }

  /// Whether fewer warps fit on a multiprocessor than at the lowest register need. Sinking past a loop delays the
  /// readers there and gains only registers.
  bool isShortOfRegisters() {
    liveness_ = &function_.analyses().liveness();
    knownRegisters_ = function_.vregCount();
    const unsigned live = function_.analyses().pressure().maximum()[static_cast<std::size_t>(File::R)];
    const OccupancyClasses classes(function_, context_);
    return !classes.ends().empty() && live > classes.ends().front();
  }

  /// Whether some path from `from` computes the value on no side.
  bool isSpared(const Block& from, const std::vector<Side>& sides) const {
    const auto& next = cfg_.successors(from.id);
    return std::any_of(next.begin(), next.end(), [&](BlockId id) {
      return std::none_of(sides.begin(), sides.end(), [&](const Side& s) { return s.to == id; });
    });
  }

  /// Recomputes the value for the readers of a side.
  void remake(const Instr& instr, const Side& side) {
    std::vector<isa::Operand> operands;
    isa::Operand copy;
    for (const ori::Operand& o : instr.ops()) {
      operands.push_back(o.value());
      if (!o.isDef || !o.isVirtual()) continue;
      const ori::VReg& reg = function_.vreg(o.reg);
      copy = operands.back() = function_.use(function_.newVReg(reg.file, reg.width));
    }
    Instr* again = function_.create(instr.op, operands, instr.source);
    again->mods = instr.mods;
    again->mayContract = instr.mayContract;
    insertAfterPhis(function_, *function_.block(side.to), again);
    for (const ori::Ref reader : side.readers) {
      isa::Operand value = reader->value();
      value.reg = copy.reg;
      function_.setOperand(reader, value);
    }
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::Divergence* divergence_ = nullptr; ///< of the original code
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  bool sinksPastLoops_ = false;
  bool passesExit_ = false;                 ///< for the current block
  std::size_t knownRegisters_ = 0;          ///< to `liveness_`
  const ori::Liveness* liveness_ = nullptr; ///< for sinking values past loops; of the original code
};

} // namespace

/// Phase 28. Sinks values that only some successors of a branch read, including constant loads that phase 27 calls
/// safe. The other paths save the instruction and the register. Readers on several sides get an instruction each, if no
/// path runs two of them and some path none. An exit of some lanes is a way out, too, if several constants can be sunk
/// past it. Values that are read only after a loop are computed there where registers cost warps. Sources must not take
/// more registers on the way than the result, and nothing sinks into a loop. Values that the warp may compute once
/// (phase 74) are not sunk where that would end, except for constants. The allocator recognizes values that are cheap
/// to rematerialize when it runs out of registers (RegAllocRematEnable). Knob SinkRematEnable: 0 disables the phase.
bool sinkRemat(ori::Function& function, PhaseContext& context) {
  return context.knobs.enabled(Knob::SinkRematEnable) && Sinker(function, context).run();
}

} // namespace orias::phases
