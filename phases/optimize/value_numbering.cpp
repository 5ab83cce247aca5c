// Common subexpressions: scoped by the dominator tree, each value is identified by the first instruction that computed
// it.

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/fixed_registers.h"
#include "phases/optimize/cse_pressure.h"
#include "phases/optimize/pure.h"
#include "phases/optimize/rewriter.h"
#include "phases/optimize/word_key.h"
#include "phases/removable.h"
#include "support/arena.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

bool readsFixedRegister(const Instr& instr) {
  return ori::isFixedSpecialRead(instr);
}

bool isPure(const Instr& instr) {
  if (readsFixedRegister(instr)) return !instr.isGuarded();
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (Flag flag :
       {Flag::Load, Flag::Volatile, Flag::Convergent, Flag::Uniform, Flag::UniformGuard, Flag::Copy, Flag::Variadic})
    if (row.has(flag)) return false;
  return !instr.isGuarded() && isRemovable(instr) && instr.op != Op::UNDEF && instr.op != Op::B2R_RESULT;
}

unsigned interchangeable(const Instr& instr) {
  if (instr.op == Op::IADD3 || instr.op == Op::IADD3_X) return 3;
  return isa::desc(instr.op).has(Flag::Commutative) ? 2 : 0;
}

std::uint64_t resultMask(const Instr& instr) {
  std::uint64_t mask = 0;
  for (unsigned i = 0; i < instr.operandCount; ++i)
    if (const ori::Operand& o = instr.op_(i); o.isDef && o.isReg() && !o.isZeroReg()) mask |= std::uint64_t{1} << i;
  return mask;
}

namespace {

/// Registers that have become copies of other registers, and those registers.
using Copies = std::unordered_map<ori::VRegId, ori::VRegId>;

Operand withoutCopies(const Copies& copies, Operand o) {
  if (!o.isVirtual()) return o;
  if (const auto copy = copies.find(o.reg); copy != copies.end()) o.reg = copy->second;
  return o;
}

/// The comparison that is true if this one is false, for a single comparison of one predicate; otherwise the same
/// comparison. In both lists, opposites are at mirrored positions; for floating-point numbers the opposite is
/// unordered.
unsigned oppositeOf(const Rewriter& rw, const Instr& compare, unsigned comparison) {
  constexpr unsigned kOther = 4;
  if (compare.op != Op::ISETP && compare.op != Op::FSETP && compare.op != Op::DSETP) return comparison;
  if (!isUnused(compare.op_(1).value()) || isa::modAs<isa::BoolOp>(compare, Mod::Bool) != isa::BoolOp::AND ||
      rw.truthOf(compare.op_(kOther).value()) != true)
    return comparison;
  return (compare.op == Op::ISETP ? 7u : 15u) - comparison;
}

/// The modifiers; the same for a comparison and its opposite.
std::array<std::uint8_t, isa::kMaxMods> keyMods(const Rewriter& rw, const Instr& instr) {
  auto mods = instr.mods;
  if (isa::desc(instr.op).modIndex(Mod::Cmp) < 0) return mods;
  const unsigned comparison = isa::getMod(instr.op, mods, Mod::Cmp);
  isa::setMod(instr.op, mods, {Mod::Cmp, std::min(comparison, oppositeOf(rw, instr, comparison))});
  return mods;
}

/// Everything that determines the results; empty if an operand may change between two executions. A
/// comparison and its opposite have the same key.
void makeKey(const Rewriter& rw, const Copies& copies, const Instr& instr, KeyWords& key) {
  std::array<Operand, 3> unordered;
  const unsigned interchanged = interchangeable(instr);
  unsigned count = 0;
  key.clear();
  append(key, instr.op, keyMods(rw, instr));
  key.push_back(resultMask(instr));
  for (const ori::Operand& o : instr.ops()) {
    if (o.isDef) {
      if (o.isReg() && !o.isZeroReg() && (!o.isVirtual() || !rw.isSingle(o.reg))) return key.clear();
      continue;
    }
    const bool namesRegister = o.isReg() || (o.isConst() && o.reg != Operand::kNoReg);
    if (namesRegister && (!o.isReg() || !rw.isStable(o.value()))) return key.clear();
    const Operand source = withoutCopies(copies, o.value());
    if (count < interchanged)
      unordered[count++] = source;
    else
      append(key, source);
  }
  for (unsigned end = count; end > 1; --end) // two or three
    for (unsigned i = 1; i < end; ++i)
      if (unordered[i].bits() < unordered[i - 1].bits()) std::swap(unordered[i], unordered[i - 1]);
  for (unsigned i = 0; i < count; ++i)
    append(key, unordered[i]);
}

/// There are seven predicates: unless they are counted, they are not kept live across blocks.
bool definesPredicate(const Instr& instr) {
  for (const ori::Operand& o : instr.ops())
    if (o.isDef && o.isReg(File::P) && !o.isZeroReg()) return true;
  return false;
}

/// Whether one of two comparisons with the same key is the opposite of the other.
bool isOpposite(const Instr& a, const Instr& b) {
  return isa::desc(a.op).modIndex(Mod::Cmp) >= 0 &&
         isa::getMod(a.op, a.mods, Mod::Cmp) != isa::getMod(b.op, b.mods, Mod::Cmp);
}

/// Turns the results into copies of the earlier ones.
void replaceBy(ori::Function& function, Instr& instr, Instr& earlier) {
  const bool isInverted = isOpposite(instr, earlier);
  earlier.mayContract &= instr.mayContract;
  ori::Builder b = ori::Builder::before(function, &instr);
  b.setSource(instr.source);
  for (unsigned i = 0; i < instr.operandCount; ++i) {
    const ori::Operand& o = instr.op_(i);
    if (!o.isDef || !o.isReg() || o.isZeroReg()) continue;
    const Operand value = earlier.op_(i).value();
    b.copy(o.value(), isInverted ? value.notted() : value);
  }
  function.erase(&instr);
}

/// Records whole registers that are about to become copies of whole registers.
void noteCopies(const ori::Function& function, const Instr& instr, const Instr& earlier, Copies& copies) {
  const auto isWhole = [&](const ori::Operand& o) {
    return o.isVirtual() && o.sub == 0 && o.width == function.vreg(o.reg).width;
  };
  for (unsigned i = 0; i < instr.operandCount; ++i)
    if (const ori::Operand& o = instr.op_(i), &e = earlier.op_(i); o.isDef && o.isReg() && isWhole(o) && isWhole(e))
      copies.emplace(o.reg, e.reg);
}

} // namespace

bool numberValues(ori::Function& function, PhaseContext* context) {
  const Rewriter rw(function);
  const ori::Cfg& cfg = function.analyses().cfg();
  const ori::DomTree& tree = function.analyses().dominators();
  // In preorder: once a subtree is left, its values never dominate again.
  Arena keys;
  WordKeyMap<std::vector<Instr*>> known;
  KeyWords key;
  std::optional<CsePressure> pressure; // computed for the first pair, before anything changes
  const auto take = [&](Instr& earlier, Instr& later) {
    if (!context) return earlier.block == later.block || !definesPredicate(later);
    if (!pressure) pressure.emplace(function, cfg, *context);
    return pressure->take(earlier, later);
  };
  const bool followsCopies = context && context->knobs.get(Knob::CopyPropMcse) != 0;
  Copies copies;
  bool isChanged = false;
  for (ori::BlockId id : tree.preorder())
    function.forEachSafe(*function.block(id), [&](Instr& instr) {
      if (!isPure(instr)) return;
      makeKey(rw, copies, instr, key);
      if (key.empty()) return;
      auto entry = known.find(key);
      if (entry == known.end()) entry = known.try_emplace(keys.copyArray(WordKey(key))).first;
      std::vector<Instr*>& earlier = entry->second;
      while (!earlier.empty() && !tree.dominates(earlier.back()->block->id, id))
        earlier.pop_back();
      if (earlier.empty() || !take(*earlier.back(), instr)) {
        earlier.push_back(&instr);
        return;
      }
      if (followsCopies && !isOpposite(instr, *earlier.back())) noteCopies(function, instr, *earlier.back(), copies);
      replaceBy(function, instr, *earlier.back());
      isChanged = true;
    });
  if (pressure) pressure->verify();
  return isChanged;
}

} // namespace orias::phases
