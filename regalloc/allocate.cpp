#include "regalloc/allocate.h"

#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/block_frequency.h"
#include "ori/call_abi.h"
#include "ori/calls.h"
#include "ori/module.h"
#include "ori/setmaxnreg.h"
#include "regalloc/accumulators.h"
#include "regalloc/call_points.h"
#include "regalloc/calls.h"
#include "regalloc/check.h"
#include "regalloc/cross_file_moves.h"
#include "regalloc/dead_stores.h"
#include "regalloc/frame.h"
#include "regalloc/frame_lives.h"
#include "regalloc/function_abi.h"
#include "regalloc/gap_choice.h"
#include "regalloc/mend.h"
#include "regalloc/moves.h"
#include "regalloc/occupancy_search.h"
#include "regalloc/predicate_packing.h"
#include "regalloc/quad_textures.h"
#include "regalloc/recompute.h"
#include "regalloc/register_placement.h"
#include "regalloc/reloads.h"
#include "regalloc/shared_spills.h"
#include "regalloc/spill.h"
#include "regalloc/spilled_predicates.h"
#include "regalloc/uniform_promotion.h"
#include "regalloc/wgmma_sync.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace orias::regalloc {

using isa::File;
using ori::Function;

namespace {

/// Passes that choose carefully what to spill. After them, everything that does not fit is spilled completely.
constexpr unsigned kMaxSpillPasses = 24;
/// Passes that only clear single runs for the webs that found none.
constexpr unsigned kPassesWithoutSlack = 1;
/// After those passes, registers kept free where runs are missing: this many more for each pass, up to this fraction of
/// all.
constexpr unsigned kSlackPerPass = 2, kMaxSlackPart = 4;
/// UR0 to UR3 are not allocated. ptxas never uses them, with up to 59 others in use (observed in its cubins for sm_75,
/// sm_80 and sm_90). On an H100 a kernel that had matrix descriptors in them sometimes raised an illegal instruction
/// error.
constexpr unsigned kFirstUniform = 4;
/// Uniform registers that file R does not get when it is short, so that uniform pairs still find aligned slots.
constexpr unsigned kSpareUniform = 8;
/// A kernel that uses setmaxnreg starts with at least this many registers, regardless of its limit (observed).
constexpr unsigned kMinRegisters = 24;
/// The spill cost of temporaries of spill code.
constexpr double kUnspillable = std::numeric_limits<double>::infinity();

class Allocator {
 public:
  Allocator(Function& function, const AllocationOptions& options)
      : function_(function), options_(options), state_(function), physical_(function.vregCount(), ~0u),
        hasCalls_(ori::hasCalls(function)), hasQuadTextures_(hasQuadTextures(function)) {
    ori::setBlockFrequencies(function);
    // Callees place their stack below ours.
    state_.usesFrame = !function.frame.empty() || function.growsStack || hasCalls_ || isCallable(function);
    changesCounts_ = ori::hasRegisterRequests(function);
    if (maySpillToShared(function) && !changesCounts_ && !hasQuadTextures_ && options.debugDefs == nullptr)
      sharedWords_ = options.sharedSpillWords;
  }

  /// Returns whether file R fits into this many registers without spilling.
  bool fits(unsigned registers, Search search) {
    if (hasQuadTextures_ || changesCounts_ || isCallable(function_)) return true;
    code_ = std::make_shared<const NumberedCode>(function_);
    const LiveRanges ranges(code_, File::R);
    Webs webs = buildWebs(function_, File::R, ranges, {true, state_.unspillable, {}});
    addPredicatesTo(webs);
    if (state_.usesFrame) ++registers; // the stack pointer's
    const RegisterBudget budget = budgetOf(File::R, registers, {}, callPoints(function_, ranges, File::R));
    if (mostOccupied(webs, ranges.pointCount(), registers, {}) + (state_.usesFrame ? 1 : 0) > registers) return false;
    Placer placer(function_, webs);
    return occupancySearch(webs, placer).canComplete(budget, search);
  }

  std::string run() {
    // Lanes that wait in other functions have registers of their own there.
    if (hasQuadTextures_ && (hasCalls_ || isCallable(function_)))
      return fmt::format(
          "function '{}': not supported yet: tex.grad of three coordinates, with offsets or with a value "
          "to compare with, beside calls or in a function that is called",
          function_.name());
    if (isCallable(function_)) putEntryFirst(function_);
    // Functions of the program do not know how many registers their callers have left.
    if (changesCounts_ && (hasQuadTextures_ || isCallable(function_) || callsFunctions()))
      keepCounts("a callee does not know the register count of the warp");
    keepsFactors_ = pinWgmmaInputs(function_);
    for (File file : {File::B, File::UP, File::P, File::UR, File::R}) {
      std::string problem = allocateFile(file);
      if (!problem.empty()) return problem;
      if (file != File::P) continue;
      if (combineSpilledPredicates(function_, state_)) code_.reset();
      if (!options_.singlePass && packSpilledPredicates(function_, state_, [&](unsigned before, unsigned after) {
            return savesSpillsOrWarps(before, after);
          }))
        code_.reset();
    }
    state_.grow(function_);
    state_.assignment.physical = physical_;
    const bool hasHiddenWrites = isCallable(function_) || hasQuadTextures_ || function_.growsStack;
    if (!options_.spillEverything && options_.debugDefs == nullptr) {
      if (!hasHiddenWrites) {
        forwardReloads(function_, state_);
        forwardCrossFileMoves(function_, state_);
        physical_ = state_.assignment.physical;
      }
      removeDeadStores(function_, state_);
    }
    if (options_.check) {
      reportFaults(check(function_, state_.assignment));
    }
    commit();
    return {};
  }

 private:
  /// Adds predicates that get no register to the webs of file R: each is spilled to R or rematerialized from values
  /// there.
  void addPredicatesTo(Webs& registers) {
    const LiveRanges ranges(code_, File::P);
    const unsigned limit = usable(File::P, limitOf(File::P));
    if (ranges.mostLive() <= limit) return;
    const Webs webs = buildWebs(function_, File::P, ranges, {true, state_.unspillable, {}});
    std::vector<std::uint32_t> victims = chooseSpills(webs, limit, {});
    Recomputation recomputation(function_, File::P, ranges, state_);
    recomputation.choose(webs, victims);
    recomputation.addTo(registers, webs, victims);
  }

  void reportFaults(const std::vector<std::string>& faults) const {
    if (faults.empty()) return;
    std::string message = fmt::format("wrong register allocation in '{}':", function_.name());
    for (const std::string& fault : faults)
      message += "\n  " + fault;
    throw InternalError(message);
  }

  bool callsFunctions() const {
    if (!function_.everHad(ori::Op::CALL_FUNCTION)) return false;
    for (const ori::Block* block : function_.layout())
      for (const ori::Instr& instr : *block)
        if (instr.op == ori::Op::CALL_FUNCTION) return true;
    return false;
  }

  /// Returns whether any point needs more registers than there are at entry, where the larger count is available. If
  /// not, giving registers back gains nothing, and spilling where few are left is costly.
  bool needsMore(const Webs& webs, const LiveRanges& ranges) const {
    std::vector<int> change(ranges.pointCount() + 1, 0);
    for (const Web& web : webs.all)
      for (const Range& range : web.components)
        for (Segment s : range.segments()) {
          ++change[s.start];
          --change[s.end];
        }
    std::vector<bool> hasMore(ranges.pointCount(), false);
    ori::WarpRegisterCounts(function_, options_.maxRegisters)
        .forEach(function_, [&](const ori::Instr& instr, unsigned before, unsigned behind) {
          hasMore[ranges.usePoint(instr)] = before > options_.maxRegisters;
          hasMore[ranges.defPoint(instr)] = behind > options_.maxRegisters;
        });
    const auto limit = static_cast<int>(usable(File::R, limitOfCount(options_.maxRegisters)));
    int occupied = 0;
    for (Point point = 0; point < ranges.pointCount(); ++point) {
      occupied += change[point];
      if (hasMore[point] && occupied > limit) return true;
    }
    return false;
  }

  /// Ignores the program's register requests: the warps keep the registers that they begin with.
  void keepCounts(std::string_view why = "too few registers would be left for a warp") {
    changesCounts_ = false;
    if (options_.tell)
      for (const ori::Block* block : function_.layout())
        for (const ori::Instr& instr : *block)
          if (instr.op == ori::Op::USETMAXREG_ALLOC || instr.op == ori::Op::USETMAXREG_DEALLOC)
            options_.tell(instr, fmt::format("'setmaxnreg' ignored: {}", why));
    ori::dropRegisterRequests(function_);
    code_.reset();
  }

  /// How many of the registers of a warp may hold values.
  unsigned limitOfCount(unsigned count) const {
    const isa::Target& target = function_.module().target();
    count = std::min(count, target.maxRegistersPerThread());
    return count - std::min(count, target.reservedRegisters());
  }

  /// The points where fewer than `limit` registers are available.
  PointLimits pointLimits(const LiveRanges& ranges, unsigned limit) const {
    PointLimits limits;
    auto add = [&](unsigned count, Point point) {
      const unsigned here = limitOfCount(count);
      if (here >= limit) return;
      auto at = std::ranges::find(limits, here, &PointLimit::limit);
      if (at == limits.end()) at = limits.insert(at, {here, {}});
      at->where.add({point, point + 1});
    };
    ori::WarpRegisterCounts(function_, options_.maxRegisters)
        .forEach(function_, [&](const ori::Instr& instr, unsigned before, unsigned behind) {
          add(before, ranges.usePoint(instr));
          add(behind, ranges.defPoint(instr));
        });
    return limits;
  }

  unsigned limitOf(File file) const {
    const isa::Target& target = function_.module().target();
    unsigned limit = target.registerCount(file);
    if (file == File::R) {
      unsigned most = options_.maxRegisters;
      if (changesCounts_) most = std::max(most, ori::mostRegistersRequested(function_).value_or(0));
      unsigned ceiling = std::min(most, target.maxRegistersPerThread());
      limit = std::min(limit, ceiling - std::min(ceiling, target.reservedRegisters()));
      if (hasQuadTextures_) limit -= std::min(limit, kQuadRegisters + kQuadAlignment - 1);
    }
    if ((file == File::B || file == File::P) && hasQuadTextures_) --limit;
    return limit;
  }

  bool canSpill(File file) const { return file != File::B; }
  bool namesRegistersOf(File file) const {
    for (ori::VRegId id = 0; id < function_.vregCount(); ++id)
      if (const ori::VReg& reg = function_.vreg(id); reg.file == file && reg.hasRefs()) return true;
    return false;
  }

  /// The passes over one file.
  struct FilePasses {
    File file;
    unsigned limit;
    double allowance =
        0; ///< for spill code that only serves an occupancy class, where `limit` is below the file's limit
    bool triesClass;
    bool everything; ///< every operand goes through memory
    unsigned pass = 0;
    unsigned crowdedPasses = 0;
    unsigned excess = 0; ///< registers needed beyond the limit at the point of highest pressure
  };
  enum class Outcome { Placed, TryAgain, Spill };

  std::string allocateFile(File file) {
    if (!namesRegistersOf(file)) return {};
    const unsigned most = limitOf(file);
    const bool isR = file == File::R;
    FilePasses passes{.file = file,
                      .limit = most,
                      .triesClass = isR && maySpillForClass(),
                      .everything = options_.spillEverything && isR};
    for (;; ++passes.pass) {
      state_.grow(function_);
      if (!code_) {
        function_.analyses().dropStaleLiveness(); // the liveness of the previous pass, no longer used
        code_ = std::make_shared<const NumberedCode>(function_);
      }
      const LiveRanges ranges(code_, file, options_.debugDefs != nullptr);
      const Webs webs = buildWebs(function_, file, ranges, {!passes.everything, state_.unspillable, state_.homes});
      if (webs.all.empty()) return {};
      std::vector<Victim> victims;
      passes.excess = 0;
      if (!passes.everything) {
        const Outcome outcome = placeWebs(passes, webs, ranges, victims);
        if (outcome == Outcome::Placed) return {};
        if (outcome == Outcome::TryAgain) continue;
      }
      if (passes.limit < most) {
        passes.allowance -= spillWeight(victims, webs, *code_);
        if (victims.empty() || passes.allowance < 0) {
          passes.limit = most;
          continue;
        }
      }
      // The last resort: every operand goes through memory. This leaves webs that live for one instruction.
      const bool isLastResort = victims.empty() && canSpill(file);
      if (isLastResort)
        for (std::uint32_t w = 0; w < webs.all.size(); ++w)
          if (webs.all[w].spillCost < kUnspillable) victims.push_back({w});
      if (victims.empty() && isR && changesCounts_) {
        keepCounts();
        return allocateFile(file);
      }
      if (victims.empty())
        return fmt::format(
            "function '{}' needs more {} registers than its limit of {}; raise -maxrregcount or the launch bounds",
            function_.name(), fileName(file), passes.limit);
      passes.everything = false;
      const bool arePromoted = spillAll(victims, webs, ranges, file, isLastResort, passes.excess);
      code_.reset();
      if (arePromoted)
        if (std::string problem = allocateFile(File::UR); !problem.empty()) return problem;
    }
  }

  /// Places the webs, and keeps the placement if it is complete. Otherwise chooses what to spill, or changes the
  /// conditions of the next pass.
  Outcome placeWebs(FilePasses& passes, const Webs& webs, const LiveRanges& ranges, std::vector<Victim>& victims) {
    const File file = passes.file;
    const unsigned limit = passes.limit;
    const CallPoints calls = callPoints(function_, ranges, file);
    const PointLimits limits = file == File::R && changesCounts_ ? pointLimits(ranges, limit) : PointLimits{};
    RegisterBudget budget = budgetOf(file, limit, limits, calls);
    Placer placer(function_, webs);
    OccupancySearch search = occupancySearch(webs, placer);
    Placement placement;
    std::optional<Moves> moves;
    // With more values live at once than there are registers, no placement order helps.
    const unsigned occupied = mostOccupied(webs, ranges.pointCount(), limit, limits);
    passes.excess = occupied - std::min(occupied, limit);
    if (!canSpill(file) || passes.excess == 0) {
      placement = mend(webs, budget, search.bestPlacement(budget));
      if (file == File::R && !placement.failed.empty() && !search.allowsMoves() && !options_.singlePass) {
        Placement other = search.bestPlacement(budget, Wanted::LeastLacking);
        if (other != placement) other = mend(webs, budget, std::move(other)); // mend() could not complete this one
        if (lacksLess(other, placement, webs)) placement = std::move(other);
      }
      if (placement.failed.empty()) {
        if (file == File::R)
          if (const unsigned tight = search.tightened(budget, placement, moves, occupied); moves) budget.limit = tight;
        if (std::exchange(passes.triesClass, false))
          if (const auto goal = classWithSpills(webs, search, calls, moves ? budget.limit : placement.used, occupied)) {
            passes.limit = goal->limit;
            passes.allowance = goal->allowance;
            return Outcome::TryAgain;
          }
        if (!moves) {
          placement = rotatedPlacement(placer, budget, std::move(placement));
          if (file == File::R && !isCallable(function_) && !options_.singlePass && !options_.debugDefs)
            placement = placer.separateBanks(budget, BankConflicts(function_, webs), std::move(placement));
          keep(webs, placement, file);
          return Outcome::Placed;
        }
      } else if (file == File::R && search.allowsMoves()) {
        moves = placeByMoves(webs, *code_, budget, placement);
      }
      if (moves) {
        keep(webs, spreadAround(*moves, webs, placer, budget, std::move(placement)), file);
        insertMoves(function_, webs, ranges, moves->webs, state_, physical_);
        code_.reset();
        return Outcome::Placed;
      }
      ++passes.crowdedPasses;
    }
    if (file == File::R && changesCounts_ && passes.pass == 0 && !needsMore(webs, ranges)) {
      keepCounts("the register count at entry suffices, but the reduced count does not");
      return Outcome::TryAgain;
    }
    if (file == File::R && keepsFactors_) {
      keepsFactors_ = false;
      unpinWgmmaInputs(function_);
      code_.reset();
      return Outcome::TryAgain;
    }
    if (canSpill(file) && passes.pass < kMaxSpillPasses)
      victims = chooseVictims(webs, placement, budget, passes.crowdedPasses);
    return Outcome::Spill;
  }

  /// Spills the victims. Returns whether one is kept in uniform registers.
  bool spillAll(const std::vector<Victim>& victims, const Webs& webs, const LiveRanges& ranges, File file,
                bool isLastResort, unsigned excess) {
    bool arePromoted = false;
    Recomputation recomputation(function_, file, ranges, state_);
    std::vector<std::uint32_t> order;
    std::vector<const Victim*> victimOf(webs.all.size(), nullptr);
    for (const Victim& victim : victims) {
      order.push_back(victim.web);
      victimOf[victim.web] = &victim;
    }
    if (options_.remat && options_.optimizedRemat && !isLastResort) recomputation.choose(webs, order);
    for (std::uint32_t w : order) {
      const Web& web = webs.all[w];
      const bool isPromoted =
          file == File::R && !isLastResort && promotes() && !isPartOfSpilled(web) && uniformPromotion().take(web);
      spill(web, file,
            {options_.remat, isPromoted ? SpillTarget::Uniform : SpillTarget::Usual, &recomputation, victimOf[w],
             &ranges},
            excess);
      arePromoted |= isPromoted;
    }
    return arePromoted;
  }

  /// Chooses what to spill: by register pressure or, where that is low enough, to make room for tuples.
  std::vector<Victim> chooseVictims(const Webs& webs, const Placement& placement, const RegisterBudget& budget,
                                    unsigned crowdedPasses) const {
    std::vector<Victim> victims;
    const auto addWhole = [&](const std::vector<std::uint32_t>& some) {
      for (const std::uint32_t w : some)
        victims.push_back({w});
    };
    // A web that must survive a call gains nothing if another web is spilled.
    if (hasCalls_) {
      std::vector<std::uint32_t> inMemory;
      const Range calls = crowdedCalls(webs, budget.calls, usable(budget.file, budget.limit));
      for (const std::uint32_t w : placement.failed) {
        if (!isLiveAcross(webs.all[w], calls)) continue;
        if (budget.file == File::R && !isPartOfSpilled(webs.all[w]))
          inMemory.push_back(w);
        else
          victims.push_back({w});
      }
      if (!inMemory.empty()) {
        std::vector<Victim> split = leaveRegisters(webs, *code_, usable(budget.file, budget.limit), inMemory, calls);
        std::ranges::move(split, std::back_inserter(victims));
      }
    }
    if (!victims.empty()) return victims;
    const unsigned limit = usable(budget.file, budget.limit);
    PointLimits limits = budget.limits;
    for (PointLimit& fewer : limits)
      fewer.limit = usable(budget.file, fewer.limit);
    if (!placement.failed.empty() && crowdedPasses > kPassesWithoutSlack) {
      // Clearing single runs was not enough: large tuples need free registers to find runs.
      const unsigned slack = std::min(kSlackPerPass * crowdedPasses, limit / kMaxSlackPart);
      PointLimit around{limit - slack, {}};
      for (std::uint32_t f : placement.failed)
        for (const Range& r : webs.all[f].components)
          around.where.unite(r);
      limits.push_back(std::move(around));
    }
    if (budget.file == File::R)
      victims = chooseGaps(webs, *code_, limit, limits, [&](std::uint32_t w) { return isPartOfSpilled(webs.all[w]); });
    else
      addWhole(chooseSpills(webs, limit, limits));
    if (victims.empty()) addWhole(clearRuns(webs, placement, budget));
    // Large functions have many tuples with long live ranges, and each pass would find others without a run.
    if (crowdedPasses > kPassesWithoutSlack)
      for (const std::uint32_t w : placement.failed)
        if (webs.all[w].spillCost < kUnspillable &&
            std::ranges::none_of(victims, [&](const Victim& victim) { return victim.web == w; }))
          victims.push_back({w});
    return victims;
  }

  /// Whether the web belongs to a value that is spilled elsewhere.
  bool isPartOfSpilled(const Web& web) const { return state_.homes[web.members.front().first].exists(); }

  /// Calls may change uniform registers, so functions with calls do not use them for spilled values.
  bool promotes() const {
    return options_.uniformPromotion && !options_.spillEverything && !hasCalls_ && !function_.growsStack;
  }

  UniformPromotion& uniformPromotion() {
    if (!uniformPromotion_) {
      const unsigned limit = usable(File::UR, limitOf(File::UR));
      const unsigned taken = LiveRanges(function_, File::UR).mostLive() + kSpareUniform;
      uniformPromotion_.emplace(function_, limit - std::min(limit, taken));
    }
    return *uniformPromotion_;
  }

  /// Whether a lower peak of file R saves spills, or gives more warps.
  bool savesSpillsOrWarps(unsigned before, unsigned after) const {
    if (before > usable(File::R, limitOf(File::R))) return after < before;
    if (!options_.warps) return false;
    const unsigned stack = state_.usesFrame ? 1 : 0;
    return options_.warps(after + stack) > options_.warps(before + stack);
  }

  /// How many registers values may take. Excludes the stack pointer if there is a frame, or may be one later.
  unsigned usable(File file, unsigned limit) const {
    if (file == File::R && (function_.hasFramePointer || sharedWords_ != 0)) return limit - 2;
    if (file == File::UR) return limit - kFirstUniform;
    return file == File::R ? limit - 1 : limit;
  }

  /// The highest pressure at any point, counting the registers that are not available there.
  static unsigned mostOccupied(const Webs& webs, Point pointCount, unsigned limit, const PointLimits& limits) {
    return mostAtOnce(pointCount, [&](auto&& f) {
      for (const Web& web : webs.all)
        std::for_each(web.components.begin(), web.components.end(), f);
      for (const PointLimit& fewer : limits)
        for (unsigned r = fewer.limit; r < limit; ++r)
          f(fewer.where);
    });
  }

  RegisterBudget budgetOf(File file, unsigned limit, const PointLimits& limits, const CallPoints& calls) const {
    RegisterBudget budget{limit, limits, {}, file, calls, isCallable(function_)};
    if (file == File::R && state_.usesFrame) {
      budget.reserved.assign(ori::kStackPointer + 1, false);
      budget.reserved[ori::kStackPointer] = true;
      budget.reserved[kSharedSpillBase] = sharedWords_ != 0;
      if (function_.hasFramePointer) budget.reserved.push_back(true); // kFramePointer is the next one
    }
    if (file == File::UR) budget.reserved.assign(kFirstUniform, true);
    return budget;
  }

  OccupancySearch occupancySearch(const Webs& webs, Placer& placer) const {
    return {function_, options_, webs, *code_, placer, {hasCalls_, hasQuadTextures_, changesCounts_, state_.usesFrame}};
  }

  bool maySpillForClass() const {
    return options_.warps && !options_.spillEverything && !options_.singlePass && options_.debugDefs == nullptr &&
           !changesCounts_ && !keepsFactors_ && !hasQuadTextures_ && !isCallable(function_);
  }

  std::optional<ClassGoal> classWithSpills(const Webs& webs, OccupancySearch& search, const CallPoints& calls,
                                           unsigned used, unsigned occupied) const {
    const auto weightOfSpills = [&](unsigned limit, unsigned excess) {
      const RegisterBudget budget = budgetOf(File::R, limit, {}, calls);
      const Placement placement = excess == 0 ? search.bestPlacement(budget, Wanted::AnyComplete) : Placement{};
      return spillWeight(chooseVictims(webs, placement, budget, 0), webs, *code_);
    };
    return search.classWithSpills(used, occupied, used - usable(File::R, used), weightOfSpills);
  }

  /// Assigns registers in rotation, except to moving webs.
  Placement spreadAround(const Moves& moves, const Webs& webs, Placer& placer, RegisterBudget budget,
                         Placement placement) const {
    budget.rotated = budget.limit;
    std::vector<bool> isMoving(webs.all.size(), false);
    for (const MovingWeb& web : moves.webs)
      isMoving[web.web] = true;
    placement = placer.spread(budget, std::move(placement), moves.taken, isMoving);
    return placer.separateBanks(budget, BankConflicts(function_, webs), std::move(placement), moves.taken, isMoving);
  }

  /// The units for copies and tensor memory read uniform registers asynchronously, after the warp has continued.
  bool readsUniformLate() const {
    for (const ori::Block* block : function_.layout())
      for (const ori::Instr& instr : *block)
        if (isa::latencyClassOf(instr.op, instr.mods) == isa::LatencyClass::Tma) return true;
    return false;
  }

  /// The same webs with registers assigned in rotation as far as they are free. Then fewer results wait for the last
  /// access to their register.
  Placement rotatedPlacement(Placer& placer, RegisterBudget budget, Placement placement) const {
    const bool isWanted = (budget.file == File::R && !changesCounts_) || budget.file == File::P ||
                          (budget.file == File::UR && readsUniformLate());
    if (!isWanted || hasCalls_ || isCallable(function_) || options_.singlePass || options_.debugDefs != nullptr)
      return placement;
    budget.rotated = budget.limit;
    if (budget.file == File::R) {
      const unsigned free = options_.freeRegisters ? options_.freeRegisters(placement.used) : 0;
      budget.rotated = std::min(std::max(free, placement.used), budget.limit);
    }
    Placement rotated = placer.place(budget, Order::ConstrainedFirst);
    if (rotated.failed.empty() && rotated.used <= budget.rotated) return rotated;
    // At least reloaded values stay in a register for a while (forwardReloads).
    return budget.file == File::P ? placement : placer.spread(budget, std::move(placement));
  }

  void keep(const Webs& webs, const Placement& placement, File file) {
    physical_.resize(function_.vregCount(), ~0u);
    for (ori::VRegId v = 0; v < function_.vregCount(); ++v)
      if (webs.webOf[v] != ~0u) physical_[v] = placement.slotOf[webs.webOf[v]] + webs.offsetOf[v];
    unsigned used = placement.used;
    switch (file) {
    case File::R: highestR_ = used; break;
    case File::UR: function_.stats.uniformRegisters = used; break;
    case File::P: function_.stats.predicates = used; break;
    default: break;
    }
  }

  void spill(const Web& web, File file, const SpillWay& way, unsigned excess) {
    std::vector<const ori::Instr*> writers;
    for (auto [v, offset] : web.members)
      writers.push_back(function_.singleDef(v));
    const bool isMadeAgain = spillWeb(function_, web, file, state_, way);
    using enum RegisterFate::Kind;
    const RegisterFate::Kind kind = isMadeAgain                          ? Recomputed
                                    : way.target == SpillTarget::Uniform ? UniformRegister
                                    : file == File::R                    ? Memory
                                                                         : OtherFile;
    const bool isPartly = std::ranges::any_of(way.victim->pieces, [](const Piece& piece) { return !piece.isSingle(); });
    if (options_.fates != nullptr) {
      options_.fates->resize(function_.vregCount());
      for (auto [v, offset] : web.members)
        (*options_.fates)[v] = {kind, 0, way.victim->cost == 0 ? web.spillCost : way.victim->cost, excess,
                                kind == Memory && isPartly};
    }
    if (!options_.remark) return;
    for (std::size_t i = 0; i < web.members.size(); ++i) {
      const std::string_view name = function_.vreg(web.members[i].first).name;
      const char* where = kind == Recomputed        ? ": rematerialized at its uses"
                          : kind == UniformRegister ? " to uniform registers"
                                                    : "";
      options_.remark(writers[i],
                      fmt::format("{} {} register{}{}{}", isMadeAgain ? "freed" : "spilled", fileName(file),
                                  name.empty() ? "" : " of ", name, where),
                      static_cast<std::int64_t>(web.spillCost * 100));
    }
  }

  /// Rewrites the code as decided.
  void commit() {
    if (options_.debugDefs != nullptr) noteNames(*options_.debugDefs);
    if (options_.fates != nullptr) noteFates(*options_.fates);
    // Addresses in a growing stack do not follow from frame objects, and debuggers look at all objects.
    FrameFacts facts;
    if (!function_.frame.empty()) {
      facts.categories = frameCategories(function_, state_.assignment);
      const bool isVisible = function_.growsStack || options_.debugDefs != nullptr;
      if (function_.frame.size() > 1 && !isVisible && options_.sharesFrame)
        facts.lives = frameLives(function_, state_.assignment);
    }
    for (ori::Block* block : function_.layout())
      for (ori::Instr& instr : *block) {
        for (unsigned i = 0; i < instr.operandCount; ++i)
          if (instr.op_(i).isVirtual()) function_.moveResult(&instr, i, physicalOf(instr.op_(i)));
        if (instr.guard().isVirtual()) function_.moveGuard(&instr, physicalOf(instr.guard()));
      }
    function_.allocated = true;
    expandAddresses(function_);
    tieAccumulators(function_);
    if (hasQuadTextures_) {
      highestR_ = (std::max(highestR_, ori::kStackPointer + 1) + kQuadAlignment - 1) / kQuadAlignment * kQuadAlignment;
      expandQuadTextures(function_, highestR_);
      highestR_ += kQuadRegisters;
    }
    if (hasCalls_) expandCalls(function_);
    if (hasCalls_ || isCallable(function_)) highestR_ = std::max(highestR_, ori::kRegistersOfCalls);
    function_.stats.spillStoreBytes = state_.storeBytes;
    function_.stats.spillLoadBytes = state_.loadBytes;
    const bool isFunction = isCallable(function_);
    if (isFunction)
      expandEntryAndReturns(function_);
    else if (function_.hasFramePointer)
      useFramePointer(function_);
    if (const unsigned words = moveSpillsToShared(function_, sharedWords_, facts.lives); words != 0) {
      highestR_ = std::max(highestR_, kSharedSpillScratch + 1);
      if (options_.remark)
        options_.remark(function_.layout().front()->first,
                        fmt::format("{} words of spill slots per thread are in shared memory", words), words);
    }
    if (options_.debugDefs == nullptr && !function_.frame.empty()) facts.dead = unnamedObjects(function_);
    function_.stats.frameBytes = layOutFrame(function_, facts);
    if (options_.frame != nullptr) *options_.frame = frameRecords(function_, facts.dead, facts.categories);
    if (isFunction) {
      insertFrame(function_, function_.stats.frameBytes);
      // Aligning the stack pointer moves it further down.
      if (alignsStack(function_)) function_.stats.frameBytes += frameAlignment(function_);
    } else if (function_.stats.frameBytes || function_.growsStack || hasCalls_) {
      insertPrologue(function_, function_.stats.frameBytes);
      highestR_ = std::max(highestR_, ori::kStackPointer + 1);
    }
    insertWgmmaWaits(function_, options_.tell);
    function_.stats.registers = highestR_ + function_.module().target().reservedRegisters();
    if (changesCounts_) {
      function_.stats.registers = std::max(options_.maxRegisters, kMinRegisters);
      reportFaults(checkRegisterCounts(function_));
    }
  }

  void noteFates(std::vector<RegisterFate>& fates) const {
    fates.resize(function_.vregCount());
    for (ori::VRegId v = 0; v < function_.vregCount(); ++v)
      if (physical_[v] != ~0u) fates[v] = {RegisterFate::Kind::Register, physical_[v]};
  }

  void noteNames(std::vector<ori::DebugDef>& writes) const {
    for (const ori::Block* block : function_.layout())
      for (const ori::Instr& instr : *block)
        for (unsigned i = 0; i < instr.operandCount; ++i) {
          const ori::Operand& o = instr.op_(i);
          if (!o.isDef || !o.isVirtual() || physical_[o.reg] == ~0u || function_.vreg(o.reg).name.empty()) continue;
          for (std::uint32_t w = o.sub; w < o.sub + std::max<std::uint32_t>(o.width, 1); ++w)
            writes.push_back(
                {instr.id, function_.vreg(o.reg).name, static_cast<std::uint8_t>(w), o.file, physical_[o.reg] + w});
        }
  }

  isa::Operand physicalOf(const ori::Operand& o) const {
    isa::Operand out = o.value();
    out.flags = static_cast<std::uint8_t>(out.flags & ~isa::Operand::kVirtual);
    // A register that never gets a value has an arbitrary value; the zero register will do.
    out.reg = physical_[o.reg] == ~0u ? isa::zeroRegister(o.file) : physical_[o.reg] + o.sub;
    out.sub = 0;
    return out;
  }

  Function& function_;
  const AllocationOptions& options_;
  SpillState state_;
  std::shared_ptr<const NumberedCode> code_;         // as it is now, for all files; null when it has changed
  std::optional<UniformPromotion> uniformPromotion_; // created when file R is short for the first time
  std::vector<std::uint32_t> physical_;
  const bool hasCalls_, hasQuadTextures_;
  bool keepsFactors_ = false;
  unsigned sharedWords_ = 0;   ///< of spill slots that may be in shared memory; not 0: R0 is reserved with the frame
  bool changesCounts_ = false; ///< warps give registers back and take them, so limits differ by point
  unsigned highestR_ = 0;
};

} // namespace

bool fitsRegisters(Function& function, unsigned registers, Search search) {
  return Allocator(function, {}).fits(registers, search);
}

std::string allocateRegisters(Function& function, const AllocationOptions& options) {
  return Allocator(function, options).run();
}

} // namespace orias::regalloc
