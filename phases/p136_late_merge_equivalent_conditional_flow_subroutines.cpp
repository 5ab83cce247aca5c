// Second part of phase 136: the slow paths of divisions and roots, each of which has its own copy in a cold block,
// become subroutines, as in ptxas' code ($__internal_0_$__cuda_sm20_div_rn_f64_full and others).
//
// Registers have been allocated as if each slow path stayed inline, so the fast paths do not get worse. A block's
// meaning is written without registers: each operand is the result of an instruction of the block, or one of its
// inputs. Blocks with the same meaning can share the code of the first of them, in registers in which none of the
// blocks has a value live across. A caller moves its inputs there, sets the return address, and moves the results from
// there.

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/call_abi.h"
#include "ori/cfg_edit.h"
#include "ori/module.h"
#include "ori/setmaxnreg.h"
#include "phases/occupancy.h"
#include "phases/p136_late_merge_equivalent_conditional_flow.h"
#include "phases/tail_merge.h"
#include "regalloc/calls.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace orias::phases {

namespace {

using isa::File;
using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::Instr;

constexpr unsigned kRegisters = 256;
constexpr std::uint32_t kNowhere = ~0u;
using Registers = std::bitset<kRegisters>;

/// Registers of the files that a subroutine may write.
struct Used {
  Registers r, p;
  Registers& of(File file) { return file == File::R ? r : p; }
  const Registers& of(File file) const { return file == File::R ? r : p; }
};

bool isOwn(const Operand& o) {
  return (o.isReg(File::R) || o.isReg(File::P)) && !o.isZeroReg();
}

/// The computation of a block.
struct Work {
  Block* block = nullptr;
  std::vector<std::uint64_t> meaning;         ///< equal for blocks with the same computation
  std::vector<std::uint32_t> inputs, results; ///< of file R, in the order of the meaning
  Used kept;                                  ///< live across the block
  unsigned size = 0;                          ///< instructions
};

/// Derives the meaning of a block.
class Reader {
 public:
  Reader(const ori::Liveness& liveness, Block* block) : liveness_(liveness) { work_.block = block; }

  std::optional<Work> read() {
    for (const Instr& instr : *work_.block)
      if (!ori::isTerminator(instr.op) && !add(instr)) return std::nullopt;
    work_.size = static_cast<unsigned>(nodes_.size());
    putInOrder();
    if (!addResults()) return std::nullopt;
    return std::move(work_);
  }

 private:
  /// Identifies an instruction of the block, its operand and the word of it; or, with the highest bit, a register from
  /// outside.
  using Value = std::uint64_t;
  static constexpr Value kOutside = Value{1} << 63;
  static constexpr unsigned kNodeShift = 16;

  struct Node {
    std::vector<std::uint64_t> text; ///< everything but the registers
    std::vector<Value> reads;
  };

  static bool isPure(const Instr& instr) {
    const isa::InstrDesc& row = isa::desc(instr.op);
    for (Flag flag : {Flag::Load, Flag::Store, Flag::Atomic, Flag::Volatile, Flag::SideEffect, Flag::Varying,
                      Flag::Uniform, Flag::UniformGuard, Flag::Variadic})
      if (row.has(flag)) return false;
    return mayBeShared(instr);
  }

  /// The value in a register at this point.
  Value& known(File file, std::uint32_t reg) { return values_[file == File::R ? reg : kRegisters + reg]; }

  bool addUse(Node& node, File file, std::uint32_t reg) {
    const Value value = known(file, reg);
    node.reads.push_back(value);
    return (value & kOutside) == 0 || file == File::R; // predicates cannot be moved in
  }

  bool addOperand(Node& node, const ori::Operand& o) {
    Operand plain = o.value();
    plain.flags = static_cast<std::uint8_t>(plain.flags & ~(Operand::kReuse | Operand::kLastUse));
    const bool isOwned = isOwn(plain);
    if (isOwned) plain.reg = 0;
    const auto bits = plain.bits();
    node.text.insert(node.text.end(), bits.begin(), bits.end());
    if (o.isDef) return isOwned || !o.isReg() || o.isZeroReg();
    for (unsigned w = 0; isOwned && w < o.width; ++w)
      if (!addUse(node, o.file, o.reg + w)) return false;
    return true;
  }

  bool add(const Instr& instr) {
    if (!isPure(instr)) return false;
    const std::uint64_t number = nodes_.size();
    Node& node = nodes_.emplace_back();
    node.text = {static_cast<std::uint64_t>(instr.op), instr.operandCount, instr.mayContract};
    node.text.insert(node.text.end(), instr.mods.begin(), instr.mods.end());
    for (const ori::Operand& o : instr.refs())
      if (!addOperand(node, o)) return false;
    for (unsigned i = 0; i < instr.operandCount; ++i) {
      const ori::Operand& o = instr.op_(i);
      if (!o.isDef || !isOwn(o.value())) continue;
      constexpr unsigned kWidest = 2; // wider ones would need more care below
      if (o.width > kWidest) return false;
      for (unsigned w = 0; w < o.width; ++w) {
        // Where its guard does not hold, a guarded instruction keeps the old value, so it counts as a reader.
        if (instr.isGuarded() && !addUse(node, o.file, o.reg + w)) return false;
        known(o.file, o.reg + w) = number << kNodeShift | i << 8 | w;
        isWritten_.of(o.file).set(o.reg + w);
      }
    }
    return true;
  }

  /// Returns the text with the operands by their position in the order, or among the inputs. All new inputs are alike.
  std::vector<std::uint64_t> written(const Node& node) const {
    std::vector<std::uint64_t> words = node.text;
    for (const Value value : node.reads)
      words.push_back(placed(value));
    return words;
  }
  Value placed(Value value) const {
    if ((value & kOutside) == 0) {
      const std::uint64_t part = value & ((Value{1} << kNodeShift) - 1);
      return std::uint64_t{place_[value >> kNodeShift]} << kNodeShift | part;
    }
    const auto at = std::find(work_.inputs.begin(), work_.inputs.end(), static_cast<std::uint32_t>(value));
    return kOutside | static_cast<Value>(at - work_.inputs.begin());
  }
  bool isReady(const Node& node) const {
    return std::all_of(node.reads.begin(), node.reads.end(),
                       [&](Value v) { return (v & kOutside) != 0 || place_[v >> kNodeShift] != kNowhere; });
  }

  /// Blocks with the same computation may be scheduled differently. The next instruction is the one with the least text
  /// among those whose operands are available; only for equal text does the order in the block matter.
  void putInOrder() {
    place_.assign(nodes_.size(), kNowhere);
    std::vector<std::uint32_t> ready;
    std::vector<bool> isListed(nodes_.size(), false);
    for (std::uint32_t next = 0; next < nodes_.size(); ++next) {
      for (std::uint32_t n = 0; n < nodes_.size(); ++n)
        if (!isListed[n] && isReady(nodes_[n])) {
          isListed[n] = true;
          ready.push_back(n);
        }
      std::size_t best = 0;
      std::vector<std::uint64_t> least = written(nodes_[ready[0]]);
      for (std::size_t i = 1; i < ready.size(); ++i) {
        std::vector<std::uint64_t> words = written(nodes_[ready[i]]);
        if (std::tie(words, ready[i]) >= std::tie(least, ready[best])) continue;
        least = std::move(words);
        best = i;
      }
      const Node& node = nodes_[ready[best]];
      for (const Value value : node.reads) {
        const auto reg = static_cast<std::uint32_t>(value);
        const bool isNew = std::find(work_.inputs.begin(), work_.inputs.end(), reg) == work_.inputs.end();
        if ((value & kOutside) != 0 && isNew) work_.inputs.push_back(reg);
      }
      least = written(node); // its inputs have numbers now
      work_.meaning.insert(work_.meaning.end(), least.begin(), least.end());
      place_[ready[best]] = next;
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(best));
    }
  }

  bool addResults() {
    std::vector<std::pair<Value, std::uint32_t>> results;
    bool isFit = true;
    const ori::Components& components = liveness_.components();
    liveness_.liveOut(work_.block->id).forEach([&](ori::CompId c) {
      const File file = components.file(c);
      if (file != File::R && file != File::P) return;
      const std::uint32_t reg = components.physicalNumber(c);
      if (!isWritten_.of(file).test(reg)) {
        work_.kept.of(file).set(reg);
        return;
      }
      isFit &= file == File::R;
      results.emplace_back(placed(known(file, reg)), reg);
    });
    std::sort(results.begin(), results.end());
    for (const auto& [value, reg] : results) {
      work_.meaning.push_back(value);
      work_.results.push_back(reg);
    }
    return isFit;
  }

  static std::array<Value, 2 * kRegisters> registersFromOutside() {
    std::array<Value, 2 * kRegisters> values{};
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = kOutside | i % kRegisters;
    return values;
  }

  const ori::Liveness& liveness_;
  Work work_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> place_; ///< of each node in the order
  std::array<Value, 2 * kRegisters> values_ = registersFromOutside();
  Used isWritten_;
};

/// The subroutine's registers for those of its pattern.
struct Places {
  std::array<std::uint32_t, kRegisters> r{}, p{};
  std::uint32_t returnPair = kNowhere;
  std::uint32_t scratch = kNowhere; ///< for chips that must compute the return address
  std::uint32_t last = 0;           ///< the highest of file R

  std::uint32_t of(File file, std::uint32_t reg) const { return file == File::R ? r[reg] : p[reg]; }
};

/// The registers that a block uses, pairs by their first.
struct Named {
  Used singles, pairs;
};

Named namesOf(const Block& block) {
  Named named;
  for (const Instr& instr : block)
    for (const ori::Operand& o : instr.refs())
      if (isOwn(o.value())) (o.width == 2 ? named.pairs : named.singles).of(o.file).set(o.reg);
  for (std::uint32_t reg = 0; reg + 1 < kRegisters; ++reg)
    if (named.pairs.r.test(reg)) {
      named.singles.r.reset(reg);
      named.singles.r.reset(reg + 1);
    }
  return named;
}

/// Blocks that call one subroutine.
struct Group {
  std::vector<const Work*> callers; ///< the first is the pattern
  Used kept;                        ///< by any of them
  Registers ends;                   ///< inputs and results of all of them
  Places places;
};

class Sharer {
 public:
  Sharer(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), hasOwnPlaces_(context.target.has(isa::Capability::LabelAddresses)) {}

  bool run() {
    const std::vector<Work> works = collect();
    if (works.size() < 2) return false;
    findUsable();
    std::map<std::vector<std::uint64_t>, std::vector<const Work*>> byMeaning;
    for (const Work& work : works)
      byMeaning[work.meaning].push_back(&work);
    bool changed = false;
    // In layout order, for determinism.
    for (const Work& work : works) {
      std::vector<const Work*>& alike = byMeaning[work.meaning];
      if (alike.empty() || alike.front() != &work) continue;
      for (const Group& group : groupsOf(alike))
        changed |= shareAmong(group);
    }
    return changed;
  }

 private:
  std::vector<Work> collect() const {
    std::vector<Block*> candidates;
    for (Block* block : function_.layout()) {
      if (!block->isCold || block->empty()) continue;
      const Instr* branch = ori::plainBranch(*block);
      const bool goesOn = branch ? !branch->isGuarded() : !ori::isTerminator(block->last->op);
      if (goesOn) candidates.push_back(block);
    }
    std::vector<Work> works;
    if (candidates.size() < 2) return works;
    const ori::Liveness& liveness = function_.analyses().liveness();
    for (Block* block : candidates)
      if (auto work = Reader(liveness, block).read()) works.push_back(std::move(*work));
    return works;
  }

  /// Finds the registers that the kernel's threads have in any case, except the stack pointer.
  void findUsable() {
    const unsigned reserved = context_.target.reservedRegisters();
    const unsigned most = registersUpToCliff(function_, function_.stats.registers - reserved, context_);
    for (unsigned r = 0; r < most; ++r)
      usable_.r.set(r);
    usable_.r.reset(ori::kStackPointer);
    for (unsigned p = 0; p < isa::kPT; ++p)
      usable_.p.set(p);
  }

  /// As few subroutines as registers allow, each for the blocks that come first.
  std::vector<Group> groupsOf(const std::vector<const Work*>& alike) const {
    std::vector<Group> groups;
    for (const Work* work : alike) {
      const auto joins = [&](Group& group) {
        Group larger = group;
        larger.callers.push_back(work);
        larger.kept.r |= work->kept.r;
        larger.kept.p |= work->kept.p;
        for (const auto* ends : {&work->inputs, &work->results})
          for (std::uint32_t reg : *ends)
            larger.ends.set(reg);
        if (!findPlaces(larger)) return false;
        group = std::move(larger);
        return true;
      };
      if (std::any_of(groups.begin(), groups.end(), joins)) continue;
      Group fresh;
      if (joins(fresh)) groups.push_back(std::move(fresh));
    }
    return groups;
  }

  /// Keeps the pattern's registers where possible.
  bool findPlaces(Group& group) const {
    const Named named = namesOf(*group.callers.front()->block);
    Places& places = group.places;
    places = {};
    Used free;
    free.r = usable_.r & ~group.kept.r;
    free.p = usable_.p & ~group.kept.p;
    const auto take = [&](File file, std::uint32_t reg, unsigned width) {
      Registers& left = free.of(file);
      const auto fits = [&](std::uint32_t at) {
        return left.test(at) && (width == 1 || (at + 1 < kRegisters && left.test(at + 1)));
      };
      std::uint32_t at = reg;
      if (at == kNowhere || !fits(at))
        for (at = 0; at < kRegisters && !fits(at); at += width) {
        }
      if (at >= kRegisters) return kNowhere;
      for (unsigned w = 0; w < width; ++w)
        left.reset(at + w);
      if (file == File::R) places.last = std::max(places.last, at + width - 1);
      return at;
    };
    for (const unsigned width : {2u, 1u})
      for (const File file : {File::R, File::P}) {
        const Registers& wanted = (width == 2 ? named.pairs : named.singles).of(file);
        for (std::uint32_t reg = 0; reg < kRegisters; ++reg) {
          if (!wanted.test(reg)) continue;
          const std::uint32_t at = take(file, reg, width);
          if (at == kNowhere) return false;
          auto& map = file == File::R ? places.r : places.p;
          for (unsigned w = 0; w < width; ++w)
            map[reg + w] = at + w;
        }
      }
    // The moves into and out of the subroutine must not overwrite these.
    free.r &= ~group.ends;
    places.returnPair = take(File::R, kNowhere, 2);
    places.scratch = hasOwnPlaces_ ? kNowhere : take(File::R, kNowhere, 1);
    return places.returnPair != kNowhere && (hasOwnPlaces_ || places.scratch != kNowhere);
  }

  std::vector<regalloc::Move> movesIn(const Group& group, const Work& caller) const {
    std::vector<regalloc::Move> moves;
    const Work& pattern = *group.callers.front();
    for (std::size_t i = 0; i < caller.inputs.size(); ++i)
      moves.push_back({group.places.r[pattern.inputs[i]], Operand::physical(File::R, caller.inputs[i])});
    return moves;
  }
  std::vector<regalloc::Move> movesOut(const Group& group, const Work& caller) const {
    std::vector<regalloc::Move> moves;
    const Work& pattern = *group.callers.front();
    for (std::size_t i = 0; i < caller.results.size(); ++i)
      moves.push_back({caller.results[i], Operand::physical(File::R, group.places.r[pattern.results[i]])});
    return moves;
  }

  /// Returns the number of instructions saved.
  int gain(const Group& group) const {
    const auto isReal = [](const regalloc::Move& m) { return m.to != m.from.reg; };
    const int size = static_cast<int>(group.callers.front()->size);
    int gained = -(size + 1);
    for (const Work* caller : group.callers) {
      const auto in = movesIn(group, *caller), out = movesOut(group, *caller);
      const auto moves = std::count_if(in.begin(), in.end(), isReal) + std::count_if(out.begin(), out.end(), isReal);
      gained += size - static_cast<int>(moves) - (hasOwnPlaces_ ? 2 : 4);
    }
    return gained;
  }

  bool shareAmong(const Group& group) {
    if (group.callers.size() < 2) return false;
    const int gained = gain(group);
    const Instr* first = group.callers.front()->block->first;
    if (gained < static_cast<int>(context_.knobs.get(Knob::SubroutineMinGain))) {
      context_.remarks.missed(
          first, fmt::format("not outlined: {} cold blocks save {} instructions", group.callers.size(), gained),
          gained);
      return false;
    }
    context_.remarks.applied(first, fmt::format("outlined {} cold blocks to a subroutine", group.callers.size()),
                             gained);
    Block* body = function_.newBlock();
    body->isCold = true;
    const unsigned registers = group.places.last + 1 + context_.target.reservedRegisters();
    function_.stats.registers = std::max(function_.stats.registers, registers);
    moveBody(group, body);
    std::vector<Operand> places;
    for (const Work* caller : group.callers)
      places.push_back(Operand::label(emitCall(group, *caller, body)->id));
    ori::Builder b(function_, body);
    b.setSource(body->first->source);
    Instr* end = b.emit(Op::RET, {Operand::pt(), Operand::physical(File::R, group.places.returnPair, 2), nowhere()},
                        {{isa::Mod::Sub, 1}}); // ABS
    function_.addOperands(end, places);
    return true;
  }

  /// RET adds the address of a symbol; this operand has none.
  static Operand nowhere() {
    Operand none;
    none.kind = Operand::Kind::Symbol;
    return none;
  }

  void moveBody(const Group& group, Block* body) {
    function_.forEachSafe(*group.callers.front()->block, [&](Instr& instr) {
      if (ori::isTerminator(instr.op)) return;
      function_.unlink(&instr);
      function_.append(body, &instr);
      const auto renamed = [&](Operand o) {
        o.reg = group.places.of(o.file, o.reg);
        return o;
      };
      for (unsigned i = 0; i < instr.operandCount; ++i)
        if (const Operand o = instr.op_(i).value(); isOwn(o)) function_.setOperand(&instr, i, renamed(o));
      if (const Operand guard = instr.guard().value(); isOwn(guard)) function_.setGuard(&instr, renamed(guard));
    });
  }

  /// Replaces the block's computation by a call. Returns the block where the subroutine returns.
  Block* emitCall(const Group& group, const Work& caller, const Block* body) {
    Block* block = caller.block;
    // The pattern is empty then if it continues without a branch.
    const ori::Source source = (block->first ? block->first : body->first)->source;
    function_.forEachSafe(*block, [&](Instr& instr) {
      if (!ori::isTerminator(instr.op)) function_.erase(&instr);
    });
    ori::Builder b = block->first ? ori::Builder::before(function_, block->first) : ori::Builder(function_, block);
    b.setSource(source);
    regalloc::emitMoves(b, movesIn(group, caller), group.places.returnPair);
    Instr* call = b.emit(Op::CALL_REL, {Operand::pt(), Operand::label(body->id)});
    Block* after = regalloc::emitReturnAddress(function_, call, group.places.returnPair, group.places.scratch);
    b = after->first ? ori::Builder::before(function_, after->first) : ori::Builder(function_, after);
    b.setSource(source);
    regalloc::emitMoves(b, movesOut(group, caller), group.places.returnPair);
    return after;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const bool hasOwnPlaces_; ///< LEPC can return other addresses than its own
  Used usable_;
};

} // namespace

bool outlineColdBlocks(ori::Function& function, PhaseContext& context) {
  // Only in kernels, where values in registers at the end are unused. A subroutine has the registers that all its
  // callers have.
  return function.isKernel() && !ori::hasRegisterRequests(function) && Sharer(function, context).run();
}

} // namespace orias::phases
