#include "phases/uniform/plan.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/module.h"
#include "phases/uniform/constants.h"
#include "phases/uniform/consumers.h"
#include "phases/uniform/gain.h"
#include "phases/uniform/pressure.h"
#include "support/union_find.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace orias::phases {

using isa::File;
using isa::Operand;
using ori::Instr;
using ori::VRegId;

namespace {

/// The most uniform predicates that are live at once: few, as there are seven and the carries of sums need some.
constexpr int kMaxPredicates = 3;
/// Uniform registers kept free for descriptors, cross-file copies and live ranges that scheduling lengthens.
constexpr int kSpareRegisters = 12;
constexpr unsigned kPools = 3;
/// The most neighbors of a unit whose costs without it are computed.
constexpr std::size_t kMaxNeighbors = 48;

/// A cross-file copy takes one more issue slot. R2UR and VOTEU also have a long latency, which each iteration of a loop
/// waits for.
constexpr std::int64_t kToUniform = 10, kToUniformInLoop = 16, kToVector = 6;
/// The cost of a number that needs UMOV.
constexpr std::int64_t kMove = 4;

struct Cost {
  std::int64_t gain = 0;
  std::array<std::int64_t, kPools> sources{}; ///< cross-file copies for the first, second, third source
  std::int64_t consumers = 0;
  std::int64_t total() const { return std::accumulate(sources.begin(), sources.end(), consumers); }
  bool pays() const { return total() < gain; }
};

/// Values that can only move together, since some instruction defines several of them.
struct Unit {
  std::vector<VRegId> values;
  std::vector<Instr*> writers;
  std::vector<std::uint32_t> neighbors; ///< Planner::neighborsOf()
  std::size_t neighborsIn = 0;          ///< how many of them are in the plan
  Cost cost; ///< its gain, and cross-file copies for sources; updated after each change of the plan
  bool isIn = false;
};

/// A value with many readers. Its cost is updated incrementally, since it is needed after each change of the plan.
struct Hub {
  std::vector<std::pair<ori::BlockId, const Instr*>> readers; // sorted
  std::int64_t inBlocks = 0;                                  ///< Spreading::cost with a cross-file copy in each block
};
constexpr std::size_t kReadersOfHub = 64;

class Planner {
 public:
  Planner(const ori::Function& function, const ori::Divergence& divergence, PhaseContext& context)
      : function_(function), divergence_(divergence), context_(context) {
    plan_.moves.assign(function.vregCount(), false);
    plan_.spreadsAfterWriters.assign(function.vregCount(), false);
    plan_.forms.resize(function.instrIdCount());
    placed_.resize(function.instrIdCount());
    visitedIn_.resize(function.instrIdCount(), 0);
    copiedIn_.resize(function.blockIdCount(), 0);
    overridesCategories_ = context.knobs.enabled(Knob::UniformRegKernelNameOverride) &&
                           function.name().find("cutlass") != std::string::npos;
  }

  UniformPlan run() {
    findForms();
    findUnits();
    if (units_.empty()) return std::move(plan_);
    for (std::uint32_t id = 0; id < units_.size(); ++id)
      units_[id].neighbors = neighborsOf(id);
    for (Unit& unit : units_)
      unit.neighborsIn = unit.neighbors.size();
    findCosts();
    drop();
    choose();
    for (const Unit& unit : units_) {
      if (!unit.isIn) continue;
      tellTaken(unit);
      for (VRegId v : unit.values)
        plan_.spreadsAfterWriters[v] = spreading(v).isAfterWriters;
    }
    return std::move(plan_);
  }

 private:
  // --- candidates: conditions 1, 2, 4, 5

  void findForms() {
    for (const ori::Block* block : function_.layout()) {
      if (!divergence_.cfg().isReachable(block->id)) continue;
      for (Instr& instr : *block) {
        if (!writesVector(instr)) continue;
        // Most code of most kernels is divergent: its uniform form is needed only for remarks.
        if (!context_.remarks.wanted() && isDivergent(instr)) continue;
        std::optional<UniformForm> form = uniformForm(instr, function_.module().target());
        if (!form) {
          tellFormless(instr);
          continue;
        }
        if (const char* reason = obstacle(instr, *form)) {
          if (context_.remarks.wanted())
            context_.remarks.missed(&instr,
                                    fmt::format("{} not moved to uniform registers: {}", nameOf(instr), reason));
          continue;
        }
        plan_.forms[instr.id] = std::move(form);
      }
    }
  }

  /// Whether the instruction does not run in all lanes, or its results differ between them.
  bool isDivergent(const Instr& instr) const {
    return !divergence_.isUniformBlock(instr.block->id) || instr.isGuarded() || hasDivergentResult(instr);
  }

  bool hasDivergentResult(const Instr& instr) const {
    return std::ranges::any_of(
        instr.ops(), [&](const ori::Operand& o) { return o.isDef && o.isVirtual() && divergence_.isDivergent(o.reg); });
  }

  /// No remark for divergent instructions: no uniform form is expected.
  void tellFormless(const Instr& instr) {
    if (!context_.remarks.wanted() || isa::desc(instr.op).isPseudo() || hasDivergentResult(instr)) return;
    context_.remarks.missed(&instr,
                            fmt::format("{} not moved to uniform registers: (2) no uniform form", nameOf(instr)));
  }

  static std::string nameOf(const Instr& instr) { return std::string(isa::desc(instr.op).mnemonic); }

  static bool writesVector(const Instr& instr) {
    return std::any_of(instr.ops().begin(), instr.ops().end(), [](const ori::Operand& o) {
      return o.isDef && o.isVirtual() && (o.file == File::R || o.file == File::P);
    });
  }

  const char* obstacle(const Instr& instr, const UniformForm& form) const {
    if (!divergence_.isUniformBlock(instr.block->id)) return "(5) it runs under divergent control";
    if (instr.isGuarded()) return "(5) it has a guard";
    const isa::InstrDesc& row = isa::desc(form.op);
    for (unsigned i = 0; i < form.operands.size(); ++i) {
      const Operand& o = form.operands[i];
      const bool isDef = i < row.slotCount && row.slots[i].role == isa::Role::Def;
      if (isDef && o.isReg() && !o.isVirtual() && !o.isZeroReg()) return "(1) it writes a fixed register";
      if (isDef && o.isVirtual() && divergence_.isDivergent(o.reg)) return "(5) its result is divergent";
      if (form.sources[i] == UniformSource::Register && !divergence_.isUniform(o)) return "(5) a source is divergent";
    }
    return nullptr;
  }

  /// Null when the value can move if its consumers allow it.
  const char* obstacle(VRegId v) const {
    const ori::VReg& reg = function_.vreg(v);
    if (reg.file != File::R && reg.file != File::P) return "(1) it is not in register file R or P";
    if (reg.width > 2) return "(1) it is wider than a pair";
    if (divergence_.isDivergent(v)) return "(5) it is divergent";
    const char* reason = nullptr;
    const Instr* writer = nullptr;
    unsigned writers = 0;
    function_.forEachDef(v, [&](ori::Ref def) {
      writers += writer != def.owner;
      writer = def.owner;
      if (!plan_.forms[writer->id]) reason = "(2) a definition has no uniform form";
    });
    if (reason || !writer) return reason ? reason : "(2) it has no definition";
    function_.forEachUse(v, [&](ori::Ref use) {
      if (reg.file == File::P && (writers > 1 || use.owner->block != writer->block))
        reason = "(5) uniform predicates stay within a block";
      const isa::Pipe pipe = isa::desc(use.owner->op).pipe;
      if ((pipe == isa::Pipe::Mma || pipe == isa::Pipe::Tex) && !overridesCategories_)
        reason = "(4) a matrix or texture instruction uses it";
    });
    return reason;
  }

  void findUnits() {
    UnionFind together(function_.vregCount());
    std::vector<bool> isGood(function_.vregCount(), false);
    forEachWriter([&](Instr& instr) {
      VRegId first = ori::kNoId;
      for (const ori::Operand& o : instr.ops()) {
        if (!o.isDef || !o.isVirtual()) continue;
        if (first == ori::kNoId) first = o.reg;
        together.join(first, o.reg);
      }
    });
    std::vector<bool> isBad(function_.vregCount(), false);
    for (VRegId v = 0; v < function_.vregCount(); ++v) {
      const ori::VReg& reg = function_.vreg(v);
      if ((reg.file != File::R && reg.file != File::P) || !reg.hasRefs()) continue;
      const char* reason = obstacle(v);
      isGood[v] = !reason;
      if (!reason) continue;
      isBad[together.root(v)] = true;
      tellStaying(v, reason);
    }
    unitOf_.assign(function_.vregCount(), ori::kNoId);
    std::vector<std::uint32_t> unitOfRoot(function_.vregCount(), ori::kNoId);
    for (VRegId v = 0; v < function_.vregCount(); ++v) {
      if (!isGood[v]) continue;
      if (isBad[together.root(v)]) {
        tellStaying(v, "(1) another result of its definition is not moved");
        continue;
      }
      std::uint32_t& unit = unitOfRoot[together.root(v)];
      if (unit == ori::kNoId) {
        unit = static_cast<std::uint32_t>(units_.size());
        units_.emplace_back().isIn = true;
      }
      unitOf_[v] = unit;
      units_[unit].values.push_back(v);
      plan_.moves[v] = true;
    }
    forEachWriter([&](Instr& instr) {
      if (const std::uint32_t id = unitWrittenBy(instr); id != ori::kNoId) units_[id].writers.push_back(&instr);
    });
  }

  template <typename F> void forEachWriter(F&& f) const {
    for (const ori::Block* block : function_.layout())
      for (Instr& instr : *block)
        if (plan_.forms[instr.id]) f(instr);
  }

  // --- costs: condition 3

  /// Adds the costs of cross-file copies to the uniform file before a writer, by source position; subtracts them if
  /// `sign` is -1.
  void addSources(const Instr& writer, Cost& cost, std::int64_t sign) const {
    const UniformForm& form = *plan_.forms[writer.id];
    const std::int64_t weight = weightOf(*writer.block);
    unsigned position = 0;
    for (unsigned i = 0; i < form.operands.size(); ++i) {
      const UniformSource need = form.sources[i];
      const Operand& o = form.operands[i];
      std::int64_t copyCost = 0;
      if (need == UniformSource::Register && !plan_.isMoving(o))
        copyCost = (writer.block->loopDepth == 0 ? kToUniform : kToUniformInLoop) * o.width;
      else if (need == UniformSource::MoveImmediate)
        copyCost = kMove;
      else if (need == UniformSource::LoadConstant && !readsConstantsFromUniform(context_))
        copyCost = kMove; // elsewhere the vector instruction loads it anyway
      cost.sources[std::min(position, kPools - 1)] += sign * copyCost * weight;
      const isa::InstrDesc& row = isa::desc(form.op);
      position += i < row.slotCount && row.slots[i].role == isa::Role::Use && o.isReg();
    }
  }

  struct Spreading {
    std::int64_t cost = 0;
    bool isAfterWriters = false;
  };

  /// Examines the readers of the value. Readers that move with it, or accept uniform registers, cost nothing. The
  /// others need one cross-file copy in each of their blocks, or one after each writer where that is cheaper: a loop
  /// that reads the value needs no cross-file copy inside then.
  Spreading spreading(VRegId v) const {
    const unsigned width = function_.vreg(v).width;
    Spreading inBlocks;
    if (hubOf_[v] != ori::kNoId) {
      inBlocks.cost = hubs_[hubOf_[v]].inBlocks;
    } else {
      ++walk_;
      function_.forEachUse(v, [&](ori::Ref use) {
        const Instr& instr = *use.owner;
        if (std::exchange(visitedIn_[instr.id], walk_) == walk_ || !needsCrossFileCopy(instr, v)) return;
        if (std::exchange(copiedIn_[instr.block->id], walk_) != walk_)
          inBlocks.cost += kToVector * width * weightOf(*instr.block);
      });
    }
    const std::optional<std::int64_t>& afterWriters = afterWriters_[v];
    return afterWriters && *afterWriters < inBlocks.cost ? Spreading{*afterWriters, true} : inBlocks;
  }

  bool needsCrossFileCopy(const Instr& reader, VRegId v) const {
    return !plan_.isMoving(reader) && !isBroadcast(function_, reader) && !takes(reader, v);
  }

  /// The cost of a cross-file copy to the vector file for the readers of a hub in a block; 0 where none needs it.
  std::int64_t copyIn(VRegId v, ori::BlockId block) const {
    const auto& readers = hubs_[hubOf_[v]].readers;
    for (auto at = std::ranges::lower_bound(readers, block, {}, [](const auto& reader) { return reader.first; });
         at != readers.end() && at->first == block; ++at)
      if (needsCrossFileCopy(*at->second, v)) return kToVector * function_.vreg(v).width * weightOf(*at->second->block);
    return 0;
  }

  /// Computes everything that does not change between queries.
  void findCosts() {
    const UniformGain gain(function_);
    hubOf_.assign(function_.vregCount(), ori::kNoId);
    afterWriters_.resize(function_.vregCount());
    for (Unit& unit : units_) {
      for (const Instr* writer : unit.writers) {
        unit.cost.gain += gain.of(*writer) * weightOf(*writer->block);
        addSources(*writer, unit.cost, 1);
      }
      for (VRegId v : unit.values)
        findCosts(v, unit.cost);
    }
  }

  void findCosts(VRegId v, Cost& cost) {
    const unsigned width = function_.vreg(v).width;
    std::int64_t afterWriters = 0;
    bool isWhole = true;
    function_.forEachDef(v, [&](ori::Ref def) {
      isWhole &= def->width == width;
      afterWriters += kToVector * width * weightOf(*def.owner->block);
    });
    if (isWhole) afterWriters_[v] = afterWriters;
    Hub hub;
    function_.forEachUse(v, [&](ori::Ref use) {
      hub.readers.emplace_back(use.owner->block->id, use.owner);
      if (isBroadcast(function_, *use.owner)) cost.gain += (kToUniform - kMove) * weightOf(*use.owner->block);
    });
    if (hub.readers.size() <= kReadersOfHub) return;
    std::ranges::stable_sort(hub.readers, {}, [](const auto& reader) { return reader.first; });
    hubOf_[v] = static_cast<std::uint32_t>(hubs_.size());
    hubs_.push_back(std::move(hub));
    Hub& made = hubs_.back();
    ori::BlockId last = ori::kNoId;
    for (const auto& [block, reader] : made.readers)
      if (std::exchange(last, block) != block) made.inBlocks += copyIn(v, block);
  }

  /// Whether the instruction, which does not move, can read v and all other moving values as uniform registers, or at
  /// least v among those that it accepts.
  bool takes(const Instr& instr, VRegId v) const {
    if (instr.guard().isVirtual() && instr.guard().reg == v) return false;
    const bool isPseudo = isa::desc(instr.op).isPseudo(); // takes none, and may have any number of operands
    OperandMask moving = 0, ofValue = 0;
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      const ori::Operand& o = instr.op_(i);
      if (o.isDef || !plan_.isMoving(o)) continue;
      if (isPseudo && o.reg == v) return false;
      if (isPseudo) continue;
      moving = static_cast<OperandMask>(moving | 1u << i);
      if (o.reg == v) ofValue = static_cast<OperandMask>(ofValue | 1u << i);
    }
    return ofValue == 0 || (placed(instr, moving) & ofValue) == ofValue;
  }

  /// Bit i: operand i.
  using OperandMask = std::uint16_t;
  static_assert(isa::kMaxOperands <= 16);

  /// Which of the moving operands the instruction accepts as uniform registers. Costs are queried repeatedly while the
  /// plan changes, so the last two answers are cached.
  OperandMask placed(const Instr& instr, OperandMask moving) const {
    std::array<Placed, 2>& known = placed_[instr.id];
    for (const Placed& answer : known)
      if (answer.moving == moving) return answer.placed;
    known[1] = known[0];
    known[0] = {moving, 0};
    InstrDraft draft(instr);
    // Values are placed in slot order, as in the rewriting.
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      if ((moving >> i & 1) == 0) continue;
      Operand uniform = instr.op_(i).value();
      uniform.file = uniform.file == File::P ? File::UP : File::UR;
      if (placeInstead(draft, instr.op_(i).value(), uniform))
        known[0].placed = static_cast<OperandMask>(known[0].placed | 1u << i);
    }
    return known[0].placed;
  }

  Cost costOf(const Unit& unit) const {
    Cost cost = unit.cost;
    for (VRegId v : unit.values)
      cost.consumers += spreading(v).cost;
    return cost;
  }

  void setIn(Unit& unit, bool isIn) {
    if (unit.isIn == isIn) return;
    const std::vector<const Instr*> readers = readersOf(unit);
    const auto hubs = hubsNear(unit, readers);
    const auto add = [&](std::int64_t sign) {
      for (const auto& [v, block] : hubs)
        hubs_[hubOf_[v]].inBlocks += sign * copyIn(v, block);
      for (const Instr* reader : readers)
        if (const std::uint32_t id = unitWrittenBy(*reader); id != ori::kNoId)
          addSources(*reader, units_[id].cost, sign);
    };
    add(-1);
    unit.isIn = isIn;
    for (VRegId v : unit.values)
      plan_.moves[v] = isIn;
    add(1);
    for (const std::uint32_t other : unit.neighbors)
      isIn ? ++units_[other].neighborsIn : --units_[other].neighborsIn;
  }

  /// The instructions that read values of the unit, each once.
  std::vector<const Instr*> readersOf(const Unit& unit) const {
    std::vector<const Instr*> readers;
    ++walk_;
    for (VRegId v : unit.values)
      function_.forEachUse(v, [&](ori::Ref use) {
        if (std::exchange(visitedIn_[use.owner->id], walk_) != walk_) readers.push_back(use.owner);
      });
    return readers;
  }

  /// The unit with a value that the instruction writes; kNoId if none.
  std::uint32_t unitWrittenBy(const Instr& instr) const {
    if (!plan_.forms[instr.id]) return ori::kNoId;
    for (const ori::Operand& o : instr.ops())
      if (o.isDef && o.isVirtual() && unitOf_[o.reg] != ori::kNoId) return unitOf_[o.reg];
    return ori::kNoId;
  }

  /// The hubs whose cross-file copies depend on whether the unit moves, and the blocks of these cross-file copies.
  std::vector<std::pair<VRegId, ori::BlockId>> hubsNear(const Unit& unit, std::span<const Instr* const> readers) const {
    std::vector<std::pair<VRegId, ori::BlockId>> found;
    if (hubs_.empty()) return found;
    const auto all = [&](const Instr& instr) {
      for (const ori::Operand& o : instr.refs())
        if (!o.isDef && o.isVirtual() && hubOf_[o.reg] != ori::kNoId) found.emplace_back(o.reg, instr.block->id);
    };
    for (const Instr* writer : unit.writers)
      all(*writer);
    for (const Instr* reader : readers)
      all(*reader);
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  /// Drops units from the plan until each remaining chain gains more than its conversion costs. Each round first drops
  /// single units where this increases the total gain, then chains whose total cost exceeds their total gain.
  void drop() {
    do {
      dropSingles();
    } while (dropChains());
  }

  void dropSingles() {
    std::vector<std::uint32_t> work(units_.size());
    std::iota(work.rbegin(), work.rend(), 0u);
    std::vector<bool> isQueued(units_.size(), true);
    while (!work.empty()) {
      const std::uint32_t id = work.back();
      work.pop_back();
      isQueued[id] = false;
      Unit& unit = units_[id];
      if (!unit.isIn) continue;
      const Cost cost = costOf(unit);
      if (cost.pays() || costsOthersMore(id, cost.total() - cost.gain)) continue;
      dropUnit(unit, cost.gain, cost.total());
      for (std::uint32_t other : unit.neighbors) {
        if (isQueued[other]) continue;
        isQueued[other] = true;
        work.push_back(other);
      }
    }
  }

  void dropUnit(Unit& unit, std::int64_t gain, std::int64_t cost) {
    if (context_.remarks.wanted())
      context_.remarks.missed(unit.writers.front(),
                              fmt::format("{} not moved to uniform registers: (3) gain {}, cross-file copies cost {}",
                                          text(unit.values.front()), gain, cost),
                              cost);
    setIn(unit, false);
  }

  /// Whether the unit's neighbors would pay more for cross-file copies to it than it loses by moving: the link of a
  /// chain. Not examined for units without neighbors in the plan, or with too many.
  bool costsOthersMore(std::uint32_t id, std::int64_t loss) {
    if (units_[id].neighborsIn == 0 || units_[id].neighborsIn > kMaxNeighbors) return false;
    std::vector<std::uint32_t> others = units_[id].neighbors;
    std::erase_if(others, [&](std::uint32_t other) { return !units_[other].isIn; });
    const auto sum = [&] {
      return std::accumulate(others.begin(), others.end(), std::int64_t{0}, [&](std::int64_t sum, std::uint32_t other) {
        return sum + costOf(units_[other]).total();
      });
    };
    const std::int64_t with = sum();
    setIn(units_[id], false);
    const std::int64_t without = sum();
    setIn(units_[id], true);
    // At equal cost, registers move, but predicates do not: PLOP3, which brings them back, has a long latency.
    const bool isPredicate = function_.vreg(units_[id].values.front()).file == File::P;
    return without - with > loss || (without - with == loss && loss != 0 && !isPredicate);
  }

  /// Drops connected units that do not pay together. Returns whether there were any.
  bool dropChains() {
    std::vector<bool> isSeen(units_.size(), false);
    bool changed = false;
    for (std::uint32_t first = 0; first < units_.size(); ++first) {
      if (isSeen[first] || !units_[first].isIn) continue;
      std::vector<std::uint32_t> chain{first};
      isSeen[first] = true;
      Cost cost;
      for (std::size_t i = 0; i < chain.size(); ++i) {
        const Cost one = costOf(units_[chain[i]]);
        cost.gain += one.gain;
        cost.consumers += one.total();
        for (std::uint32_t other : units_[chain[i]].neighbors) {
          if (isSeen[other] || !units_[other].isIn) continue;
          isSeen[other] = true;
          chain.push_back(other);
        }
      }
      if (cost.pays()) continue;
      changed = true;
      for (std::uint32_t id : chain)
        dropUnit(units_[id], cost.gain, cost.total());
    }
    return changed;
  }

  /// Units whose costs depend on this one: those of its writers' sources, of its readers' results, and of its readers'
  /// other sources. Each once, in order of their numbers.
  std::vector<std::uint32_t> neighborsOf(std::uint32_t id) const {
    std::vector<std::uint32_t> found;
    const auto all = [&](const Instr& instr) {
      for (const ori::Operand& o : instr.refs())
        if (o.isVirtual() && o.reg < unitOf_.size() && unitOf_[o.reg] != ori::kNoId && unitOf_[o.reg] != id)
          found.push_back(unitOf_[o.reg]);
    };
    for (const Instr* writer : units_[id].writers)
      all(*writer);
    for (VRegId v : units_[id].values)
      function_.forEachUse(v, [&](ori::Ref use) { all(*use.owner); });
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  // --- allocation

  void choose() {
    const auto code = std::make_shared<const regalloc::NumberedCode>(function_);
    const regalloc::LiveRanges vector(code, File::R), predicates(code, File::P);
    PointPressure registers(vector.pointCount()), predicateCount(vector.pointCount());
    const auto addAll = [&](File file, PointPressure& pressure) {
      const regalloc::LiveRanges ranges(code, file);
      for (VRegId v = 0; v < function_.vregCount(); ++v)
        if (function_.vreg(v).file == file)
          for (unsigned c = 0; c < function_.vreg(v).width; ++c)
            pressure.add(ranges.component(v, c), 1);
    };
    addAll(File::UR, registers);
    addAll(File::UP, predicateCount);
    const int limit = std::max(0, static_cast<int>(context_.target.registerCount(File::UR)) - kSpareRegisters);
    const auto attempts = static_cast<std::uint32_t>(context_.knobs.get(Knob::UniformRegMaxAttempts));
    std::vector<bool> isTaken(units_.size(), false);
    for (std::uint32_t attempt = 0; attempt < attempts; ++attempt) {
      bool isAnyLeft = false, isAnyRejected = false;
      std::array<std::set<std::tuple<std::int64_t, ori::InstrId, std::uint32_t>>, kPools> pools;
      for (std::uint32_t id = 0; id < units_.size(); ++id) {
        const Unit& unit = units_[id];
        if (!unit.isIn || isTaken[id]) continue;
        isAnyLeft = true;
        if (divergence_.cfg().rpoIndex(unit.writers.front()->block->id) % attempts != attempt) continue;
        const Cost cost = costOf(unit);
        for (unsigned p = 0; p < kPools; ++p)
          pools[p].insert({cost.sources[p] + cost.consumers, unit.writers.front()->id, id});
      }
      if (!isAnyLeft) break;
      // Units are drawn from the cheapest front of the pools. One drawn from every pool is taken if it fits.
      std::vector<std::uint8_t> seen(units_.size(), 0);
      for (;;) {
        auto* best = &pools[0];
        for (auto& pool : pools)
          if (!pool.empty() && (best->empty() || *pool.begin() < *best->begin())) best = &pool;
        if (best->empty()) break;
        const std::uint32_t id = std::get<2>(*best->begin());
        best->erase(best->begin());
        if (++seen[id] < kPools) continue;
        Unit& unit = units_[id];
        if (fits(unit, vector, predicates, registers, predicateCount, limit)) {
          isTaken[id] = true;
          continue;
        }
        isAnyRejected = true;
        context_.remarks.missed(unit.writers.front(), fmt::format("{} not moved to uniform registers: all are in use",
                                                                  text(unit.values.front())));
        setIn(unit, false);
      }
      if (isAnyRejected) drop();
    }
    for (std::uint32_t id = 0; id < units_.size(); ++id)
      if (!isTaken[id]) setIn(units_[id], false);
    drop();
  }

  /// Reserves the registers of a unit, if there are enough throughout its live range.
  bool fits(const Unit& unit, const regalloc::LiveRanges& vector, const regalloc::LiveRanges& predicates,
            PointPressure& registers, PointPressure& predicateCount, int limit) const {
    const auto forAll = [&](auto&& f) {
      for (VRegId v : unit.values) {
        const bool isPredicate = function_.vreg(v).file == File::P;
        for (unsigned c = 0; c < function_.vreg(v).width; ++c)
          f((isPredicate ? predicates : vector).component(v, c), isPredicate ? predicateCount : registers,
            isPredicate ? kMaxPredicates : limit);
      }
    };
    bool isWithin = true;
    forAll([&](const regalloc::Range& range, PointPressure& pressure, int most) {
      pressure.add(range, 1);
      isWithin &= pressure.highest(range) <= most;
    });
    if (!isWithin) forAll([](const regalloc::Range& range, PointPressure& pressure, int) { pressure.add(range, -1); });
    return isWithin;
  }

  // --- remarks

  /// Where no writer has a uniform form, the remarks on the writers give the reason.
  void tellStaying(VRegId v, const char* reason) {
    if (!context_.remarks.wanted()) return;
    const Instr* writer = nullptr;
    function_.forEachDef(v, [&](ori::Ref def) {
      if (plan_.forms[def.owner->id]) writer = def.owner;
    });
    if (writer) context_.remarks.missed(writer, fmt::format("{} not moved to uniform registers: {}", text(v), reason));
  }

  std::string text(VRegId v) const {
    const ori::VReg& reg = function_.vreg(v);
    const Instr* def = nullptr;
    function_.forEachDef(v, [&](ori::Ref o) { def = o.owner; });
    return fmt::format("{}{}{}", def ? nameOf(*def) : "value", reg.name.empty() ? "" : " of ", reg.name);
  }

  void tellTaken(const Unit& unit) {
    if (!context_.remarks.wanted()) return;
    const Cost cost = costOf(unit);
    for (const Instr* writer : unit.writers)
      context_.remarks.applied(
          writer, fmt::format("{} becomes {}", nameOf(*writer), isa::desc(plan_.forms[writer->id]->op).mnemonic),
          cost.total());
    if (overridesCategories_)
      context_.remarks.applied(unit.writers.front(), "operand categories ignored: kernel name override");
  }

  const ori::Function& function_;
  const ori::Divergence& divergence_;
  PhaseContext& context_;
  bool overridesCategories_ = false;
  std::vector<Unit> units_;
  std::vector<std::uint32_t> unitOf_; // by virtual register
  // By virtual register: the cost of cross-file copies after all writers.
  std::vector<std::optional<std::int64_t>> afterWriters_;
  std::vector<Hub> hubs_;
  std::vector<std::uint32_t> hubOf_; // by virtual register; kNoId
  UniformPlan plan_;

  struct Placed {
    OperandMask moving = 0, placed = 0;
  };
  mutable std::vector<std::array<Placed, 2>> placed_; // by instruction id; no operands: unknown
  mutable std::vector<std::uint32_t> visitedIn_;      // by instruction id: the walk of `spreading`
  mutable std::vector<std::uint32_t> copiedIn_;       // by block id, likewise
  mutable std::uint32_t walk_ = 0;
};

} // namespace

bool UniformPlan::isMoving(const ori::Instr& instr) const {
  if (!forms[instr.id]) return false;
  return std::any_of(instr.ops().begin(), instr.ops().end(),
                     [&](const ori::Operand& o) { return o.isDef && isMoving(o.value()); });
}

UniformPlan planUniform(const ori::Function& function, const ori::Divergence& divergence, PhaseContext& context) {
  return Planner(function, divergence, context).run();
}

} // namespace orias::phases
