#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "phases/induction_variables.h"
#include "phases/loop_preheader.h"
#include "phases/memory_access.h"
#include "phases/occupancy.h"
#include "phases/optimize/linear_form.h"
#include "phases/phases.h"
#include "phases/removable.h"
#include "phases/speculation.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::BlockId;
using ori::Instr;
using ori::LoopId;

namespace {

/// The most fusions in one function: each analyzes the whole function again.
constexpr unsigned kMaxFusions = 16;
/// The most blocks between two consecutive loops.
constexpr unsigned kMaxBetween = 4;
/// The most accesses of one loop that are compared with those of the other.
constexpr std::size_t kMaxAccesses = 32;
/// The most instructions that an address is computed from.
constexpr unsigned kDeepestAddress = 6;
/// The most predicates that are live in both loops together.
constexpr unsigned kMaxPredicates = 5;
/// The most iterations for which an address of 32 bits is known not to wrap around.
constexpr std::int64_t kMaxRounds = 1 << 20;

/// A loop that ends with a test of a counter, and has no other exit.
struct CountedLoop {
  LoopId id = ori::kNoId;
  BlockId header = ori::kNoId, latch = ori::kNoId, from = ori::kNoId, exit = ori::kNoId;
  std::vector<Counter> counters;
  std::size_t tested = 0; ///< the counter of the test
  ExitTest test;
  std::vector<Instr*> accesses;
  std::size_t size = 0;

  const Counter& counter() const { return counters[tested]; }
};

class Fuser {
 public:
  Fuser(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function.analyses().cfg()),
        dominators_(function.analyses().dominators()), loops_(function.analyses().loops()), definitions_(function) {}

  /// Returns whether two loops have been fused: the snapshots are out of date then.
  bool run() {
    std::vector<bool> isInnermost(loops_.all().size(), true);
    for (const ori::Loop& loop : loops_.all())
      if (loop.parent != ori::kNoId) isInnermost[loop.parent] = false;
    for (LoopId second = 0; second < loops_.all().size(); ++second) {
      if (!isInnermost[second]) continue;
      // Looking for a preceding loop comes first: this is cheap where there is none.
      const std::optional<std::vector<BlockId>> between = blocksBefore(second);
      if (!between) continue;
      const BlockId latch = latchBefore(second, *between);
      const LoopId first = loops_.innermost(latch);
      if (first == ori::kNoId || !isInnermost[first] || loops_.loop(first).parent != loops_.loop(second).parent)
        continue;
      std::optional<CountedLoop> a = countedLoop(first), b = countedLoop(second);
      if (!a || !b || a->latch != latch) continue;
      if (const char* why = whyNot(*a, *b, *between)) {
        context_.remarks.missed(function_.block(b->header)->last, why);
        continue;
      }
      fuse(*a, *b, *between);
      return true;
    }
    return false;
  }

 private:
  // --- adjacent loops

  /// The blocks of the only path from another loop to this one, in order; nothing when there is no such path.
  std::optional<std::vector<BlockId>> blocksBefore(LoopId loop) const {
    std::vector<BlockId> blocks;
    BlockId at = uniqueEntering(loops_, cfg_, loop);
    for (unsigned i = 0; i <= kMaxBetween && at != ori::kNoId; ++i) {
      if (loops_.innermost(at) != loops_.loop(loop).parent) return blocks;
      if (cfg_.successors(at).size() != 1 || cfg_.predecessors(at).size() != 1) return std::nullopt;
      blocks.insert(blocks.begin(), at);
      at = cfg_.predecessors(at)[0];
    }
    return std::nullopt;
  }

  BlockId latchBefore(LoopId loop, const std::vector<BlockId>& between) const {
    return between.empty() ? uniqueEntering(loops_, cfg_, loop) : cfg_.predecessors(between.front())[0];
  }

  std::optional<CountedLoop> countedLoop(LoopId id) {
    CountedLoop loop;
    loop.id = id;
    loop.header = loops_.loop(id).header;
    loop.from = uniqueEntering(loops_, cfg_, id);
    const auto exits = loops_.exits(id);
    if (loop.from == ori::kNoId || loops_.loop(id).latches.size() != 1 || exits.size() != 1) return std::nullopt;
    loop.latch = loops_.loop(id).latches[0];
    loop.exit = exits[0].second;
    if (exits[0].first != loop.latch) return std::nullopt;
    Instr* branch = ori::plainBranch(*function_.block(loop.latch));
    if (!branch || !branch->guard().isVirtual()) return std::nullopt;
    Instr* compare = definitions_.single(branch->guard().reg);
    if (!compare) return std::nullopt;
    loop.counters = findCounters(definitions_, loops_, id, loop.from);
    for (loop.tested = 0; loop.tested < loop.counters.size(); ++loop.tested)
      if (const auto test = testOf(definitions_, loops_, dominators_, id, loop.counters[loop.tested], *compare)) {
        loop.test = *test;
        if (!loop.test.rounds) loop.test.rounds = roundsByDistance(loop);
        return loop;
      }
    return std::nullopt;
  }

  /// The trip count of a counter that runs until it equals a limit: the number of steps between them. It is known where
  /// both are sums of the same terms, as phase 21 leaves them.
  std::optional<std::int64_t> roundsByDistance(const CountedLoop& loop) {
    const Counter& counter = loop.counter();
    const auto by = static_cast<std::int32_t>(counter.by.value_or(0));
    if (loop.test.stay != isa::ICmp::NE || by == 0) return std::nullopt;
    std::optional<LinearForm> way = forms().of(loop.test.compare->op_(3).value());
    const std::optional<LinearForm> first = forms().of(counter.first[0]);
    if (!way || !first) return std::nullopt;
    way->add(*first, ~0u);
    if (!way->terms.empty()) return std::nullopt;
    const std::uint32_t distance = by > 0 ? way->number : 0u - way->number;
    const std::uint32_t step = by > 0 ? static_cast<std::uint32_t>(by) : 0u - static_cast<std::uint32_t>(by);
    if (distance % step != 0 || (distance == 0 && loop.test.comparesNext)) return std::nullopt;
    return std::int64_t{distance / step} + (loop.test.comparesNext ? 0 : 1);
  }

  const LinearForms& forms() {
    if (!forms_) {
      rewriter_.emplace(function_);
      forms_.emplace(*rewriter_);
      for (BlockId id : cfg_.reversePostOrder())
        for (const Instr& instr : *function_.block(id))
          forms_->show(instr);
    }
    return *forms_;
  }

  // --- conditions

  const char* whyNot(CountedLoop& a, CountedLoop& b, const std::vector<BlockId>& between) {
    if (!goAlike(a, b)) return "not fused: the two loops are not known to have equal trip counts";
    for (CountedLoop* loop : {&a, &b})
      if (const char* why = whyNotMixed(*loop)) return why;
    if (static_cast<std::int64_t>(a.size + b.size) > context_.knobs.get(Knob::LoopFusionMaxInstructions))
      return "not fused: the fused body is too long";
    if (const char* why = whyNotBefore(a, between)) return why;
    if (readsFrom(b, a)) return "not fused: the second loop uses results of the first";
    if (!keepsOrder(a, b)) return "not fused: accesses of different iterations may alias";
    if (!hasRegisters(a, b)) return "not fused: register pressure is too high";
    return nullptr;
  }

  /// Whether both have the same trip count in each lane: it is known, or they count and compare alike.
  bool goAlike(const CountedLoop& a, const CountedLoop& b) const {
    if (a.test.rounds && a.test.rounds == b.test.rounds) return true;
    const Operand limit = a.test.compare->op_(3).value();
    return areEqual(a, a.counter(), b, b.counter()) && a.test.comparesNext == b.test.comparesNext &&
           a.test.stay == b.test.stay && a.test.isSigned == b.test.isSigned &&
           isSameInBoth(a, limit, b, b.test.compare->op_(3).value(), kDeepestAddress);
  }

  /// Whether two counters have the same value in each iteration.
  bool areEqual(const CountedLoop& a, const Counter& x, const CountedLoop& b, const Counter& y) const {
    if (x.value.width != 1 || y.value.width != 1 || !x.by || x.by != y.by) return false;
    return isSameInBoth(a, x.first[0], b, y.first[0], kDeepestAddress);
  }

  const Counter* counterOf(const CountedLoop& loop, const Operand& o, bool next) const {
    for (const Counter& counter : loop.counters)
      if (counter.value.width == 1 && isWholeRegister(function_, o) &&
          o.reg == (next ? counter.next.reg : counter.value.reg))
        return &counter;
    return nullptr;
  }

  static std::optional<std::uint32_t> numberOf(const Operand& o) {
    if (o.isImm() && !o.neg()) return static_cast<std::uint32_t>(o.imm);
    if (o.isReg(File::R) && o.isZeroReg()) return 0;
    return std::nullopt;
  }

  /// Whether two operands, one of each loop, have the same value in the same iteration.
  bool isSameInBoth(const CountedLoop& a, const Operand& x, const CountedLoop& b, const Operand& y,
                    unsigned depth) const {
    if (const auto number = numberOf(x)) return numberOf(y) == number;
    if (!x.isReg() || !x.isVirtual() || !y.isReg() || !y.isVirtual())
      return x == y && (x.isConst() ? x.reg == Operand::kNoReg : x.isZeroReg() || x.isNone());
    if (x.file != y.file || x.flags != y.flags || x.sub != y.sub || x.width != y.width || x.file != File::R)
      return false;
    if (function_.vreg(x.reg).multiDef || function_.vreg(y.reg).multiDef) return false;
    if (x.reg == y.reg) return isOutside(a, x.reg) && isOutside(b, x.reg);
    for (const bool next : {false, true}) {
      const Counter *i = counterOf(a, x, next), *j = counterOf(b, y, next);
      if (i && j && areEqual(a, *i, b, *j)) return true;
    }
    const Instr *p = definitions_.single(x.reg), *q = definitions_.single(y.reg);
    if (!p || !q || depth == 0 || !computes(*p) || p->op != q->op || p->mods != q->mods || q->isGuarded() ||
        p->operandCount != q->operandCount)
      return false;
    for (unsigned slot = 0; slot < p->operandCount; ++slot) {
      if (p->op_(slot).isDef) {
        const bool isResult = p->op_(slot).isVirtual() && p->op_(slot).reg == x.reg;
        if (isResult != (q->op_(slot).isVirtual() && q->op_(slot).reg == y.reg)) return false;
        continue;
      }
      if (!isSameInBoth(a, p->op_(slot).value(), b, q->op_(slot).value(), depth - 1)) return false;
    }
    return true;
  }

  /// Whether the instruction depends on its operands alone.
  bool computes(const Instr& instr) const {
    return speculationOf(function_, instr) == Speculation::Free && !isa::desc(instr.op).has(Flag::Varying) &&
           instr.op != Op::UNDEF;
  }

  bool isOutside(const CountedLoop& loop, ori::VRegId reg) const {
    const auto all = definitions_.of(reg);
    return std::none_of(all.begin(), all.end(),
                        [&](const auto& def) { return loops_.contains(loop.id, def.instr->block->id); });
  }

  /// Why the loop cannot be fused: it waits for or communicates with other threads, or depends on when it runs. Null if
  /// none applies. Records accesses and size.
  const char* whyNotMixed(CountedLoop& loop) const {
    for (BlockId id : loops_.blocks(loop.id))
      for (Instr& instr : *function_.block(id)) {
        const isa::InstrDesc& row = isa::desc(instr.op);
        if (row.has(Flag::Terminator)) {
          if (instr.op != Op::BRA) return "not fused: threads may exit in the loop";
          continue;
        }
        if (instr.op == Op::PHI) continue;
        ++loop.size;
        for (Flag flag : {Flag::Convergent, Flag::WarpWide, Flag::Volatile, Flag::Fence, Flag::Atomic, Flag::Branch,
                          Flag::Variadic})
          if (row.has(flag)) return "not fused: the loop has synchronization";
        for (const ori::Operand& o : instr.ops())
          if (o.isDef && o.isVirtual() && function_.vreg(o.reg).multiDef)
            return "not fused: a register has several definitions";
        if (!row.has(Flag::Load) && !row.has(Flag::Store)) {
          if (row.has(Flag::SideEffect)) return "not fused: the loop has synchronization";
          continue;
        }
        if (accessOf(instr).isOrdered) return "not fused: the loop has ordered accesses";
        loop.accesses.push_back(&instr);
        if (loop.accesses.size() > kMaxAccesses) return "not fused: too many accesses";
      }
    return nullptr;
  }

  /// Why the code between the loops cannot run before both; null if it can.
  const char* whyNotBefore(const CountedLoop& a, const std::vector<BlockId>& between) const {
    for (BlockId id : between)
      for (const Instr& instr : *function_.block(id)) {
        if (ori::isTerminator(instr.op) && instr.op == Op::BRA && !instr.isGuarded()) continue;
        if (instr.op == Op::PHI || speculationOf(function_, instr) != Speculation::Free)
          return "not fused: code between the loops cannot be moved";
        for (const ori::Operand& o : instr.refs())
          if (!o.isDef && o.isReg() && o.isVirtual() && !isOutside(a, o.reg))
            return "not fused: code between the loops uses results of the first";
      }
    return nullptr;
  }

  bool readsFrom(const CountedLoop& b, const CountedLoop& a) const {
    for (BlockId id : loops_.blocks(b.id))
      for (const Instr& instr : *function_.block(id))
        for (const ori::Operand& o : instr.refs())
          if (!o.isDef && o.isVirtual() && o.reg != Operand::kNoReg && (o.isReg() || o.isConst()) &&
              !isOutside(a, o.reg))
            return true;
    return false;
  }

  /// Whether no iteration of the second loop that now precedes later iterations of the first touches the memory that
  /// these touch, unless both only read.
  bool keepsOrder(const CountedLoop& a, const CountedLoop& b) {
    for (const Instr* x : a.accesses)
      for (const Instr* y : b.accesses) {
        const MemoryAccess first = accessOf(*x), second = accessOf(*y);
        if (!mustStayInOrder(first, second, false)) continue;
        if (!touchesOwnPlace(a, first, b, second)) return false;
      }
    return true;
  }

  /// Whether both advance through memory alike: in the same iteration their addresses differ by a constant, and in
  /// different iterations they are farther apart than the access size.
  bool touchesOwnPlace(const CountedLoop& a, const MemoryAccess& x, const CountedLoop& b, const MemoryAccess& y) {
    if (x.space != y.space || !x.isExact || !y.isExact || x.base.isNone() || y.base.isNone()) return false;
    if (!x.uniformBase.isNone() || !y.uniformBase.isNone() || x.base.width != y.base.width) return false;
    std::int64_t apart = x.offset - y.offset;
    std::optional<std::int64_t> stride;
    if (isWholeRegister(function_, x.base) && isSameInBoth(a, x.base, b, y.base, kDeepestAddress)) {
      stride = strideOf(a, x.base);
    }
    if (!stride) {
      const std::optional<Course> one = courseOf(a, x.base), other = courseOf(b, y.base);
      if (!one || !other || one->by != other->by || one->first.terms != other->first.terms) return false;
      apart += static_cast<std::int32_t>(one->first.number - other->first.number);
      stride = std::abs(static_cast<std::int64_t>(one->by));
    }
    return *stride >= y.bytes - apart && *stride >= x.bytes + apart;
  }

  /// A word that is `first` in the first iteration and grows by `by` in each following one.
  struct Course {
    LinearForm first;
    std::int32_t by = 0;
  };

  /// The course of an address that does not wrap around while the loop runs.
  std::optional<Course> courseOf(const CountedLoop& loop, const Operand& base) {
    if (base.width != 1 || !loop.test.rounds || *loop.test.rounds > kMaxRounds) return std::nullopt;
    const std::optional<LinearForm> form = forms().of(base);
    if (!form) return std::nullopt;
    Course course;
    course.first.number = form->number;
    std::uint32_t by = 0;
    for (const Term& term : form->terms) {
      if (!term.value.isVirtual() || isOutside(loop, term.value.reg)) {
        course.first.add(term);
        continue;
      }
      const Counter* counter = counterOf(loop, term.value, false);
      const std::optional<LinearForm> first = counter && counter->by ? forms().of(counter->first[0]) : std::nullopt;
      if (!first) return std::nullopt;
      course.first.add(*first, term.factor);
      by += *counter->by * term.factor;
    }
    course.by = static_cast<std::int32_t>(by);
    const std::int64_t way = std::abs(std::int64_t{course.by}) * *loop.test.rounds;
    return way < (std::int64_t{1} << 31) ? std::optional(course) : std::nullopt;
  }

  /// The least difference of an address between two iterations, for any trip count; nothing when it is not known.
  std::optional<std::int64_t> strideOf(const CountedLoop& loop, const Operand& base) const {
    const Instr* def = definitions_.single(base.reg);
    if (def && def->op == Op::IMAD_WIDE && base.width == 2) {
      // The counter differs in all iterations, by at least one, or the loop would not end.
      const auto times = numberOf(def->op_(3).value());
      if (!def->op_(2).isReg() || !counterIn(loop, def->op_(2).value()) || !times ||
          !isLoopInvariant(definitions_, loops_, loop.id, def->op_(4).value()))
        return std::nullopt;
      return std::abs(std::int64_t{static_cast<std::int32_t>(*times)});
    }
    // The counter that ends the loop has no value twice: two values differ by a multiple of the step's lowest bit.
    const Counter* counter = base.width == 1 ? counterIn(loop, base) : nullptr;
    if (!counter || counter != &loop.counter()) return std::nullopt;
    return std::int64_t{*counter->by & (0u - *counter->by)};
  }

  /// The counter that an operand is, in this iteration or the next, if its value differs in all iterations.
  const Counter* counterIn(const CountedLoop& loop, const Operand& o) const {
    const Counter* counter = counterOf(loop, o, false);
    if (!counter) counter = counterOf(loop, o, true);
    return counter && counter->by.value_or(0) != 0 && (counter == &loop.counter() || loop.test.rounds) ? counter
                                                                                                       : nullptr;
  }

  bool hasRegisters(const CountedLoop& a, const CountedLoop& b) {
    const ori::Liveness& liveness = function_.analyses().liveness();
    const ori::RegisterPressure& pressure = function_.analyses().pressure();
    const auto most = [&](const CountedLoop& loop, File file) {
      unsigned used = 0;
      for (BlockId id : loops_.blocks(loop.id))
        used = std::max(used, pressure.inBlock(id)[static_cast<unsigned>(file)]);
      return used;
    };
    unsigned both = 0;
    liveness.liveIn(b.header).forEach([&](ori::CompId c) {
      both += liveness.components().file(c) == File::R && liveness.isLiveIn(a.header, c) ? 1 : 0;
    });
    const unsigned r = static_cast<unsigned>(File::R);
    const unsigned limit = registersUpToCliff(function_, pressure.maximum()[r], context_);
    return most(a, File::R) + most(b, File::R) <= limit + both && most(a, File::P) + most(b, File::P) <= kMaxPredicates;
  }

  // --- transformation

  void fuse(const CountedLoop& a, const CountedLoop& b, const std::vector<BlockId>& between) {
    ori::Block *headA = function_.block(a.header), *latchA = function_.block(a.latch);
    ori::Block *headB = function_.block(b.header), *latchB = function_.block(b.latch);
    context_.remarks.applied(b.test.compare, "fused two loops", static_cast<std::int64_t>(a.size + b.size));
    const ori::EdgeIds entry{a.from, a.header};
    ori::Block* front = findOrMakePreheaders(function_, cfg_, std::span(&entry, 1)).front();
    for (BlockId id : between)
      function_.forEachSafe(*function_.block(id), [&](Instr& instr) {
        if (!ori::isTerminator(instr.op)) moveToEnd(function_, instr, *front);
      });

    // An iteration of the first loop continues with the second loop's, which ends both.
    function_.erase(latchA->last);
    latchA->fallthrough = headB->id;
    const BlockId outside = b.from;
    std::vector<Instr*> phis;
    for (Instr& instr : *headB)
      if (instr.op == Op::PHI) phis.push_back(&instr);
    function_.renamePhiSource(headA, a.latch, b.latch);
    for (Instr* phi : phis) {
      function_.unlink(phi);
      function_.prepend(headA, phi);
    }
    if (outside != front->id)
      for (Instr* phi : phis)
        for (unsigned i = 2; i < phi->operandCount; i += 2)
          if (phi->op_(i).reg == outside) function_.setOperand(phi, i, Operand::label(front->id));
    if (latchB->fallthrough == headB->id) latchB->fallthrough = headA->id;
    for (unsigned i = 0; i < latchB->last->operandCount; ++i)
      if (latchB->last->op_(i).isLabel() && latchB->last->op_(i).reg == headB->id)
        function_.setOperand(latchB->last, i, Operand::label(headA->id));
    for (BlockId id : between)
      function_.eraseBlock(function_.block(id));
    shareCounters(a, b);
  }

  /// Merges equal counters: the step of the second loop, at the end of the iteration, computes the next value, so the
  /// two are not live at once.
  void shareCounters(const CountedLoop& a, const CountedLoop& b) {
    for (const Counter& y : b.counters)
      for (const Counter& x : a.counters) {
        if (!wereEqual(x, y)) continue;
        function_.forEachUse(y.value.reg, [&](ori::Ref use) {
          Operand o = use->value();
          o.reg = x.value.reg;
          function_.setOperand(use.owner, use.index(), o);
        });
        function_.forEachDef(x.value.reg, [&](ori::Ref def) {
          for (unsigned i = 1; i + 1 < def.owner->operandCount; i += 2)
            if (def.owner->op_(i + 1).reg == b.latch) function_.setOperand(def.owner, i, y.next);
        });
        break;
      }
  }

  /// Whether the first values are equal numbers. Definitions of other first values may have moved.
  bool wereEqual(const Counter& x, const Counter& y) const {
    return x.value.width == 1 && y.value.width == 1 && x.by && x.by == y.by && x.first[0] == y.first[0];
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  const Definitions definitions_;
  std::optional<Rewriter> rewriter_; ///< for lookups, not for changes
  std::optional<LinearForms> forms_;
};

} // namespace

/// Phase 59. Fuses two consecutive loops with the same trip count into one that runs an iteration of each in turn. It
/// counts, tests and branches once, and common loads and computations are removed by phase 64. The conditions: Each
/// loop has one entry and one test, at its end. All code between them can run before both. Lanes and threads do not
/// synchronize in them. The second reads no register that the first defines. In memory, no iteration of the second
/// touches what a later iteration of the first touches: the spaces differ, or the addresses advance alike with the
/// counters and are far enough apart between iterations. The registers of both must not cost occupancy.
bool oriLoopFusion(ori::Function& function, PhaseContext& context) {
  if (!function.ssa || context.knobs.get(Knob::LoopFusionMaxInstructions) == 0) return false;
  if (function.analyses().loops().all().size() < 2) return false;
  unsigned fused = 0;
  while (fused < kMaxFusions && Fuser(function, context).run())
    ++fused;
  return fused != 0;
}

} // namespace orias::phases
