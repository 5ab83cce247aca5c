#include "phases/modulo/loop_body.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "ori/cfg_edit.h"
#include "phases/block_uniformity.h"
#include "phases/dependence.h"
#include "phases/memory_access.h"

#include <algorithm>
#include <optional>

namespace orias::phases::modulo {

using isa::Flag;
using ori::Instr;
using ori::VRegId;

namespace {

/// Longer bodies are skipped: the scheduler's effort grows with the square.
constexpr std::size_t kMaxInstructions = 512;
constexpr unsigned kLateRead = 8; ///< cycles; a guess, as in the dependence graph of regions

std::uint32_t maskOf(unsigned sub, unsigned width) {
  return static_cast<std::uint32_t>(((1ull << width) - 1) << sub);
}

/// An operand with a register that the loop writes.
struct Ref {
  std::uint32_t node = 0;
  int slot = -1; ///< of the operand; -1: the guard
  bool isDef = false, isGuarded = false;
  std::uint32_t mask = 0;    ///< components
  std::uint32_t through = 0; ///< of a definition: components that stay live from before it
};

/// Reads or writes of a value, with the latencies from the tables.
struct ValueTouch {
  std::uint32_t node;
  std::uint8_t shift;
  isa::Touch touch;
};

class Finder {
 public:
  Finder(ori::Function& function, const LoopFacts& facts, LoopBody& body, const isa::Target& target)
      : function_(function), facts_(facts), body_(body), target_(target) {}

  /// Builds the body. Returns null when the loop can be pipelined, else why not.
  const char* run(const ori::Loop& loop, ori::LoopId id) {
    if (const char* why = findShape(loop, id)) return why;
    for (Instr& instr : *body_.block)
      body_.instrs.push_back(&instr);
    if (const char* why = checkInstructions()) return why;
    findValues();
    buildGraph();
    return nullptr;
  }

 private:
  const char* findShape(const ori::Loop& loop, ori::LoopId id) {
    if (loop.blockCount != 1) return "not pipelined: the loop has several blocks";
    ori::Block* block = function_.block(loop.header);
    const Instr* branch = ori::plainBranch(*block);
    if (!branch || !branch->isGuarded() || block->fallthrough == ori::kNoId)
      return "not pipelined: the loop does not end with a conditional branch";
    const auto exits = facts_.loops.exits(id);
    if (exits.size() != 1) return "not pipelined: the loop has several exits";
    ori::BlockId from = ori::kNoId;
    for (ori::BlockId p : facts_.cfg.predecessors(block->id)) {
      if (p == block->id || !facts_.cfg.isReachable(p)) continue;
      if (from != ori::kNoId) return "not pipelined: the loop has several entries";
      from = p;
    }
    if (from == ori::kNoId) return "not pipelined: the loop has several entries";
    body_.block = block;
    body_.entry = function_.block(from);
    body_.exit = exits[0].second;
    body_.exitsTogether = facts_.divergence.isUniformBlock(block->id) && !facts_.divergence.branchesApart(block->id);
    return nullptr;
  }

  const char* checkInstructions() const {
    if (body_.instrs.size() > kMaxInstructions) return "not pipelined: the loop is too long";
    for (const Instr* instr : body_.instrs) {
      if (instr == body_.block->last) continue;
      const isa::InstrDesc& row = isa::desc(instr->op);
      if (isBlockBarrier(*instr)) return "not pipelined: the loop has a barrier";
      if (isPinned(*instr) || row.has(Flag::Volatile) || row.has(Flag::Fence))
        return "not pipelined: the loop has instructions that must stay in order";
      if (row.has(Flag::Atomic)) return "not pipelined: the loop has atomic operations";
      if (row.isPseudo() && !row.has(Flag::Copy)) return "not pipelined: the loop has pseudo instructions";
      const bool isMemory = row.has(Flag::Load) || row.has(Flag::Store);
      if (isMemory && accessOf(*instr).isOrdered) return "not pipelined: the loop has volatile or ordered accesses";
      // Warp-wide instructions run with the lanes that were in the iteration together.
      const bool isWarpWide = row.has(Flag::Convergent) || row.has(Flag::WarpWide) || row.has(Flag::Uniform);
      if (isWarpWide && !body_.exitsTogether)
        return "not pipelined: the loop has a divergent exit and warp-level instructions";
      for (const ori::Operand& o : instr->ops())
        if (o.isDef && o.isReg() && !o.isVirtual() && !o.isZeroReg())
          return "not pipelined: the loop writes fixed registers";
      bool isImplicit = false;
      forEachTouch(*instr, [&](const isa::Touch& t) { isImplicit |= !t.operand; });
      if (isImplicit) return "not pipelined: the loop writes fixed registers";
    }
    return nullptr;
  }

  template <typename F> void forEachTouch(const Instr& instr, F&& f) const {
    isa::forEachTouch(instr.op, std::span<const std::uint8_t, isa::kMaxMods>(instr.mods), instr.guard().value(),
                      instr.ops(), target_, f);
  }

  // --- values

  const ori::Operand& operandOf(std::uint32_t node, int slot) const {
    return slot < 0 ? body_.instrs[node]->guard() : body_.instrs[node]->op_(static_cast<unsigned>(slot));
  }

  ValueRef& refOf(std::uint32_t node, int slot) { return body_.refs[node][static_cast<std::size_t>(slot + 1)]; }

  void findValues() {
    for (const Instr* instr : body_.instrs)
      body_.refs.emplace_back(instr->operandCount + 1u);
    std::vector<VRegId> written;
    for (const Instr* instr : body_.instrs)
      for (const ori::Operand& o : instr->ops())
        if (o.isDef && o.isReg() && o.isVirtual()) written.push_back(o.reg);
    std::ranges::sort(written);
    written.erase(std::ranges::unique(written).begin(), written.end());
    std::vector<std::vector<Ref>> refs(written.size());
    for (std::uint32_t n = 0; n < body_.instrs.size(); ++n)
      for (int pass = 0; pass < 2; ++pass) // an instruction reads before it writes
        for (int slot = -1; slot < static_cast<int>(body_.instrs[n]->operandCount); ++slot) {
          const ori::Operand& o = operandOf(n, slot);
          const bool isDef = slot >= 0 && o.isDef;
          if (isDef != (pass == 1) || !o.isVirtual() || (!o.isReg() && !o.isConst())) continue;
          const auto at = std::ranges::lower_bound(written, o.reg);
          if (at == written.end() || *at != o.reg) continue;
          const unsigned all = function_.vreg(o.reg).width;
          refs[static_cast<std::size_t>(at - written.begin())].push_back(
              {n, slot, isDef, body_.instrs[n]->isGuarded(), o.isReg() ? maskOf(o.sub, o.width) : maskOf(0, all), 0});
        }
    for (std::size_t i = 0; i < written.size(); ++i)
      splitIntoValues(written[i], refs[i]);
  }

  std::uint32_t liveMask(VRegId reg, ori::BlockId block, bool isOut) const {
    std::uint32_t mask = 0;
    for (unsigned c = 0; c < function_.vreg(reg).width; ++c) {
      const ori::CompId comp = facts_.liveness.components().of(reg, c);
      if (isOut ? facts_.liveness.isLiveOut(block, comp) : facts_.liveness.isLiveIn(block, comp)) mask |= 1u << c;
    }
    return mask;
  }

  std::uint32_t addValue(VRegId reg, Value::Kind kind, bool keepsRegister, bool isLiveOut) {
    body_.values.push_back({reg, kind, keepsRegister, isLiveOut});
    return static_cast<std::uint32_t>(body_.values.size() - 1);
  }

  /// Splits a register into the values that it holds in sequence. Each begins with an unguarded write while nothing of
  /// the register is live.
  void splitIntoValues(VRegId reg, std::vector<Ref>& refs) {
    const std::uint32_t liveIn = liveMask(reg, body_.block->id, false);
    const bool isLiveOut = liveMask(reg, body_.exit, false) != 0;
    std::uint32_t live = liveMask(reg, body_.block->id, true);
    for (std::size_t end = refs.size(); end > 0;) {
      std::size_t first = end - 1;
      while (first > 0 && refs[first - 1].node == refs[end - 1].node)
        --first;
      std::uint32_t killed = 0, read = 0;
      for (std::size_t i = first; i < end; ++i) {
        if (!refs[i].isDef) read |= refs[i].mask;
        if (refs[i].isDef && !refs[i].isGuarded) killed |= refs[i].mask;
      }
      live &= ~killed;
      for (std::size_t i = first; i < end; ++i)
        refs[i].through = live;
      live |= read;
      end = first;
    }
    // The positions at which values begin.
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < refs.size(); ++i) {
      const bool isNew = refs[i].isDef && !refs[i].isGuarded && refs[i].through == 0;
      const bool isSameInstr = !starts.empty() && refs[starts.back()].node == refs[i].node;
      if (isNew && !isSameInstr) starts.push_back(i);
    }
    if (liveIn == 0 && (starts.empty() || starts[0] != 0)) starts.insert(starts.begin(), 0);
    if (starts.empty() && splitByComponents(reg, refs, liveIn, isLiveOut)) return;
    if (starts.empty()) {
      const std::uint32_t value = addValue(reg, Value::Kind::InPlace, true, isLiveOut);
      for (const Ref& ref : refs)
        refOf(ref.node, ref.slot) = {value, 0};
      return;
    }
    const bool isCarried = liveIn != 0;
    std::uint32_t carried = ori::kNoId;
    if (isCarried) {
      carried = addValue(reg, Value::Kind::Carried, true, isLiveOut);
      for (std::size_t i = 0; i < starts[0]; ++i)
        refOf(refs[i].node, refs[i].slot) = {carried, 0};
    }
    for (std::size_t s = 0; s < starts.size(); ++s) {
      const bool isLast = s + 1 == starts.size();
      const bool isNext = isCarried && isLast;
      const std::uint32_t value =
          isNext ? carried : addValue(reg, Value::Kind::Local, isLast, isLast && isLiveOut && !isCarried);
      for (std::size_t i = starts[s]; i < (isLast ? refs.size() : starts[s + 1]); ++i)
        refOf(refs[i].node, refs[i].slot) = {value, static_cast<std::uint8_t>(isNext ? 1 : 0)};
    }
  }

  /// Splits a wide register each of whose components is written once, and is read only before or only after that.
  bool splitByComponents(VRegId reg, const std::vector<Ref>& refs, std::uint32_t liveIn, bool isLiveOut) {
    std::uint32_t written = 0;
    for (const Ref& ref : refs) {
      if (!ref.isDef) continue;
      if (ref.isGuarded || (written & ref.mask) != 0) return false;
      written |= ref.mask;
    }
    if ((liveIn & ~written) != 0) return false;
    std::vector<std::uint8_t> shifts;
    std::uint32_t done = 0, pending = 0;
    std::uint32_t node = ori::kNoId;
    for (const Ref& ref : refs) {
      if (ref.node != node) {
        done |= pending;
        pending = 0;
        node = ref.node;
      }
      const bool isNew = (ref.mask & done) != 0;
      if (!ref.isDef && isNew && (ref.mask & ~done) != 0) return false;
      if (!ref.isDef && (ref.mask & ~written) != 0) return false;
      if (ref.isDef) pending |= ref.mask;
      shifts.push_back(ref.isDef || isNew ? 1 : 0);
    }
    const std::uint32_t value = addValue(reg, Value::Kind::Carried, true, isLiveOut);
    for (std::size_t i = 0; i < refs.size(); ++i)
      refOf(refs[i].node, refs[i].slot) = {value, shifts[i]};
    return true;
  }

  // --- dependences

  void buildGraph() {
    for (const Instr* instr : body_.instrs) {
      const isa::LatencyClass c = isa::latencyClassOf(instr->op, instr->mods);
      body_.graph.add({target_.pipe(c) & (LoopGraph::kPipes - 1), target_.issueCycles(c)});
    }
    std::vector<std::vector<ValueTouch>> touches(body_.values.size());
    for (std::uint32_t n = 0; n < body_.instrs.size(); ++n) {
      const Instr& instr = *body_.instrs[n];
      forEachTouch(instr, [&](const isa::Touch& t) {
        const auto* operand = static_cast<const ori::Operand*>(t.operand);
        const ValueRef ref = refOf(n, operand == &instr.guard() ? -1 : static_cast<int>(operand - instr.operands));
        if (ref.value != ori::kNoId) touches[ref.value].push_back({n, ref.shift, t});
      });
    }
    for (std::uint32_t v = 0; v < touches.size(); ++v)
      connectValue(body_.values[v], touches[v]);
    connectMemory();
  }

  unsigned cycles(const isa::Touch& first, const isa::Touch& second) const {
    const bool isLateWrite = first.isDef && first.isLate;
    if (isLateWrite) return target_.expectedLatency(first.access.latencyClass);
    if (!first.isDef && first.isLate) return kLateRead;
    if (first.file == isa::File::B || first.access.latencyClass == isa::LatencyClass::None) return 1;
    const auto query = !first.isDef   ? &isa::Target::warLatency
                       : second.isDef ? &isa::Target::wawLatency
                                      : &isa::Target::rawLatency;
    return std::max<unsigned>(1, (target_.*query)(first.file, first.access, second.access).cycles);
  }

  void connectValue(const Value& value, const std::vector<ValueTouch>& touches) {
    const bool isInPlace = value.kind == Value::Kind::InPlace;
    for (const ValueTouch& a : touches)
      for (const ValueTouch& b : touches) {
        if (!a.touch.isDef && !b.touch.isDef) continue;
        if (a.touch.component != b.touch.component) continue;
        const auto latency = static_cast<int>(cycles(a.touch, b.touch));
        if (isInPlace) {
          if (a.node < b.node) body_.graph.connect({a.node, b.node, latency, 0});
          body_.graph.connect({a.node, b.node, latency, 1});
        } else if (a.shift > b.shift) {
          body_.graph.connect({a.node, b.node, latency, 1}); // the next iteration continues with the instance
        } else if (a.shift == b.shift && a.node < b.node) {
          body_.graph.connect({a.node, b.node, latency, 0});
        }
      }
  }

  // --- memory

  /// The amount that an iteration adds to an address register; nothing when it is not known.
  std::optional<std::int64_t> stepOf(std::uint32_t value) const {
    const Value& v = body_.values[value];
    if (v.kind != Value::Kind::Carried || function_.vreg(v.reg).width != 1) return std::nullopt;
    std::optional<std::int64_t> step;
    for (std::uint32_t n = 0; n < body_.instrs.size(); ++n) {
      const Instr& instr = *body_.instrs[n];
      for (unsigned i = 0; i < instr.operandCount; ++i) {
        const ValueRef ref = body_.refs[n][i + 1];
        if (!instr.op_(i).isDef || ref.value != value) continue;
        if (step || (instr.op != isa::Op::IADD3 && instr.op != isa::Op::UIADD3) || instr.isGuarded())
          return std::nullopt;
        step = sumOf(instr, n, value);
        if (!step) return std::nullopt;
      }
    }
    return step;
  }

  std::optional<std::int64_t> sumOf(const Instr& instr, std::uint32_t n, std::uint32_t value) const {
    std::int64_t sum = 0;
    unsigned own = 0;
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      const ori::Operand& o = instr.op_(i);
      if (o.isDef || o.isNone() || (o.isReg() && o.isZeroReg())) continue; // results and unused carries
      const ValueRef ref = body_.refs[n][i + 1];
      if (ref.value == value && ref.shift == 0 && !o.neg() && !o.inverted())
        ++own;
      else if (o.isImm())
        sum +=
            o.neg() ? -static_cast<std::int64_t>(static_cast<std::int32_t>(o.imm)) : static_cast<std::int32_t>(o.imm);
      else
        return std::nullopt;
    }
    return own == 1 ? std::optional(sum) : std::nullopt;
  }

  struct PlacedAccess {
    std::uint32_t node;
    MemoryAccess access;
    ValueRef base, uniformBase;
  };

  ValueRef refOfBase(std::uint32_t node, const isa::Operand& base) const {
    const Instr& instr = *body_.instrs[node];
    for (unsigned i = 0; i < instr.operandCount; ++i)
      if (!base.isNone() && !instr.op_(i).isDef && instr.op_(i).value() == base) return body_.refs[node][i + 1];
    return {};
  }

  /// Whether two accesses, the second of the iteration `distance` later, have the same base registers except for an
  /// offset of `shift` bytes, by which the second is higher.
  bool haveRelatedBases(const PlacedAccess& a, const PlacedAccess& b, int distance, std::int64_t& shift) const {
    shift = 0;
    const auto relate = [&](const isa::Operand& x, ValueRef rx, const isa::Operand& y, ValueRef ry) {
      if (x != y) return false;
      if (rx.value != ry.value) return false;
      if (x.isNone() || rx.value == ori::kNoId) return true; // the same in all iterations
      const int apart = static_cast<int>(ry.shift) - rx.shift + distance;
      if (body_.values[rx.value].kind == Value::Kind::InPlace) return false;
      if (apart == 0) return true;
      const std::optional<std::int64_t> step = steps_[rx.value];
      if (!step) return false;
      shift += apart * *step;
      return true;
    };
    return relate(a.access.base, a.base, b.access.base, b.base) &&
           relate(a.access.uniformBase, a.uniformBase, b.access.uniformBase, b.uniformBase);
  }

  void connectMemory() {
    std::vector<PlacedAccess> accesses;
    for (std::uint32_t n = 0; n < body_.instrs.size(); ++n) {
      const isa::InstrDesc& row = isa::desc(body_.instrs[n]->op);
      if (!row.has(Flag::Load) && !row.has(Flag::Store)) continue;
      PlacedAccess now{n, accessOf(*body_.instrs[n]), {}, {}};
      now.base = refOfBase(n, now.access.base);
      now.uniformBase = refOfBase(n, now.access.uniformBase);
      accesses.push_back(now);
    }
    for (std::uint32_t v = 0; v < body_.values.size(); ++v)
      steps_.push_back(stepOf(v));
    for (const PlacedAccess& a : accesses)
      for (const PlacedAccess& b : accesses)
        for (int distance = a.node < b.node ? 0 : 1; distance <= static_cast<int>(kMaxStages); ++distance) {
          std::int64_t shift = 0;
          const bool areRelated = haveRelatedBases(a, b, distance, shift);
          MemoryAccess moved = b.access;
          moved.offset += shift;
          if (!a.access.isStore && !b.access.isStore) break;
          if (!mustStayInOrder(a.access, moved, areRelated)) continue;
          body_.graph.connect({a.node, b.node, 1, distance});
          break; // yet later iterations are farther away
        }
  }

  ori::Function& function_;
  const LoopFacts& facts_;
  LoopBody& body_;
  const isa::Target& target_;
  std::vector<std::optional<std::int64_t>> steps_; // by value: the amount that an iteration adds
};

} // namespace

LoopBody findBody(ori::Function& function, const LoopFacts& facts, ori::LoopId loop, const isa::Target& target,
                  std::string& whyNot) {
  LoopBody body;
  const char* why = Finder(function, facts, body, target).run(facts.loops.loop(loop), loop);
  whyNot = why ? why : "";
  if (why) body.block = nullptr;
  return body;
}

} // namespace orias::phases::modulo
