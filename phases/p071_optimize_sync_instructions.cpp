#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/convergence.h"
#include "ori/builder.h"
#include "ori/calls.h"
#include "phases/exit_under_guard.h"
#include "phases/loop_preheader.h"
#include "phases/optimize/rewriter.h"
#include "phases/phases.h"
#include "phases/repeated_fences.h"

#include <unordered_set>

namespace orias::phases {

using isa::Op;
using ori::Instr;

namespace {

constexpr std::int32_t kEqMask = 56; // SR_EQMASK: the lane's own bit

/// The lanes that a WARPSYNC waits for, if they are known and all lanes that reach it wait.
std::optional<std::uint32_t> awaitedLanes(const Rewriter& rw, const Instr& instr) {
  if (instr.isGuarded()) return std::nullopt;
  if (instr.op != Op::WARPSYNC && instr.op != Op::WARPSYNC_ALL) return std::nullopt;
  const isa::Operand condition = instr.op_(0).value();
  if (!condition.isNone() && rw.truthOf(condition) != true) return std::nullopt;
  if (instr.op == Op::WARPSYNC_ALL) return ~0u;
  return rw.constantOf(instr.op_(1).value());
}

/// Whether an instruction lets lanes diverge or makes them reconverge.
enum class Effect : std::uint8_t { None, Parts, Gathers };

/// The WARPSYNCs of a function.
class WarpWaits {
 public:
  explicit WarpWaits(ori::Function& function) : rw_(function) {
    for (const ori::Block* block : function.layout())
      for (const Instr& instr : *block)
        if (isPartial(instr)) needless_.insert(&instr);
  }

  /// Whether the instruction waits for a known subset of the lanes, and does not order memory.
  bool isPartial(const Instr& instr) const {
    const auto lanes = awaitedLanes(rw_, instr);
    return lanes && lanes != ~0u && instr.mayContract;
  }
  /// Whether all lanes that reach such a wait are together: assumed until keep().
  bool isNeedless(const Instr& instr) const { return needless_.contains(&instr); }
  void keep(const Instr& instr) { needless_.erase(&instr); }
  bool hasNeedless() const { return !needless_.empty(); }

  /// Lanes may diverge after a wait for some of them only, after a yield, or in a function about which nothing is
  /// known.
  Effect effectOf(const Instr& instr) const {
    if (ori::isCall(instr) || ori::letsOthersRun(instr.op)) return Effect::Parts;
    if (instr.op != Op::WARPSYNC && instr.op != Op::WARPSYNC_ALL) return Effect::None;
    if (awaitedLanes(rw_, instr) == ~0u) return Effect::Gathers;
    return isNeedless(instr) ? Effect::None : Effect::Parts;
  }

 private:
  Rewriter rw_;
  std::unordered_set<const Instr*> needless_;
};

/// Blocks that lanes may reach diverged: from the points of divergence on, up to where all have waited for each other.
/// `parts` says where lanes diverge, given a block and its final effect.
template <typename Parts>
std::vector<bool> blocksAfter(const ori::Cfg& cfg, const std::vector<Effect>& effects, const Parts& parts) {
  std::vector<bool> isAfter(cfg.idCount(), ori::mayRunDivergent(cfg.function()));
  std::vector<ori::BlockId> next;
  const auto reach = [&](ori::BlockId from) {
    for (const ori::BlockId to : cfg.successors(from))
      if (!isAfter[to]) {
        isAfter[to] = true;
        next.push_back(to);
      }
  };
  for (const ori::BlockId id : cfg.reversePostOrder())
    if (parts(id, effects[id])) reach(id);
  while (!next.empty()) {
    const ori::BlockId id = next.back();
    next.pop_back();
    if (effects[id] != Effect::Gathers) reach(id);
  }
  return isAfter;
}

/// Blocks that lanes may reach diverged. Lanes that diverge at a branch reconverge at its convergence barrier, where it
/// gets one (ptxas relies on that, too). Lanes that have waited for a part of the warp, have yielded, or were in a
/// function about which nothing is known reconverge only where all wait for each other.
std::vector<bool> blocksWhereApart(const WarpWaits& waits, const ori::Cfg& cfg, const ori::Divergence& divergence) {
  std::vector<Effect> effects(cfg.idCount(), Effect::None);
  for (const ori::BlockId id : cfg.reversePostOrder())
    for (const Instr& instr : *cfg.function().block(id))
      if (const Effect effect = waits.effectOf(instr); effect != Effect::None) effects[id] = effect;
  const auto isParting = [&](ori::BlockId, Effect effect) { return effect == Effect::Parts; };
  const auto isAnyParting = [&](ori::BlockId id, Effect effect) {
    return effect == Effect::Parts || divergence.branchesApart(id);
  };
  const std::vector<bool> afterWaits = blocksAfter(cfg, effects, isParting);
  std::vector<bool> isApart = blocksAfter(cfg, effects, isAnyParting);
  for (const ori::BlockId id : cfg.reversePostOrder())
    isApart[id] = isApart[id] && (afterWaits[id] || !divergence.isUniformBlock(id));
  return isApart;
}

/// Whether lanes that are together at the loop's header are together in each iteration: nothing in the loop makes them
/// diverge, or they have waited for each other since.
bool staysTogether(const WarpWaits& waits, const ori::Cfg& cfg, const ori::Divergence& divergence,
                   const ori::Loops& loops, ori::LoopId loop) {
  const ori::BlockId header = loops.loop(loop).header;
  std::vector<bool> isApart(cfg.idCount(), false), isDone(cfg.idCount(), false);
  std::vector<ori::BlockId> next{header};
  while (!next.empty()) {
    const ori::BlockId id = next.back();
    next.pop_back();
    bool apart = isApart[id] || divergence.branchesApart(id);
    for (const Instr& instr : *cfg.function().block(id))
      if (const Effect effect = waits.effectOf(instr); effect != Effect::None)
        apart = effect == Effect::Parts || divergence.branchesApart(id);
    for (const ori::BlockId to : cfg.successors(id)) {
      if (!loops.contains(loop, to)) continue;
      if (to == header && apart) return false;
      const bool isNew = apart && !isApart[to];
      isApart[to] = isApart[to] || apart;
      if ((isNew || !isDone[to]) && to != header) next.push_back(to);
      isDone[to] = true;
    }
  }
  return true;
}

/// Returns the blocks that lanes may reach diverged, and finds the partial waits that are needed. A wait that is kept
/// may make the lanes diverge before another one, so this iterates to a fixed point.
std::vector<bool> findNeededWaits(const ori::Function& function, WarpWaits& waits, const ori::Cfg& cfg,
                                  const ori::Divergence& divergence) {
  std::vector<bool> isApart = blocksWhereApart(waits, cfg, divergence);
  for (bool again = waits.hasNeedless(); again; isApart = blocksWhereApart(waits, cfg, divergence)) {
    again = false;
    for (const ori::Block* block : function.layout()) {
      bool areTogether = !isApart[block->id];
      for (const Instr& instr : *block) {
        if (!areTogether && waits.isNeedless(instr)) {
          waits.keep(instr);
          again = true;
        }
        if (const Effect effect = waits.effectOf(instr); effect != Effect::None)
          areTogether = effect == Effect::Gathers;
      }
    }
  }
  return isApart;
}

/// WARPSYNC is an illegal instruction in a lane outside its mask. PTX leaves such a lane undefined; ptxas lets the
/// other lanes continue (observed, for shuffles).
void guardByMask(ori::Function& function, Instr& sync) {
  ori::Builder b = ori::Builder::before(function, &sync);
  b.setSource(sync.source);
  const isa::Operand bit = b.newR(), isOfMask = b.newP();
  b.emit(Op::S2R, {bit, isa::Operand::immediate(kEqMask)});
  b.emit(Op::LOP3, {isOfMask, isa::Operand::rz(), bit, sync.op_(1).value(), isa::Operand::rz(),
                    isa::Operand::immediate(0xc0), isa::Operand::pt().notted()});
  function.setGuard(&sync, isOfMask);
}

/// Whether the mask of a WARPSYNC, or its condition, is defined in the loop that contains it.
bool isSetInLoop(const ori::Function& function, const Instr& sync, const ori::Loops& loops) {
  for (unsigned i = 0; i < sync.operandCount; ++i) {
    const isa::Operand operand = sync.op_(i).value();
    if (!operand.isVirtual()) continue;
    const Instr* def = function.singleDef(operand.reg);
    if (!def || loops.contains(loops.innermost(sync.block->id), def->block->id)) return true;
  }
  return false;
}

/// Sets the mask of all lanes before a WARPSYNC.
void setMaskAgain(ori::Function& function, Instr& sync) {
  ori::Builder b = ori::Builder::before(function, &sync);
  b.setSource(sync.source);
  const isa::Operand mask = b.newR();
  b.emit(Op::MOV, {mask, isa::Operand::immediate(-1)});
  function.setOperand(&sync, 1, mask);
  if (!sync.op_(0).value().isNone()) function.setOperand(&sync, 0, isa::Operand::pt());
}

/// Whether the WARPSYNC precedes a request for registers. Each attempt begins with all lanes (ptxas does the same).
bool asksForRegisters(const Instr& sync) {
  return sync.next && sync.next->op == Op::USETMAXREG_ALLOC;
}

} // namespace

/// Phase 71. Divergent branches out of loops to EXIT become guarded EXITs (exitLoopsUnderGuard). Repeated fences are
/// removed (dropRepeatedFences). A WARPSYNC for all lanes, or for a known subset, is removed where they are together
/// already: no branch has made them diverge since the kernel began or since all have waited for each other, or they
/// reconverge after it. A WARPSYNC at the head of a loop in which no lanes diverge moves before the loop. A partial
/// WARPSYNC that is kept runs in its lanes only (guardByMask). One that orders memory (bar.warp.sync) is kept. ptxas
/// 13.0 removes the same ones, and checks once before a sequence of shuffles for missing lanes (observed).
bool optimizeSyncInstructions(ori::Function& function, PhaseContext& context) {
  const bool exits = exitLoopsUnderGuard(function, context), fences = dropRepeatedFences(function, context);
  if (!function.everHad(Op::WARPSYNC) && !function.everHad(Op::WARPSYNC_ALL)) return exits || fences;
  const ori::Cfg& cfg = function.analyses().cfg();
  const ori::Divergence& divergence = function.analyses().divergence();
  WarpWaits waits(function);
  const std::vector<bool> isApart = findNeededWaits(function, waits, cfg, divergence);
  const ori::Loops& loops = function.analyses().loops();
  std::vector<Instr*> needless, partial;
  struct Early {
    Instr* instr;
    ori::BlockId entry; ///< the block before its loop
    bool isSetInLoop;
  };
  std::vector<Early> early;
  const auto entryOfHeader = [&](ori::BlockId header) {
    const ori::LoopId loop = loops.innermost(header);
    if (loop == ori::kNoId || loops.loop(loop).header != header) return ori::kNoId;
    const ori::BlockId entry = uniqueEntering(loops, cfg, loop);
    if (entry == ori::kNoId) return ori::kNoId;
    return staysTogether(waits, cfg, divergence, loops, loop) ? entry : ori::kNoId;
  };
  for (ori::Block* block : function.layout()) {
    bool areTogether = !isApart[block->id], isFirst = true;
    for (Instr& instr : *block) {
      const Effect effect = waits.effectOf(instr);
      if (effect == Effect::Gathers) {
        if (!instr.mayContract) {
          context.remarks.missed(&instr, "it orders memory");
        } else if (areTogether) {
          needless.push_back(&instr);
        } else if (const ori::BlockId entry =
                       isFirst && !asksForRegisters(instr) ? entryOfHeader(block->id) : ori::kNoId;
                   entry != ori::kNoId) {
          early.push_back({&instr, entry, isSetInLoop(function, instr, loops)});
        } else {
          context.remarks.missed(&instr, "the warp may have diverged");
        }
      } else if (waits.isPartial(instr)) {
        (waits.isNeedless(instr) ? needless : partial).push_back(&instr);
      }
      if (effect != Effect::None) areTogether = effect == Effect::Gathers;
      isFirst = isFirst && effect == Effect::None;
    }
  }
  for (Instr* instr : needless) {
    context.remarks.applied(instr, "removed: the warp cannot have diverged");
    function.erase(instr);
  }
  std::vector<ori::EdgeIds> edges;
  for (const Early& e : early)
    edges.push_back({e.entry, e.instr->block->id});
  const std::vector<ori::Block*> fronts = findOrMakePreheaders(function, cfg, edges);
  for (std::size_t i = 0; i < early.size(); ++i) {
    context.remarks.applied(early[i].instr, "moved before the loop: no lanes part in it");
    moveToEnd(function, *early[i].instr, *fronts[i]);
    if (early[i].isSetInLoop) setMaskAgain(function, *early[i].instr);
  }
  for (Instr* instr : partial)
    guardByMask(function, *instr);
  return exits || fences || !needless.empty() || !early.empty() || !partial.empty();
}

} // namespace orias::phases
