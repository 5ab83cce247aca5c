#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/constant_registers.h"
#include "phases/copy_block.h"
#include "phases/counted_exit.h"
#include "phases/local_scan.h"
#include "phases/loop_arms.h"
#include "phases/loop_trips.h"
#include "phases/narrow_induction_variables.h"
#include "phases/occupancy.h"
#include "phases/phases.h"
#include "phases/speculation.h"
#include "phases/unroll_estimate.h"

#include <algorithm>
#include <fmt/format.h>
#include <initializer_list>
#include <optional>
#include <unordered_set>
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

/// The most levels of nested loops that are unrolled, from the inside out.
constexpr unsigned kMaxLevels = 4;
/// Instructions that all unrolling together may add to a function, in addition to as many as it has.
constexpr std::size_t kMaxGrowth = 4096;

/// Unroll factor where the trip count is known only at run time.
constexpr unsigned kIterationsAtOnce = 4;
/// The largest factor of partial unrolling, where it divides the trip count.
constexpr unsigned kMaxDividing = 8;
/// The most instructions, over all copies, whose cycles are estimated.
constexpr std::size_t kMaxEstimated = 2304;

/// A loop whose trip count is known: `test` ends the last iteration. Without `trips` the count is known only at run
/// time.
struct Plan {
  LoopId loop = ori::kNoId;
  Block* test = nullptr; ///< the block whose test ends the loop; each iteration executes it
  BlockId stay = ori::kNoId, leave = ori::kNoId;
  unsigned trips = 0;
  unsigned copies = 0;           ///< of the loop's blocks, the first included
  CountedExit counted;           ///< without `trips`: the test that counts the iterations
  bool doesTwoOfRest = false;    ///< two of the remaining iterations are unrolled, too
  bool beginsWithNumber = false; ///< the first value of the counter of `counted` is a known number
};

/// The innermost loops at one time. All decisions are made before any loop is changed.
class Level {
 public:
  Level(ori::Function& function, PhaseContext& context, std::size_t& growthLeft, std::vector<bool>& isRest)
      : function_(function), context_(context), growthLeft_(growthLeft), isRest_(isRest),
        cfg_(function.analyses().cfg()), dominators_(function.analyses().dominators()),
        loops_(function.analyses().loops()), classes_(function, context), trips_(function) {
    isRest_.resize(function.blockIdCount());
  }

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
    for (Plan& plan : plans)
      plan.doesTwoOfRest = plan.trips == 0 && gainsByTwoOfRest(plan);
    after_.assign(function_.blockIdCount(), {});
    before_.assign(function_.blockIdCount(), {});
    for (const Plan& plan : plans) {
      if (plan.trips != 0)
        apply(plan);
      else
        applyCounted(plan);
    }
    std::vector<Block*> order;
    for (Block* block : function_.layout()) {
      if (block->id >= after_.size()) break; // the copies, which are still after all other blocks
      order.insert(order.end(), before_[block->id].begin(), before_[block->id].end());
      order.push_back(block);
      order.insert(order.end(), after_[block->id].begin(), after_[block->id].end());
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
    const auto reportMissed = [&](const char* why) {
      context_.remarks.missed(where, why);
      return std::nullopt;
    };
    if (loop.latches.size() != 1) return reportMissed("not unrolled: the loop has several back edges");
    std::size_t size = 0;
    unsigned live = 0;
    for (BlockId b : loops_.blocks(id)) {
      const Block& block = *function_.block(b);
      for (const Instr& instr : block) {
        if (instr.op == Op::NOP) return reportMissed("not unrolled: the loop has .pragma \"nounroll\"");
        if (ori::isTerminator(instr.op) && instr.op != Op::BRA)
          return reportMissed("not unrolled: the loop has control flow other than branches");
        size += isa::desc(instr.op).has(isa::Flag::Copy) ? 0u : 1u;
      }
      live = std::max(live, pressure().inBlock(b)[static_cast<unsigned>(File::R)]);
    }
    Plan plan = knownTrips(id);
    const char* whyNot = nullptr;
    if (loop.blockCount == 1) {
      whyNot = chooseByCycles(loop, plan, size);
    } else {
      // Copies of different iterations can be in progress at the same time, each with its own values.
      if (live > context_.maxRegisters / 2) return reportMissed("not unrolled: register pressure is too high");
      whyNot = chooseBySize(loop, plan, size);
    }
    if (whyNot) return reportMissed(whyNot);
    const std::size_t growth = plan.copies * (size - (plan.copies == plan.trips ? vanishing(id) : 0));
    if (growth > growthLeft_) return reportMissed("not unrolled: the growth budget of the function is used up");
    growthLeft_ -= growth;
    return plan;
  }

  /// The number of loop-invariant instructions: only one copy keeps them.
  std::size_t invariantsOf(LoopId id) const {
    std::unordered_set<const Instr*> found;
    const auto isInvariant = [&](const ori::Operand& source) {
      const Instr* made = function_.singleDef(source.reg);
      if (!made) return false;
      return !loops_.contains(id, made->block->id) || found.contains(made);
    };
    for (BlockId b : loops_.blocks(id))
      for (const Instr& instr : *function_.block(b)) {
        if (isa::desc(instr.op).has(isa::Flag::Copy) || speculationOf(function_, instr) != Speculation::Free) continue;
        if (std::ranges::all_of(instr.ops(), [&](const ori::Operand& o) {
              return !o.isVirtual() || (o.isDef ? function_.singleDef(o.reg) == &instr : isInvariant(o));
            }))
          found.insert(&instr);
      }
    return found.size();
  }

  /// Whether all iterations together are short enough for full unrolling.
  bool fitsWhole(const Plan& plan, std::size_t size) {
    if (plan.trips == 0) return false;
    const auto limit = static_cast<std::size_t>(knob(Knob::LoopUnrollMaxInstructions));
    if (plan.trips * size <= limit) return true;
    // Not examined where nearly all instructions would have to be invariant.
    constexpr std::size_t kMaxReduced = 4;
    if (plan.trips * size <= kMaxReduced * limit && plan.trips * (size - invariantsOf(plan.loop)) <= limit) return true;
    return plan.trips * size <= static_cast<std::size_t>(knob(Knob::LoopUnrollConstantInstructions)) &&
           hasKnownAddresses(plan.loop, size);
  }

  /// Sets the unroll factor of a loop of several blocks, whose iterations do not overlap. Else returns why not.
  const char* chooseBySize(const ori::Loop& loop, Plan& plan, std::size_t size) {
    const auto partLimit = static_cast<std::size_t>(knob(Knob::LoopUnrollPartInstructions));
    if (fitsWhole(plan, size)) {
      plan.copies = plan.trips;
      return nullptr;
    }
    for (unsigned factor = kMaxDividing; plan.trips != 0 && factor > 1; factor /= 2)
      if (plan.trips % factor == 0 && factor * size <= partLimit) {
        plan.copies = factor;
        return nullptr;
      }
    if (const char* why = whyNotCounted(loop, plan)) return why;
    if (kIterationsAtOnce * size > partLimit) return "not unrolled: the unrolled body is too long";
    if (leavesOnLoad(plan.loop, loop.latches[0])) return "not unrolled: what the loop loads decides whether it ends";
    plan.trips = 0;
    plan.copies = kIterationsAtOnce;
    return nullptr;
  }

  /// Sets the unroll factor of a loop of one block by the estimated cycles of its iterations. Else returns why not.
  const char* chooseByCycles(const ori::Loop& loop, Plan& plan, std::size_t size) {
    if (fitsWhole(plan, size)) {
      plan.copies = plan.trips;
      return nullptr;
    }
    struct Candidate {
      unsigned copies;
      bool isCounted;
    };
    std::vector<Candidate> candidates; // the shortest code first
    bool isDivided = false;
    for (unsigned factor = 2; plan.trips != 0 && factor <= kMaxDividing; ++factor)
      if (plan.trips % factor == 0 && factor != plan.trips) {
        candidates.push_back({factor, false});
        isDivided |= factor >= kIterationsAtOnce;
      }
    const char* whyNot = nullptr;
    Plan counted = plan;
    if (!isDivided) {
      whyNot = whyNotCounted(loop, counted);
      if (!whyNot) candidates.push_back({kIterationsAtOnce, true});
    }
    if (plan.trips != 0 && plan.trips * size <= static_cast<std::size_t>(knob(Knob::LoopUnrollWholeInstructions)))
      candidates.push_back({plan.trips, false});
    if (candidates.empty()) return whyNot;

    const UnrollJudge judge = judgeOf(loop, plan.trips != 0 ? plan : counted);
    double best = 0;
    const Candidate* taken = nullptr;
    for (const Candidate& candidate : candidates) {
      if (candidate.copies * size > kMaxEstimated) continue;
      const double price = judge.price(candidate.copies, candidate.isCounted);
      if ((best - price) * 100 < static_cast<double>(knob(Knob::LoopUnrollMinGain))) continue;
      best = price;
      taken = &candidate;
    }
    if (!taken) return "not unrolled: it gains too little";
    if (taken->isCounted) {
      plan = counted;
      plan.trips = 0;
    }
    plan.copies = taken->copies;
    return nullptr;
  }

  const ori::RegisterPressure& pressure() const {
    if (!pressure_) pressure_ = &function_.analyses().pressure();
    return *pressure_;
  }

  UnrollJudge judgeOf(const ori::Loop& loop, const Plan& plan) const {
    // Loops with a step known only at run time divide their iterations between the threads of the grid, so each thread
    // has few. (A guess of 4 in place of 2: 2% more cycles on a full multiprocessor, over 218 kernels of OpenMM and
    // ArrayFire.)
    constexpr unsigned kFewer = 8;
    const auto guessed = static_cast<unsigned>(knob(Knob::LoopUnrollGuessedTrips));
    UnrollJudge::Loop facts;
    for (const Instr& instr : *function_.block(loop.header))
      facts.instrs.push_back(&instr);
    facts.isKnown = plan.trips != 0;
    facts.trips = facts.isKnown ? plan.trips : std::max(1U, plan.counted.by.times != 0 ? guessed / kFewer : guessed);
    facts.peak = pressure().inBlock(loop.header)[static_cast<unsigned>(File::R)];
    facts.functionPeak = pressure().maximum()[static_cast<unsigned>(File::R)];
    countInstructions();
    facts.outside = outsideLoops_;
    for (LoopId at = loops_.innermost(loop.header); at != ori::kNoId; at = loops_.loop(at).parent)
      facts.outside += directlyIn_[at];
    for (const Instr* instr : facts.instrs)
      facts.outside -= isCopy(*instr) ? 0U : 1U;
    return UnrollJudge(std::move(facts), classes_, context_.target);
  }

  /// Counts the instructions outside all loops, and in each loop but in none inside it. Done once: no loop changes
  /// before all plans are made.
  void countInstructions() const {
    if (!directlyIn_.empty()) return;
    directlyIn_.resize(loops_.all().size());
    for (const Block* block : function_.layout()) {
      const LoopId in = loops_.innermost(block->id);
      std::size_t& count = in == ori::kNoId ? outsideLoops_ : directlyIn_[in];
      for (const Instr& instr : *block)
        count += isCopy(instr) ? 0U : 1U;
    }
  }

  static bool isCopy(const Instr& instr) { return isa::desc(instr.op).has(isa::Flag::Copy); }

  std::int64_t knob(Knob k) const { return context_.knobs.get(k); }

  /// Returns a plan with the test that ends a loop with one backedge, and with the trip count where that is known.
  Plan knownTrips(LoopId id) {
    const ori::Loop& loop = loops_.loop(id);
    const auto most = static_cast<unsigned>(context_.knobs.get(Knob::LoopUnrollMaxTrips));
    Plan plan;
    plan.loop = id;
    for (const auto& [from, to] : loops_.exits(id)) {
      if (!dominators_.dominates(from, loop.latches[0])) continue;
      plan.test = function_.block(from);
      plan.leave = to;
      const std::optional<CountedExit> test = trips_.testOf(id, *plan.test, to);
      if (!test) continue;
      plan.stay = test->stay;
      plan.trips = trips_.trips(id, *test, most);
      if (plan.trips != 0) break;
    }
    return plan;
  }

  /// Whether a large part of an iteration are accesses to constant banks or to the frame whose addresses are known once
  /// this loop and the loops around it are fully unrolled. Such a load of a constant becomes an operand, or one load
  /// for the warp; such an access to the frame vanishes if the array is kept in registers.
  bool hasKnownAddresses(LoopId id, std::size_t size) {
    constexpr std::size_t kShare = 6;
    const std::size_t fewest = (size + kShare - 1) / kShare;
    return knownAccesses(id, {Op::LDC, Op::LDL, Op::STL}, fewest) >= fewest;
  }

  /// The accesses to the frame that may become registers.
  std::size_t vanishing(LoopId id) { return knownAccesses(id, {Op::LDL, Op::STL}, 1); }

  /// The accesses with one of the opcodes whose addresses are known then. 0 if there are fewer than `fewest` with any
  /// address in a register.
  std::size_t knownAccesses(LoopId id, std::initializer_list<Op> ops, std::size_t fewest) {
    std::vector<const Instr*> accesses;
    for (BlockId b : loops_.blocks(id))
      for (const Instr& instr : *function_.block(b))
        if (std::ranges::find(ops, instr.op) != ops.end() && readsRegister(instr)) accesses.push_back(&instr);
    if (accesses.size() < fewest) return 0;
    const std::vector<bool> isNumber = numbers(id);
    return static_cast<std::size_t>(std::ranges::count_if(accesses, [&](const Instr* access) {
      const ori::Operand& address = access->op_(isa::desc(access->op).slot(isa::SlotId::Ra));
      return address.isZeroReg() || (address.isVirtual() && isNumber[address.reg]);
    }));
  }

  static bool readsRegister(const Instr& instr) {
    return std::any_of(instr.ops().begin(), instr.ops().end(),
                       [](const ori::Operand& o) { return !o.isDef && o.isReg(File::R) && !o.isZeroReg(); });
  }

  /// Which registers full unrolling turns into constants. Counters of outer loops with an unknown trip count stay
  /// variables.
  std::vector<bool> numbers(LoopId id) {
    LoopId open = ori::kNoId; // the innermost of them
    for (LoopId at = loops_.loop(id).parent; at != ori::kNoId && open == ori::kNoId; at = loops_.loop(at).parent)
      if (loops_.loop(at).latches.size() != 1 || knownTrips(at).trips == 0) open = at;
    return constantRegisters(function_, loops_, open);
  }

  /// Why the loop cannot be unrolled with a remainder loop; null when it can. Sets the test.
  const char* whyNotCounted(const ori::Loop& loop, Plan& plan) {
    if (context_.knobs.get(Knob::LoopUnrollMaxTrips) == 0 || context_.knobs.get(Knob::LoopUnrollCounted) == 0)
      return "not unrolled: the trip count is unknown or too large";
    if (isRest_[loop.header]) return "not unrolled: the loop is a remainder loop";
    if (entryOf(plan.loop) == ori::kNoId) return "not unrolled: the loop has several entries";
    if (synchronizes(function_, loops_, plan.loop) && !exchangesTogether(function_, loops_, plan.loop))
      return "not unrolled: the loop has a warp-level synchronization";
    for (const auto& [from, to] : loops_.exits(plan.loop)) {
      if (from != loop.latches[0]) continue;
      const std::optional<CountedExit> test = trips_.testOf(plan.loop, *function_.block(from), to);
      if (!test || test->stay != loop.header || !trips_.isCounted(plan.loop, *test)) continue;
      plan.test = function_.block(from);
      plan.leave = to;
      plan.stay = test->stay;
      plan.counted = *test;
      plan.beginsWithNumber = trips_.beginsWithConstant(plan.loop, *test);
      return nullptr;
    }
    return "not unrolled: the trip count is unknown or too large";
  }

  /// Whether a loaded value decides that lanes leave the loop before its latch. The load of the next iteration waits
  /// for the branch of this one, so copies of the body do not overlap (ptxas does not unroll such loops, observed).
  bool leavesOnLoad(LoopId loop, BlockId latch) {
    std::vector<const Instr*> work;
    const auto take = [&](const Instr* instr) {
      if (std::find(work.begin(), work.end(), instr) == work.end()) work.push_back(instr);
    };
    for (const auto& [from, to] : loops_.exits(loop))
      if (from != latch) take(function_.block(from)->last);
    for (std::size_t i = 0; i < work.size(); ++i) {
      if (isa::desc(work[i]->op).has(isa::Flag::Load)) return true;
      for (const ori::Operand& o : work[i]->refs()) {
        const LoopTrips::Definitions* found = !o.isDef && o.isVirtual() ? trips_.definitionsIn(loop, o.reg) : nullptr;
        if (found) take(found->last);
      }
    }
    return false;
  }

  /// The only block outside that leads to the loop, or kNoId. The block must not be in another loop that may change
  /// now.
  BlockId entryOf(LoopId id) const {
    const ori::Loop& loop = loops_.loop(id);
    BlockId found = ori::kNoId;
    for (BlockId p : cfg_.predecessors(loop.header)) {
      if (!cfg_.isReachable(p) || loops_.contains(id, p)) continue;
      if (found != ori::kNoId || loops_.innermost(p) != loop.parent) return ori::kNoId;
      found = p;
    }
    return found;
  }

  void apply(const Plan& plan) {
    const ori::Loop& loop = loops_.loop(plan.loop);
    const bool isWhole = plan.copies == plan.trips;
    Block* header = function_.block(loop.header);
    context_.remarks.applied(header->last,
                             isWhole ? fmt::format("fully unrolled: {} iterations", plan.trips)
                                     : fmt::format("unrolled {} times: trip count {}", plan.copies, plan.trips),
                             plan.copies);
    std::vector<Block*> blocks;
    for (BlockId b : loops_.blocks(plan.loop))
      blocks.push_back(function_.block(b));

    // The blocks of each iteration, by position in `blocks`.
    std::vector<std::vector<Block*>> rounds{blocks};
    for (unsigned round = 1; round < plan.copies; ++round) {
      std::vector<Block*>& copies = rounds.emplace_back();
      for (const Block* block : blocks)
        copies.push_back(newCopyOf(*block));
    }
    const auto positionOf = [&](BlockId id) {
      return static_cast<std::size_t>(
          std::find_if(blocks.begin(), blocks.end(), [&](const Block* b) { return b->id == id; }) - blocks.begin());
    };
    // A backedge leads to the next iteration.
    const auto target = [&](BlockId id, unsigned round) {
      if (id == loop.header) return rounds[(round + 1) % plan.copies][0]->id;
      const std::size_t at = positionOf(id);
      return at < blocks.size() ? rounds[round][at]->id : id;
    };
    for (unsigned round = plan.copies; round-- > 0;)
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        Block* to = rounds[round][i];
        if (round > 0)
          copyBlock(function_, *blocks[i], to, [&](BlockId id) { return target(id, round); });
        else
          retarget(to, [&](BlockId id) { return target(id, 0); });
        if (i != positionOf(plan.test->id)) continue;
        const bool isLast = round + 1 == plan.copies;
        if (isLast && !isWhole) continue;
        to->fallthrough = isLast ? plan.leave : target(plan.stay, round);
        function_.erase(to->last);
      }
    // Copies are placed after the loop, iteration by iteration.
    std::vector<Block*>& after = after_[blocks.back()->id];
    for (unsigned round = 1; round < plan.copies; ++round)
      after.insert(after.end(), rounds[round].begin(), rounds[round].end());
  }

  /// Adds an unrolled loop without tests between its iterations, which runs while enough iterations are left. The
  /// original loop follows and runs the remaining ones.
  void applyCounted(const Plan& plan) {
    const ori::Loop& loop = loops_.loop(plan.loop);
    const CountedExit& test = plan.counted;
    Block* header = function_.block(loop.header);
    context_.remarks.applied(header->last, fmt::format("unrolled {} times with a remainder loop", plan.copies),
                             plan.copies);
    isRest_[loop.header] = true;
    std::vector<Block*> blocks;
    for (BlockId b : loops_.blocks(plan.loop))
      blocks.push_back(function_.block(b));
    std::vector<std::vector<Block*>> rounds(plan.copies);
    for (std::vector<Block*>& round : rounds)
      for (const Block* block : blocks)
        round.push_back(newCopyOf(*block));
    Block* entry = function_.newBlock(header->name);
    Block* end = function_.newBlock(header->name);
    Block* rest = function_.newBlock(header->name);
    const auto target = [&](BlockId id, unsigned round) {
      if (id == loop.header) return rounds[(round + 1) % plan.copies][0]->id;
      const auto at = std::find_if(blocks.begin(), blocks.end(), [&](const Block* b) { return b->id == id; });
      return at == blocks.end() ? id : rounds[round][static_cast<std::size_t>(at - blocks.begin())]->id;
    };
    const BlockId first = rounds[0][0]->id;
    const auto by = static_cast<std::int32_t>(test.by.number);
    const auto steps = [by](unsigned count) {
      return Operand::immediate((by < 0 ? -by : by) * static_cast<std::int32_t>(count));
    };
    const Operand way = test.by.times != 0 ? function_.use(function_.newVReg(File::R, 1, {})) : steps(plan.copies - 1);
    for (unsigned round = 0; round < plan.copies; ++round)
      for (std::size_t i = 0; i < blocks.size(); ++i) {
        Block* to = rounds[round][i];
        copyBlock(function_, *blocks[i], to, [&](BlockId id) { return target(id, round); });
        if (blocks[i] != plan.test) continue;
        function_.erase(to->last);
        to->fallthrough = target(plan.stay, round);
        if (round + 1 == plan.copies)
          branchWhereManyAreLeft(function_, to, test, function_.use(test.counter), way, test.stays(), first, end->id);
      }

    // Before the first iteration the counter has not been compared, and is not compared here: that iteration always
    // runs. Where the counter begins with a number, the counter of the second iteration is tested instead. The first
    // value may be outside the limit, as in a loop that starts one step below zero.
    const Operand stays = function_.use(function_.newVReg(File::P, 1, {}));
    Operand counter = function_.use(test.counter), wayLeft = way;
    if (plan.beginsWithNumber) {
      counter = function_.use(function_.newVReg(File::R, 1, {}));
      wayLeft = steps(plan.copies - 2);
    }
    Instr* branch = branchWhereManyAreLeft(function_, entry, test, counter, wayLeft, stays, first, rest->id);
    ori::Builder b = ori::Builder::before(function_, entry->first);
    b.setSource(branch->source);
    if (plan.beginsWithNumber)
      b.emit(Op::IADD3, {counter, Operand::pt(), Operand::pt(), function_.use(test.counter), Operand::immediate(by),
                         Operand::rz()});
    Operand isSmall = Operand::pt();
    if (test.by.times != 0) {
      // The step is positive, and the unrolled steps together fit 32 bits.
      const Operand step = function_.use(test.by.reg), less = function_.use(function_.newVReg(File::R, 1, {}));
      isSmall = function_.use(function_.newVReg(File::P, 1, {}));
      b.emit(Op::IADD3, {less, Operand::pt(), Operand::pt(), step, Operand::immediate(-1), Operand::rz()});
      b.emit(Op::ISETP, {isSmall, Operand::pt(), less, Operand::immediate(kLargestStep), Operand::pt()},
             {{isa::Mod::Cmp, isa::ICmp::LT}, {isa::Mod::Type, isa::IntType::U32}, {isa::Mod::Bool, isa::BoolOp::AND}});
      b.emit(
          Op::IMAD,
          {way, step, Operand::immediate(static_cast<std::int32_t>(test.by.times * (plan.copies - 1))), Operand::rz()},
          {{isa::Mod::Type, isa::IntType::U32}});
    }
    compareAgain(b, test, counter, stays, isSmall);
    branchTo(function_, end, test, test.stays(), rest->id);
    end->fallthrough = plan.leave;
    const std::vector<Block*> pair = plan.doesTwoOfRest ? twoIterations(plan, rest) : std::vector<Block*>{};
    if (pair.empty()) rest->fallthrough = loop.header;
    ori::redirectEdge(function_, function_.block(entryOf(plan.loop)), header, entry);

    std::vector<Block*>& front = before_[header->id];
    front.push_back(entry);
    for (const std::vector<Block*>& round : rounds)
      front.insert(front.end(), round.begin(), round.end());
    front.insert(front.end(), {end, rest});
    front.insert(front.end(), pair.begin(), pair.end());
  }

  /// Of up to three remaining iterations, two may wait for their loads together. Not where lanes have different trip
  /// counts: some lanes would wait for the others.
  bool gainsByTwoOfRest(const Plan& plan) {
    if (loops_.loop(plan.loop).blockCount != 1 || plan.copies != kIterationsAtOnce || plan.counted.isWide())
      return false;
    const Block& block = *function_.block(loops_.loop(plan.loop).header);
    bool loads = false;
    for (const Instr& instr : block)
      loads |= isa::desc(instr.op).has(isa::Flag::Load);
    return loads && !function_.analyses().divergence().branchesApart(block.id);
  }

  /// Appends to `rest`, after which one iteration always runs. Where the following one also runs, both run without a
  /// test between them. Returns the new blocks, the last of which leads to the loop.
  std::vector<Block*> twoIterations(const Plan& plan, Block* rest) {
    const CountedExit& test = plan.counted;
    const Block& body = *function_.block(loops_.loop(plan.loop).header);
    Block *first = newCopyOf(body), *second = newCopyOf(body), *one = function_.newBlock(body.name);
    copyBlock(function_, body, first, [](BlockId id) { return id; });
    function_.erase(first->last);
    first->fallthrough = second->id;
    copyBlock(function_, body, second, [&](BlockId id) { return id == body.id ? one->id : id; });
    one->fallthrough = body.id;

    const Operand counter = function_.use(function_.newVReg(File::R, 1, {})),
                  goesOn = function_.use(function_.newVReg(File::P, 1, {}));
    Instr* branch = branchTo(function_, rest, test, goesOn, first->id);
    rest->fallthrough = one->id;
    ori::Builder b = ori::Builder::before(function_, branch);
    b.setSource(branch->source);
    const Operand now = function_.use(test.counter);
    if (test.by.times != 0)
      b.emit(Op::IMAD,
             {counter, function_.use(test.by.reg), Operand::immediate(static_cast<std::int32_t>(test.by.times)), now},
             {{isa::Mod::Type, isa::IntType::U32}});
    else
      b.emit(Op::IADD3, {counter, Operand::pt(), Operand::pt(), now,
                         Operand::immediate(static_cast<std::int32_t>(test.by.number)), Operand::rz()});
    compareAgain(b, test, counter, goesOn, Operand::pt());
    return {first, second, one};
  }

  Block* newCopyOf(const Block& block) {
    Block* copy = function_.newBlock(block.name);
    copy->isCold = block.isCold;
    return copy;
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
  std::vector<bool>& isRest_; ///< by header: the loop is the remainder of an unrolled one
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  mutable std::size_t outsideLoops_ = 0;                    ///< instructions, without copies
  mutable std::vector<std::size_t> directlyIn_;             ///< by loop; empty: not counted yet
  mutable const ori::RegisterPressure* pressure_ = nullptr; ///< while plans are made; the code has not changed then
  const OccupancyClasses classes_;
  LoopTrips trips_;
  std::vector<std::vector<Block*>> after_, before_; ///< by block: copies placed after it, or before it
};

} // namespace

/// Phase 22. Narrows comparisons of 64-bit counters to 32 bits where possible, and if-converts short arms of innermost
/// loops. Loops with a known trip count are unrolled fully, or partially by a factor of that count. The tests between
/// the iterations are deleted; the counter becomes constants in phase 29. Where the trip count is known only at run
/// time, an unrolled loop runs while enough iterations are left, and the original loop runs the rest. If the loop
/// loads, two of the remaining iterations run together where there are two. A NOP in a loop represents `.pragma
/// "nounroll"`; all of them are deleted here.
bool oriLoopUnrolling(ori::Function& function, PhaseContext& context) {
  if (function.analyses().loops().all().empty() && !function.everHad(Op::NOP)) return false;
  bool changed = narrowInductionVariables(function, context.remarks);
  if (context.knobs.get(Knob::PredicationMaxSlots) != 0) changed |= predicateLoopArms(function, context);
  std::size_t growthLeft = kMaxGrowth;
  for (const Block* block : function.layout())
    for (const Instr& instr : *block)
      growthLeft += instr.op != Op::NOP;
  bool isUnrolled = false;
  std::vector<bool> isRest;
  for (unsigned level = 0; level < kMaxLevels && Level(function, context, growthLeft, isRest).run(); ++level)
    isUnrolled = true;
  for (Block* block : function.layout())
    function.forEachSafe(*block, [&](Instr& instr) {
      if (instr.op != Op::NOP) return;
      function.erase(&instr);
      changed = true;
    });
  if (isUnrolled) ori::setLoopDepths(function, function.analyses().loops());
  return changed || isUnrolled;
}

} // namespace orias::phases
