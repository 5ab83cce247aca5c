#include "regalloc/spill.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "ori/call_abi.h"
#include "regalloc/gap_choice.h"
#include "regalloc/recompute.h"
#include "support/check.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

namespace orias::regalloc {

using isa::File;
using ori::Instr;
using ori::Op;
using ori::Operand;
using ori::VRegId;
using IsaOperand = isa::Operand;

SpillState::SpillState(const ori::Function& function) {
  grow(function);
}

void SpillState::grow(const ori::Function& function) {
  for (auto v = static_cast<VRegId>(unspillable.size()); v < function.vregCount(); ++v) {
    unspillable.push_back(false);
    homes.push_back({});
    assignment.standsFor.push_back(v);
    assignment.partOf.push_back(0);
  }
}

namespace {

/// Webs without a run that one pass clears a run for; each costs a walk over all webs.
constexpr std::size_t kMaxRunsPerPass = 32;

/// Start or end of a web's live range in the sweep over the program.
struct Event {
  Point at;
  bool isStart;
  std::uint32_t web;
};

} // namespace

std::vector<std::uint32_t> chooseSpills(const Webs& webs, unsigned limit, const PointLimits& limits) {
  std::vector<Event> events;
  for (std::uint32_t w = 0; w < webs.all.size(); ++w) {
    const Range where = envelope(webs.all[w]);
    for (Segment s : where.segments()) {
      events.push_back({s.start, true, w});
      events.push_back({s.end, false, w});
    }
  }
  // Unavailable registers count as taken, by webs numbered after all others.
  const auto webCount = static_cast<std::uint32_t>(webs.all.size());
  for (std::uint32_t i = 0; i < limits.size(); ++i)
    for (Segment s : limits[i].where.segments()) {
      events.push_back({s.start, true, webCount + i});
      events.push_back({s.end, false, webCount + i});
    }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.at != b.at) return a.at < b.at;
    if (a.isStart != b.isStart) return !a.isStart; // ranges that end here free their registers first
    return a.web < b.web;
  });

  // Cheapest first; ties by number, so that the result is deterministic.
  std::set<std::pair<double, std::uint32_t>> live;
  std::vector<bool> spilled(webs.all.size(), false);
  std::vector<std::uint32_t> victims;
  unsigned pressure = 0;
  for (const Event& e : events) {
    if (e.web < webCount && spilled[e.web]) continue;
    const unsigned width = e.web < webCount ? webs.all[e.web].width : limit - limits[e.web - webCount].limit;
    if (!e.isStart) {
      pressure -= width;
      if (e.web < webCount) live.erase({webs.all[e.web].spillCost, e.web});
      continue;
    }
    pressure += width;
    if (e.web < webCount) live.insert({webs.all[e.web].spillCost, e.web});
    while (pressure > limit && !live.empty() && live.begin()->first < std::numeric_limits<double>::infinity()) {
      const std::uint32_t victim = live.begin()->second;
      live.erase(live.begin());
      spilled[victim] = true;
      victims.push_back(victim);
      pressure -= webs.all[victim].width;
    }
  }
  return victims;
}

std::vector<std::uint32_t> clearRuns(const Webs& webs, const Placement& placement, const RegisterBudget& budget) {
  constexpr double kImpossible = std::numeric_limits<double>::infinity();
  std::vector<bool> isSpilled(webs.all.size(), false);
  std::vector<std::uint32_t> victims, inTheWay;
  std::vector<double> costs;
  const auto byWeight = [&](std::uint32_t w) { return webs.all[w].weight; };
  const TakenSlots fixed = fixedTaken(budget, webs);
  auto spill = [&](std::uint32_t w) {
    if (isSpilled[w]) return;
    isSpilled[w] = true;
    victims.push_back(w);
  };
  // Runs that were cleared for earlier webs.
  struct Cleared {
    Range where;
    std::size_t base;
    unsigned width;
  };
  std::vector<Cleared> cleared;
  for (std::uint32_t f : std::span(placement.failed).first(std::min(placement.failed.size(), kMaxRunsPerPass))) {
    const Web& web = webs.all[f];
    if (isSpilled[f] || web.width > budget.limit) continue;
    Range wanted = envelope(web);
    inTheWay.clear();
    for (std::uint32_t w = 0; w < webs.all.size(); ++w)
      if (placement.slotOf[w] != kNoSlot && !isSpilled[w] &&
          std::ranges::any_of(webs.all[w].components, [&](const Range& r) { return wanted.overlaps(r); }))
        inTheWay.push_back(w);
    // The cost of clearing the run at each base.
    costs.assign(budget.limit - web.width + 1, 0);
    auto addAt = [&](std::uint32_t slot, unsigned width, double cost) {
      const std::uint32_t first = slot + 1 > web.width ? slot + 1 - web.width : 0;
      for (std::uint32_t base = first; base < std::min<std::size_t>(slot + width, costs.size()); ++base)
        costs[base] += cost;
    };
    for (std::uint32_t w : inTheWay)
      addAt(placement.slotOf[w], webs.all[w].width, webs.all[w].weight);
    // Excludes reserved registers, those that a call changes, and those that are unavailable at some point.
    const SlotSet possible = freeSlots(fixed, budget, web);
    for (std::size_t base = 0; base < costs.size(); ++base)
      if (!possible[base]) costs[base] = kImpossible;
    for (const Cleared& c : cleared)
      if (wanted.overlaps(c.where)) addAt(static_cast<std::uint32_t>(c.base), c.width, kImpossible);
    std::size_t best = 0;
    for (std::size_t base = 0; base < costs.size(); base += web.align)
      if (costs[base] < costs[best]) best = base;
    if (web.weight == kImpossible && costs[best] == kImpossible) {
      // The webs in each run cannot be spilled: free as many registers elsewhere.
      std::ranges::stable_sort(inTheWay, {}, byWeight);
      unsigned freed = 0;
      for (const std::uint32_t w : inTheWay) {
        if (freed >= web.width || byWeight(w) == kImpossible) break;
        spill(w);
        freed += webs.all[w].width;
      }
      continue;
    }
    if (web.weight <= costs[best]) {
      spill(f);
      continue;
    }
    for (std::uint32_t w : inTheWay)
      if (placement.slotOf[w] < best + web.width && best < placement.slotOf[w] + webs.all[w].width) spill(w);
    cleared.push_back({std::move(wanted), best, web.width});
  }
  return victims;
}

namespace {

/// Rewrites all references of one web.
class Spiller {
 public:
  Spiller(ori::Function& function, const Web& web, File file, SpillState& state, const SpillWay& way)
      : function_(function), web_(web), file_(file), state_(state), way_(way),
        // Uniform predicates are spilled to uniform registers: these are written at the same places, in uniform control
        // flow.
        spillFile_(file == File::UP || way.target == SpillTarget::Uniform ? File::UR : File::R) {}

  /// True if the members are rematerialized at each use.
  bool run() {
    // Members that can be rematerialized at each use need no storage, unless the web joins several values.
    if (way_.remat && web_.members.size() == 1) {
      const VRegId only = web_.members[0].first;
      if (Instr* def = rematerialisable(only)) {
        rematerialise(only, def);
        return true;
      }
      if (way_.recomputation)
        if (const std::optional<Recipe> recipe = way_.recomputation->recipe(only)) {
          rematerialise(only, *recipe);
          return true;
        }
    }
    if (!isInMemory()) {
      spillRegister_ = function_.newVReg(spillFile_, web_.width);
      state_.grow(function_);
    } else if (const Home& home = state_.homes[web_.members[0].first]; home.exists()) {
      frameObject_ = home.object;
      dropSpillCode();
    } else {
      newFrameObject();
      if (way_.victim && !way_.victim->isWhole) {
        split();
        return false;
      }
    }
    for (auto [v, offset] : web_.members) {
      offset_ = wordOf(v, offset);
      for (Instr* instr : ownersOf(v))
        rewrite(instr, v);
    }
    return false;
  }

 private:
  /// Instructions that use or define the register, each once, in a stable order.
  std::vector<Instr*> ownersOf(VRegId v) const {
    std::vector<Instr*> owners;
    for (const ori::Ref o : function_.refs(v))
      owners.push_back(o.owner);
    std::sort(owners.begin(), owners.end(), [](const Instr* a, const Instr* b) { return a->id < b->id; });
    owners.erase(std::unique(owners.begin(), owners.end()), owners.end());
    return owners;
  }

  /// The definition, if it computes the same value at any place: it reads only constants and constant banks.
  Instr* rematerialisable(VRegId v) const {
    Instr* def = function_.singleDef(v);
    if (!def || def->isGuarded() || state_.assignment.spillMoves.count(def->id)) return nullptr;
    const isa::InstrDesc& row = isa::desc(def->op);
    if (row.has(isa::Flag::Pseudo) && def->op != Op::COPY) return nullptr;
    for (isa::Flag flag : {isa::Flag::Load, isa::Flag::Store, isa::Flag::Atomic, isa::Flag::SideEffect,
                           isa::Flag::Convergent, isa::Flag::Volatile, isa::Flag::Branch})
      if (row.has(flag)) return nullptr;
    unsigned defs = 0;
    for (const Operand& o : def->ops()) {
      if (o.isReg() && o.isDef && !o.isZeroReg()) {
        ++defs;
        if (o.sub != 0 || o.width != function_.vreg(v).width) return nullptr;
      } else if (o.isReg() && !o.isZeroReg()) {
        return nullptr;
      } else if (o.kind == IsaOperand::Kind::Frame) {
        return nullptr;
      }
    }
    return defs == 1 ? def : nullptr;
  }

  void rematerialise(VRegId v, Instr* def) {
    Recipe recipe;
    recipe.definition = def;
    for (unsigned i = 0; i < def->operandCount; ++i) {
      recipe.operands.push_back(def->op_(i).value());
      if (def->op_(i).isDef && def->op_(i).isVirtual()) recipe.result = i;
    }
    rematerialise(v, recipe);
  }

  void rematerialise(VRegId v, const Recipe& recipe) {
    Instr* def = recipe.definition;
    const Instr* form = recipe.merged ? recipe.merged : def;
    std::vector<IsaOperand> operands = recipe.operands;
    for (Instr* instr : ownersOf(v)) {
      if (instr == def) continue;
      const IsaOperand temp = newTemp(v, 0, function_.vreg(v).width);
      operands[recipe.result] = temp;
      if (recipe.step.definition) operands[recipe.step.operand].reg = takeStep(recipe.step, instr);
      Instr* again = function_.create(form->op, operands, def->source);
      again->mods = form->mods;
      function_.insertBefore(instr, again);
      state_.assignment.spillMoves[again->id] = {SpillMove::Kind::Remat, static_cast<std::uint8_t>(recipe.result), 0};
      forEachRefOf(instr, v, [&](unsigned index, const Operand& o) {
        IsaOperand use = o.value();
        use.reg = temp.reg;
        replace(instr, index, use);
      });
    }
    const std::vector<IsaOperand> sources = sourcesOf(*def);
    function_.erase(def);
    for (const IsaOperand& source : sources)
      eraseIfUnread(source);
    ++state_.rematerialised;
  }

  /// Computes an operand of a recipe before an instruction. Returns the register with the result.
  VRegId takeStep(const Recipe::Step& step, Instr* before) {
    const VRegId to = function_.newVReg(File::R);
    state_.grow(function_);
    state_.unspillable[to] = true;
    std::vector<IsaOperand> operands = step.operands;
    operands[step.result] = function_.use(to);
    Instr* again = function_.create(step.definition->op, operands, step.definition->source);
    again->mods = step.definition->mods;
    function_.insertBefore(before, again);
    return to;
  }

  static std::vector<IsaOperand> sourcesOf(const Instr& instr) {
    std::vector<IsaOperand> sources;
    for (const Operand& o : instr.ops())
      if (!o.isDef) sources.push_back(o.value());
    return sources;
  }

  /// Erases the definition of a source if the deleted instruction was its last reader.
  void eraseIfUnread(const IsaOperand& source) {
    if (!source.isVirtual() || !(source.isReg(File::P) || (file_ == File::P && source.isReg(File::R)))) return;
    Instr* def = function_.singleDef(source.reg);
    if (!def || !isPureComputation(*def) || state_.assignment.spillMoves.count(def->id)) return;
    for (const Operand& o : def->ops()) {
      bool isRead = false;
      if (o.isDef && o.isVirtual()) function_.forEachUse(o.reg, [&](ori::Ref) { isRead = true; });
      if (isRead) return;
    }
    function_.erase(def);
  }

  void newFrameObject() {
    ori::FrameObject object;
    object.name = function_.intern("spill");
    object.size = 4 * web_.width;
    object.align = web_.width >= 4 ? 16 : web_.width >= 2 ? 8 : 4;
    object.isSpill = true;
    frameObject_ = static_cast<std::uint32_t>(function_.frame.size());
    function_.frame.push_back(object);
    state_.usesFrame = true;
  }

  /// A temporary that represents `width` components of v from `sub`.
  IsaOperand newTemp(VRegId v, unsigned sub, unsigned width) {
    const VRegId t = function_.newVReg(file_, width);
    state_.grow(function_);
    state_.unspillable[t] = true;
    state_.assignment.standsFor[t] = state_.assignment.standsFor[v];
    state_.assignment.partOf[t] = static_cast<std::uint8_t>(state_.assignment.partOf[v] + sub);
    return function_.use(t);
  }

  template <typename F> void forEachRefOf(Instr* instr, VRegId v, F&& f) {
    for (unsigned i = 0; i < instr->operandCount; ++i)
      if (namesVirtual(instr->op_(i), file_) && instr->op_(i).reg == v) f(i, instr->op_(i));
    const Operand& guard = instr->guard();
    if (namesVirtual(guard, file_) && guard.reg == v) f(kGuardIndex, guard);
  }

  void replace(Instr* instr, unsigned index, const IsaOperand& value) {
    if (index == kGuardIndex)
      function_.moveGuard(instr, value);
    else
      function_.setOperand(instr, index, value);
  }

  void rewrite(Instr* instr, VRegId v) {
    if (isCopyInPlace(*instr)) {
      aliasCopy(instr);
      return;
    }
    // Reads: one temporary for each part that is read. The same instruction may also write the register.
    struct Use {
      unsigned sub, width;
      IsaOperand temp;
    };
    std::vector<Use> uses;
    std::vector<unsigned> defs;
    forEachRefOf(instr, v, [&](unsigned index, const Operand& o) {
      if (index != kGuardIndex && o.isDef) {
        defs.push_back(index);
        return;
      }
      const unsigned width = registersOf(o);
      auto known =
          std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.sub == o.sub && u.width == width; });
      if (known == uses.end()) {
        IsaOperand temp = newTemp(v, o.sub, width);
        emitLoad(instr, temp, o.sub, width);
        uses.push_back({o.sub, width, temp});
        known = uses.end() - 1;
      }
      IsaOperand use = o.value();
      use.reg = known->temp.reg;
      use.sub = 0;
      replace(instr, index, use);
    });
    for (unsigned index : defs) {
      const IsaOperand old = instr->op_(index).value();
      IsaOperand temp = newTemp(v, old.sub, old.width);
      // Where the guard is false the old value, if any, must be preserved: in its slot, or in the temporary.
      const bool keepsOld = instr->isGuarded() && !instr->hasUndefinedRest;
      const IsaOperand guard = keepsOld && canStoreUnderGuard(*instr) ? instr->guard().value() : IsaOperand::pt();
      if (keepsOld && guard.isZeroReg()) emitLoad(instr, temp, old.sub, old.width);
      function_.moveResult(instr, index, temp);
      emitStore(instr, temp, old.sub, old.width, guard);
    }
  }

  /// Whether the guard still holds its value after the instruction, in its register.
  bool canStoreUnderGuard(const Instr& instr) const {
    return instr.isGuarded() && isInMemory() && !instr.guard().isZeroReg() &&
           std::ranges::none_of(instr.ops(), [](const Operand& o) {
             return o.isDef && (o.isReg(File::P) || o.isReg(File::UP)) && !o.isZeroReg();
           });
  }

  // --- parts of the value in registers

  /// A reference of a member that shares its register with others.
  struct Shared {
    Instr* instr;
    VRegId member;
    unsigned offset;
    std::uint32_t piece;
    bool isCopyInPlace;
  };

  /// Assigns each piece of the web its register, and reloads it where its value is in memory.
  void split() {
    const Victim& victim = *way_.victim;
    std::vector<Shared> shared;
    std::vector<std::tuple<Instr*, VRegId, unsigned>> singles;
    for (auto [v, offset] : web_.members) {
      offset_ = offset;
      for (Instr* instr : ownersOf(v)) {
        const std::uint32_t piece = pieceOf(*instr);
        if (piece == kNoIndex || victim.pieces[piece].isSingle()) {
          singles.emplace_back(instr, v, offset);
          continue;
        }
        shared.push_back({instr, v, offset, piece, isCopyInPlace(*instr)});
        pieceRegister(piece, v);
      }
    }
    for (auto [instr, v, offset] : singles) {
      offset_ = offset;
      rewrite(instr, v);
    }
    for (std::uint32_t r = 0; r < victim.pieceOf.size(); ++r) {
      if (!victim.isReloaded[r]) continue;
      const Reference& reference = victim.life.references[r];
      if (Instr* instr = placeOf(reference))
        reload(victim.pieceOf[r], 2 * reference.number, instr);
      else
        reload(victim.pieceOf[r], 2 * reference.number, function_.block(reference.block));
    }
    for (std::uint32_t piece = 0; piece < victim.pieces.size(); ++piece)
      for (auto [block, wanted] : victim.pieces[piece].reloads)
        reload(piece, wanted, function_.block(block));
    for (const Shared& s : shared) {
      offset_ = s.offset;
      rename(s);
    }
  }

  std::uint32_t pieceOf(const Instr& instr) const {
    if (!way_.ranges->isNumbered(instr)) return kNoIndex; // a computation that was inserted for another web
    const auto& references = way_.victim->life.references;
    const std::uint32_t number = way_.ranges->usePoint(instr) / 2;
    const auto at = std::ranges::lower_bound(references, number, {}, &Reference::number);
    if (at == references.end() || at->number != number) return kNoIndex;
    return way_.victim->pieceOf[static_cast<std::size_t>(at - references.begin())];
  }

  /// The register that represents a member in a piece.
  VRegId pieceRegister(std::uint32_t piece, VRegId v) {
    auto [at, isNew] = pieceRegisters_.try_emplace({piece, v}, ori::kNoId);
    if (!isNew) return at->second;
    const VRegId t = at->second = function_.newVReg(file_, function_.vreg(v).width);
    function_.vreg(t).align = function_.vreg(v).align;
    state_.grow(function_);
    state_.homes[t] = {frameObject_, offset_};
    state_.assignment.standsFor[t] = state_.assignment.standsFor[v];
    state_.assignment.partOf[t] = state_.assignment.partOf[v];
    return t;
  }

  /// The instruction of a reference, or the next one in its block if it was deleted; null if none is left.
  Instr* placeOf(const Reference& reference) const {
    for (Point point = 2 * reference.number; point < way_.ranges->pointCount(); point += 2) {
      Instr* instr = way_.ranges->instrAt(point);
      if (instr->block) return instr->block->id == reference.block ? instr : nullptr;
    }
    return nullptr;
  }

  /// Loads all members of a piece that are live at the point.
  template <typename Where> void reload(std::uint32_t piece, Point point, Where* where) {
    for (auto [v, offset] : web_.members) {
      const auto known = pieceRegisters_.find({piece, v});
      if (known == pieceRegisters_.end()) continue;
      offset_ = offset;
      const unsigned width = function_.vreg(v).width;
      for (unsigned i = 0; i < width; ++i) {
        unsigned n = 0;
        while (i + n < width && way_.ranges->component(v, i + n).contains(point))
          ++n;
        if (n == 0) continue;
        emitLoad(where, function_.part(known->second, i, n), i, n);
        i += n;
      }
    }
  }

  void rename(const Shared& s) {
    const VRegId t = pieceRegister(s.piece, s.member);
    const Point point = way_.ranges->usePoint(*s.instr);
    std::vector<unsigned> defs;
    forEachRefOf(s.instr, s.member, [&](unsigned index, const Operand& o) {
      if (index != kGuardIndex && o.isDef) {
        defs.push_back(index);
        return;
      }
      IsaOperand use = o.value();
      use.reg = t;
      replace(s.instr, index, use);
    });
    for (unsigned index : defs) {
      const unsigned sub = s.instr->op_(index).sub, width = s.instr->op_(index).width;
      const IsaOperand part = function_.part(t, sub, width);
      const bool keepsOld = s.instr->isGuarded() && !s.instr->hasUndefinedRest;
      const IsaOperand guard = keepsOld && canStoreUnderGuard(*s.instr) ? s.instr->guard().value() : IsaOperand::pt();
      bool isThere = true;
      for (unsigned i = sub; i < sub + width; ++i)
        isThere = isThere && way_.ranges->component(s.member, i).contains(point);
      if (keepsOld && guard.isZeroReg() && !isThere) emitLoad(s.instr, part, sub, width);
      function_.moveResult(s.instr, index, part);
      if (!s.isCopyInPlace) emitStore(s.instr, part, sub, width, guard);
    }
  }

  /// Removes the loads and stores of parts of a value that are now spilled themselves.
  void dropSpillCode() {
    for (auto [v, offset] : web_.members)
      for (Instr* instr : ownersOf(v)) {
        const auto move = state_.assignment.spillMoves.find(instr->id);
        if (move == state_.assignment.spillMoves.end()) continue;
        const unsigned bytes = 4 * instr->op_(move->second.reg).width;
        if (move->second.kind == SpillMove::Kind::Load)
          state_.loadBytes -= bytes;
        else if (move->second.kind == SpillMove::Kind::Store)
          state_.storeBytes -= bytes;
        else
          continue;
        state_.assignment.spillMoves.erase(move);
        function_.erase(instr);
      }
  }

  /// The first word of a member in the slot.
  unsigned wordOf(VRegId v, unsigned offset) const { return state_.homes[v].exists() ? state_.homes[v].word : offset; }

  /// Whether this is a copy between two members of the web with the same place, which moves nothing.
  bool isCopyInPlace(const Instr& instr) const {
    return instr.op == Op::COPY && !instr.isGuarded() && isMember(instr.op_(0)) && isMember(instr.op_(1)) &&
           placeOf(instr.op_(0)) == placeOf(instr.op_(1)) && instr.op_(0).width == instr.op_(1).width &&
           !instr.op_(1).neg() && !instr.op_(1).inverted();
  }

  bool isMember(const Operand& o) const {
    return o.isReg(file_) && o.isVirtual() &&
           std::any_of(web_.members.begin(), web_.members.end(), [&](auto m) { return m.first == o.reg; });
  }
  unsigned placeOf(const Operand& o) const {
    for (auto [v, offset] : web_.members)
      if (v == o.reg) return wordOf(v, offset) + o.sub;
    return ~0u;
  }

  /// A copy inside the web: becomes a load under the old name and a store under the new one, which the checker needs.
  void aliasCopy(Instr* instr) {
    const IsaOperand to = instr->op_(0).value(), from = instr->op_(1).value();
    IsaOperand loaded = newTemp(from.reg, from.sub, from.width);
    IsaOperand stored = newTemp(to.reg, to.sub, to.width);
    auto offsetOfMember = [&](VRegId v) {
      for (auto [m, offset] : web_.members)
        if (m == v) return wordOf(m, offset);
      return 0u;
    };
    const unsigned offsetAtHand = offset_; // the current member has more references to come
    offset_ = offsetOfMember(from.reg);
    emitLoad(instr, loaded, from.sub, from.width);
    function_.setOperand(instr, 1, loaded);
    function_.setOperand(instr, 0, stored);
    offset_ = offsetOfMember(to.reg);
    emitStore(instr, stored, to.sub, to.width);
    offset_ = offsetAtHand;
  }

  void insert(Instr* before, Instr* instr) { function_.insertBefore(before, instr); }
  /// Inserts at the end of the block.
  void insert(ori::Block* block, Instr* instr) {
    if (block->last && ori::isTerminator(block->last->op))
      function_.insertBefore(block->last, instr);
    else
      function_.append(block, instr);
  }

  /// Loads before an instruction. Values in memory can also be loaded at the end of a block.
  template <typename Where> void emitLoad(Where* where, const IsaOperand& temp, unsigned sub, unsigned width) {
    if (isInMemory())
      forEachPiece(sub, width, [&](unsigned at, unsigned n) {
        Instr* load = memoryAccess(Op::LDL, ori::component(temp, at - sub, n), at, n);
        insert(where, load);
        note(load, SpillMove::Kind::Load, isa::SlotId::Rd);
        state_.loadBytes += 4 * n;
      });
    else if constexpr (std::is_same_v<Where, Instr>)
      moveFromSpillFile(where, temp, sub, width);
  }

  void emitStore(Instr* after, const IsaOperand& temp, unsigned sub, unsigned width,
                 const IsaOperand& guard = IsaOperand::pt()) {
    if (isInMemory()) {
      Instr* last = after;
      forEachPiece(sub, width, [&](unsigned at, unsigned n) {
        Instr* store = memoryAccess(Op::STL, ori::component(temp, at - sub, n), at, n);
        function_.setGuard(store, guard);
        function_.insertAfter(last, store);
        note(store, SpillMove::Kind::Store, isa::SlotId::Rb);
        state_.storeBytes += 4 * n;
        last = store;
      });
    } else {
      moveToSpillFile(after, temp, sub, width);
    }
  }

  /// Splits words [sub, sub + width) of the member into aligned accesses of 1, 2 or 4 words.
  template <typename F> void forEachPiece(unsigned sub, unsigned width, F&& f) const {
    for (unsigned at = sub; at < sub + width;) {
      unsigned n = 4;
      while (n > 1 && ((offset_ + at) % n != 0 || at + n > sub + width))
        n /= 2;
      f(at, n);
      at += n;
    }
  }

  Instr* memoryAccess(Op op, const IsaOperand& data, unsigned at, unsigned words) {
    const isa::InstrDesc& row = isa::desc(op);
    std::vector<IsaOperand> operands(row.defaults.begin(), row.defaults.begin() + row.slotCount);
    IsaOperand where;
    where.kind = IsaOperand::Kind::Frame;
    where.reg = frameObject_;
    where.imm = static_cast<std::int32_t>(4 * (offset_ + at));
    operands[row.slot(op == Op::LDL ? isa::SlotId::Rd : isa::SlotId::Rb)] = data;
    operands[row.slot(isa::SlotId::Ra)] = IsaOperand::physical(File::R, ori::kStackPointer);
    operands[row.slot(isa::SlotId::offset)] = where;
    Instr* instr = function_.create(op, operands);
    const isa::MemSize size = words == 4 ? isa::MemSize::B128 : words == 2 ? isa::MemSize::B64 : isa::MemSize::B32;
    ORIAS_CHECK(isa::setMod(op, instr->mods, {isa::Mod::Size, size}));
    return instr;
  }

  void note(Instr* instr, SpillMove::Kind kind, isa::SlotId slotName) {
    state_.assignment.spillMoves[instr->id] = {kind, static_cast<std::uint8_t>(isa::desc(instr->op).slot(slotName)), 0};
  }

  bool isInMemory() const { return file_ == spillFile_; }

  /// UR := R: to spill a register of R to UR, or to reload one of UR from R.
  void moveToUniform(ori::Builder& b, const IsaOperand& to, const IsaOperand& from) {
    Instr* move = b.emit(Op::R2UR, {IsaOperand::pt(), to, from});
    const isa::InstrDesc& row = isa::desc(Op::R2UR);
    state_.assignment.spillMoves[move->id] = {SpillMove::Kind::Move,
                                              static_cast<std::uint8_t>(row.slot(isa::SlotId::URd)),
                                              static_cast<std::uint8_t>(row.slot(isa::SlotId::Ra))};
  }
  /// R := UR.
  void moveToLanes(ori::Builder& b, const IsaOperand& to, const IsaOperand& from) {
    Instr* move = b.emit(Op::MOV, {to, from});
    state_.assignment.spillMoves[move->id] = {SpillMove::Kind::Move, 0, 1};
  }

  /// P := (R != 0); UP := (UR != 0); UR := R; R := UR.
  void moveFromSpillFile(Instr* where, const IsaOperand& temp, unsigned sub, unsigned width) {
    for (unsigned i = 0; i < width; ++i) {
      IsaOperand from = spillPart(sub + i);
      ori::Builder b = ori::Builder::before(function_, where);
      if (file_ == File::P) {
        Instr* move = b.emit(
            Op::ISETP, {temp, IsaOperand::pt(), from, IsaOperand::rz(), IsaOperand::pt()},
            {{isa::Mod::Cmp, isa::ICmp::NE}, {isa::Mod::Type, isa::IntType::U32}, {isa::Mod::Bool, isa::BoolOp::AND}});
        state_.assignment.spillMoves[move->id] = {SpillMove::Kind::Move, 0, 2};
      } else if (file_ == File::UP) {
        Instr* move = b.emit(
            Op::UISETP,
            {temp, IsaOperand::zero(File::UP), from, IsaOperand::zero(File::UR), IsaOperand::zero(File::UP)},
            {{isa::Mod::Cmp, isa::ICmp::NE}, {isa::Mod::Type, isa::IntType::U32}, {isa::Mod::Bool, isa::BoolOp::AND}});
        state_.assignment.spillMoves[move->id] = {SpillMove::Kind::Move, 0, 2};
      } else if (file_ == File::R) {
        moveToLanes(b, ori::component(temp, i), from);
      } else {
        moveToUniform(b, ori::component(temp, i), from);
      }
    }
  }

  /// R := P ? 1 : 0; UR := UP ? 1 : 0; R := UR; UR := R.
  void moveToSpillFile(Instr* after, const IsaOperand& temp, unsigned sub, unsigned width) {
    for (unsigned i = 0; i < width; ++i) {
      IsaOperand to = spillPart(sub + i);
      ori::Builder b = ori::Builder::after(function_, after);
      if (file_ == File::P) {
        Instr* move = b.emit(Op::SEL, {to, IsaOperand::rz(), IsaOperand::immediate(1), temp.notted()});
        state_.assignment.spillMoves[move->id] = {SpillMove::Kind::Move, 0, 3};
      } else if (file_ == File::UP) {
        Instr* move = b.emit(Op::USEL, {to, IsaOperand::zero(File::UR), IsaOperand::immediate(1), temp.notted()});
        state_.assignment.spillMoves[move->id] = {SpillMove::Kind::Move, 0, 3};
      } else if (file_ == File::R) {
        moveToUniform(b, to, ori::component(temp, i));
      } else {
        moveToLanes(b, to, ori::component(temp, i));
      }
    }
  }

  /// The register of the spill file that component `at` of the member is spilled to.
  IsaOperand spillPart(unsigned at) const { return function_.part(spillRegister_, offset_ + at); }

  static constexpr unsigned kGuardIndex = ~0u;

  ori::Function& function_;
  const Web& web_;
  File file_;
  SpillState& state_;
  const SpillWay& way_;
  const File spillFile_;
  std::map<std::pair<std::uint32_t, VRegId>, VRegId> pieceRegisters_; // by piece and member
  unsigned offset_ = 0;                                               // of the current member
  std::uint32_t frameObject_ = 0;
  VRegId spillRegister_ = ori::kNoId;
};

} // namespace

bool spillWeb(ori::Function& function, const Web& web, File file, SpillState& state, const SpillWay& way) {
  return Spiller(function, web, file, state, way).run();
}

} // namespace orias::regalloc
