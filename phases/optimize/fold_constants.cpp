// Constant folding. The values are computed by encoder/isa/semantics, which executes the same instructions in the
// emulator.

#include "encoder/isa/desc.h"
#include "encoder/isa/semantics/semantics.h"
#include "ori/builder.h"
#include "phases/optimize/rewriter.h"
#include "support/check.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// The only used result, if it is one word or a pair of a file that can hold constants; -1 otherwise.
int onlyResult(const Rewriter& rw, const Instr& instr) {
  int only = -1;
  for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
    const ori::Operand& o = instr.op_(slot);
    if (!o.isDef || isUnused(o.value())) continue;
    if (o.isVirtual() && !rw.function().hasUses(o.reg)) continue;
    const bool fits = (o.isReg(File::R) && o.width <= 2) || o.isReg(File::P);
    if (only >= 0 || !fits) return -1;
    only = static_cast<int>(slot);
  }
  return only;
}

Operand withoutModifiers(Operand o) {
  o.flags = static_cast<std::uint8_t>(o.flags & ~(Operand::kNeg | Operand::kAbs | Operand::kNot));
  o.half = Operand::Half::None;
  return o;
}

/// The bits of a source without its modifiers, which the semantics function applies.
std::optional<isa::LaneValue> valueOf(const Rewriter& rw, const isa::Inst& inst, unsigned slot) {
  if (inst.operands[slot].isNone()) return isa::LaneValue{};
  if (inst.operands[slot].isImm()) return isa::immediateValue(inst, slot);
  if (!inst.operands[slot].isReg()) return std::nullopt;
  const Operand plain = withoutModifiers(inst.operands[slot]);
  if (plain.file == File::P) {
    const std::optional<bool> truth = rw.truthOf(plain);
    if (truth) return isa::LaneValue::of(*truth ? 1 : 0);
    return std::nullopt;
  }
  if (plain.file == File::R && plain.isZeroReg()) return isa::LaneValue{};
  if (plain.file == File::R && plain.width == 2) {
    const auto low = rw.constantOf(ori::component(plain, 0)), high = rw.constantOf(ori::component(plain, 1));
    if (!low || !high) return std::nullopt;
    isa::LaneValue pair = isa::LaneValue::of(*low);
    pair.w[1] = *high;
    return pair;
  }
  if (const auto word = rw.constantOf(plain)) return isa::LaneValue::of(*word);
  return std::nullopt;
}

/// A source that is assumed to be a known word.
struct Assumption {
  unsigned slot;
  std::uint32_t word;
};

/// The results of the instruction if all sources are known.
std::optional<isa::LaneValues> evaluate(const Rewriter& rw, const Instr& instr, isa::LaneFunction function,
                                        std::optional<Assumption> assumption = std::nullopt) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  isa::Inst inst;
  inst.op = instr.op;
  inst.operandCount = static_cast<std::uint8_t>(instr.operandCount);
  std::copy_n(instr.mods.begin(), inst.mods.size(), inst.mods.begin());
  isa::LaneValues values{};
  for (unsigned slot = 0; slot < instr.operandCount; ++slot)
    inst.operands[slot] = instr.op_(slot).value();
  for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
    if (slot < row.slotCount && row.slots[slot].role == isa::Role::Def) continue;
    const bool isAssumed = assumption && assumption->slot == slot;
    const auto value = isAssumed ? isa::LaneValue::of(assumption->word) : valueOf(rw, inst, slot);
    if (!value) return std::nullopt;
    values[slot] = *value;
  }
  if (!isa::isFoldable(inst, values)) return std::nullopt;
  try {
    function(inst, values);
  } catch (const Error&) { // a use whose semantics are not known well enough
    return std::nullopt;
  }
  return values;
}

/// Whether every source may be known: all its registers come from moves. A quick test that excludes most instructions.
bool mayKnowSources(const Rewriter& rw, const Instr& instr) {
  return std::ranges::all_of(instr.ops(), [&](const ori::Operand& o) {
    if (o.isDef || o.isNone() || o.isImm()) return true;
    if (!o.isReg(File::R) && !o.isReg(File::P)) return false;
    if (o.isZeroReg()) return true;
    const Definition def = rw.definition(o.value());
    return def && (def.instr->op == Op::COPY || def.instr->op == Op::MOV);
  });
}

/// The function that computes an instruction without side effects; null for others.
isa::LaneFunction functionOf(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.has(isa::Flag::Copy) || row.has(isa::Flag::SideEffect)) return nullptr;
  return instr.operandCount < 2 ? nullptr : isa::laneFunction(instr.op); // UNDEF has no sources
}

bool foldKnown(Rewriter& rw, Instr& instr) {
  const isa::LaneFunction function = functionOf(instr);
  if (!function || !mayKnowSources(rw, instr)) return false;
  const int result = onlyResult(rw, instr);
  if (result < 0) return false;
  const auto values = evaluate(rw, instr, function);
  if (!values) return false;
  const auto slot = static_cast<unsigned>(result);
  const std::uint32_t word = (*values)[slot].w[0];
  if (instr.op_(slot).width == 2) {
    if (!instr.op_(slot).isVirtual() || instr.isGuarded()) return false;
    rw.becomePair(instr, slot, word, (*values)[slot].w[1]);
    return true;
  }
  const bool isPredicate = instr.op_(slot).isReg(File::P);
  const Operand truth = (word & 1) != 0 ? Operand::pt() : Operand::pt().notted();
  rw.becomeCopy(instr, isPredicate ? truth : Operand::immediate(static_cast<std::int32_t>(word)), slot);
  return true;
}

/// The select between two known words in the same block that computes a source.
Instr* knownChoice(const Rewriter& rw, const Instr& reader, unsigned slot) {
  const ori::Operand& source = reader.op_(slot);
  if (source.isDef || !rw.isFrom(Op::SEL, source) || !source.isReg(File::R) || source.width != 1) return nullptr;
  Instr* choice = rw.producer(withoutModifiers(source.value()), Op::SEL);
  if (!choice || choice->block != reader.block || !rw.isStable(choice->op_(3).value())) return nullptr;
  return rw.constantOf(choice->op_(1).value()) && rw.constantOf(choice->op_(2).value()) ? choice : nullptr;
}

/// If the only unknown source of an operation is a select between two known words, the operation becomes such a select.
/// A predicate result becomes the condition, or a constant.
bool foldThroughChoice(Rewriter& rw, Instr& instr) {
  if ((rw.kindsOfSources() & Rewriter::kChosen) == 0 || instr.isGuarded()) return false;
  const isa::LaneFunction function = functionOf(instr);
  if (!function) return false;
  for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
    const Instr* choice = knownChoice(rw, instr, slot);
    if (!choice) continue;
    const int only = onlyResult(rw, instr);
    if (only < 0) return false;
    const auto result = static_cast<unsigned>(only);
    if (instr.op_(result).width != 1) return false;
    const auto either = evaluate(rw, instr, function, Assumption{slot, *rw.constantOf(choice->op_(1).value())});
    const auto other = evaluate(rw, instr, function, Assumption{slot, *rw.constantOf(choice->op_(2).value())});
    if (!either || !other) continue;
    const std::uint32_t a = (*either)[result].w[0], b = (*other)[result].w[0];
    const Operand condition = choice->op_(3).value(), target = instr.op_(result).value();
    const auto word = [](std::uint32_t bits) { return Operand::immediate(static_cast<std::int32_t>(bits)); };
    if (target.isReg(File::P)) {
      const Operand known = (a & 1) != 0 ? Operand::pt() : Operand::pt().notted();
      rw.becomeCopy(instr, (a & 1) == (b & 1) ? known : (a & 1) != 0 ? condition : condition.notted(), result);
    } else if (a == b) {
      rw.becomeCopy(instr, word(a), result);
    } else if (a == 0) {
      rw.rewrite(instr, Op::SEL, {target, Operand::rz(), word(b), condition});
    } else if (b == 0) {
      rw.rewrite(instr, Op::SEL, {target, Operand::rz(), word(a), condition.notted()});
    } else {
      continue; // a select has room for one constant only
    }
    return true;
  }
  return false;
}

/// The result of comparing two words.
std::optional<bool> compares(const Instr& comparison, std::uint32_t a, std::uint32_t b) {
  const bool isUnsigned = isa::modAs<isa::IntType>(comparison, Mod::Type) == isa::IntType::U32;
  const auto value = [&](std::uint32_t word) {
    return isUnsigned ? std::int64_t{word} : std::int64_t{static_cast<std::int32_t>(word)};
  };
  switch (isa::modAs<isa::ICmp>(comparison, Mod::Cmp)) {
  case isa::ICmp::LT: return value(a) < value(b);
  case isa::ICmp::LE: return value(a) <= value(b);
  case isa::ICmp::GT: return value(a) > value(b);
  case isa::ICmp::GE: return value(a) >= value(b);
  case isa::ICmp::EQ: return a == b;
  case isa::ICmp::NE: return a != b;
  default: return std::nullopt;
  }
}

/// Whether this only compares a word with a known one.
bool isPlainTest(const Rewriter& rw, const Instr& instr) {
  return instr.op == Op::ISETP && !instr.isGuarded() && isUnused(instr.op_(1).value()) &&
         isa::modAs<isa::BoolOp>(instr, Mod::Bool) == isa::BoolOp::AND && instr.op_(4).value() == Operand::pt() &&
         rw.constantOf(instr.op_(3).value());
}

/// Whether all uses of the register are plain tests (isPlainTest) in the block.
bool hasOnlyTests(const Rewriter& rw, const Operand& value, const ori::Block* block) {
  bool areTests = true;
  rw.function().forEachUse(value.reg, [&](ori::Ref use) {
    const Instr& user = *use.owner;
    areTests &= user.block == block && isPlainTest(rw, user) && use.index() == 2;
  });
  return areTests;
}

/// The result of the comparison for a select between two known words, if it differs between them.
std::optional<Operand> testOfKnownChoice(const Rewriter& rw, const Instr& test, const Operand& value,
                                         std::uint32_t limit) {
  const Instr* choice = rw.producer(value, Op::SEL);
  if (!choice || choice->isGuarded()) return std::nullopt;
  const auto a = rw.constantOf(choice->op_(1).value()), b = rw.constantOf(choice->op_(2).value());
  const Operand condition = choice->op_(3).value();
  if (!a || !b || !condition.isReg(File::P) || !condition.isVirtual() || !rw.isStable(condition)) return std::nullopt;
  const auto first = compares(test, *a, limit), second = compares(test, *b, limit);
  if (!first || !second || *first == *second) return std::nullopt;
  return *first ? condition : condition.notted();
}

/// A test of a select between a known word and another value becomes a test of the other value, combined with the
/// condition: with `x = p ? a : 2`, x == 1 is p && a == 1, and x == 2 is !p || a == 2. The select may then become dead.
bool foldTestOfChoice(Rewriter& rw, Instr& instr) {
  if ((rw.kindsOfSources() & Rewriter::kChosen) == 0 || !isPlainTest(rw, instr)) return false;
  const Operand tested = instr.op_(2).value();
  if (!tested.isReg(File::R) || tested.width != 1 || tested != withoutModifiers(tested)) return false;
  const Instr* choice = rw.producer(tested, Op::SEL);
  if (!choice || choice->isGuarded() || choice->block != instr.block) return false;
  const Operand condition = choice->op_(3).value();
  if (!condition.isReg(File::P) || !condition.isVirtual() || !rw.isStable(condition)) return false;
  const std::uint32_t limit = *rw.constantOf(instr.op_(3).value());
  for (const unsigned known : {1u, 2u}) {
    const auto word = rw.constantOf(choice->op_(known).value());
    const Operand other = choice->op_(3 - known).value();
    if (!word || !other.isReg(File::R) || !other.isVirtual() || other.width != 1 || !rw.isStable(other)) continue;
    if (other != withoutModifiers(other) || rw.constantOf(other)) continue;
    const auto truth = compares(instr, *word, limit);
    if (!truth || !hasOnlyTests(rw, tested, instr.block)) return false;
    const Operand takesOther = known == 1 ? condition.notted() : condition;
    const Operand result = instr.op_(0).value(), joined = *truth ? takesOther.notted() : takesOther;
    const isa::BoolOp op = *truth ? isa::BoolOp::OR : isa::BoolOp::AND;
    if (const auto inner = testOfKnownChoice(rw, instr, other, limit)) {
      constexpr std::int32_t kAnd = 0xc0, kOr = 0xfc; // tables of the first two inputs
      rw.rewrite(instr, Op::PLOP3,
                 {result, Operand::pt(), *inner, joined, Operand::pt(), Operand::immediate(*truth ? kOr : kAnd),
                  Operand::immediate(0)});
      return true;
    }
    rw.rewrite(instr, Op::ISETP, {result, Operand::pt(), other, instr.op_(3).value(), joined},
               {{Mod::Cmp, isa::modAs<isa::ICmp>(instr, Mod::Cmp)},
                {Mod::Type, isa::modAs<isa::IntType>(instr, Mod::Type)},
                {Mod::Bool, op}});
    return true;
  }
  return false;
}

/// A sum of known words and an unknown carry becomes a select between two words; its carry-out is the carry, or known.
bool foldThroughCarry(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::IADD3_X || instr.isGuarded()) return false;
  const int only = onlyResult(rw, instr);
  if (only < 0) return false;
  const auto result = static_cast<unsigned>(only);
  for (unsigned slot : {6u, 7u}) {
    const Operand carry = instr.op_(slot).value();
    if (!carry.isVirtual() || !rw.isStable(carry)) continue;
    // The modifier of the carry is applied to the assumed value.
    const isa::LaneFunction function = isa::laneFunction(instr.op);
    const auto set = evaluate(rw, instr, function, Assumption{slot, carry.inverted() ? 0u : 1u});
    const auto clear = evaluate(rw, instr, function, Assumption{slot, carry.inverted() ? 1u : 0u});
    if (!set || !clear) continue;
    const std::uint32_t a = (*set)[result].w[0], b = (*clear)[result].w[0];
    const Operand target = instr.op_(result).value();
    const auto word = [](std::uint32_t bits) { return Operand::immediate(static_cast<std::int32_t>(bits)); };
    if (target.isReg(File::P)) {
      const Operand known = (a & 1) != 0 ? Operand::pt() : Operand::pt().notted();
      rw.becomeCopy(instr, (a & 1) == (b & 1) ? known : (a & 1) != 0 ? carry : carry.notted(), result);
    } else if (a == 0) {
      rw.rewrite(instr, Op::SEL, {target, Operand::rz(), word(b), carry});
    } else if (b == 0) {
      rw.rewrite(instr, Op::SEL, {target, Operand::rz(), word(a), carry.notted()});
    } else {
      continue;
    }
    return true;
  }
  return false;
}

/// A select with a known condition, or between two equal values.
bool foldSelect(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::SEL) return false;
  const Operand a = instr.op_(1).value(), b = instr.op_(2).value();
  const auto which = rw.truthOf(instr.op_(3).value());
  if (!which && a != b) return false;
  const Operand& chosen = !which || *which ? a : b;
  if (chosen.isReg() ? !rw.isStable(chosen) : !(chosen.isImm() || chosen.isConst())) return false;
  rw.becomeCopy(instr, chosen);
  return true;
}

/// The constant in a uniform register that comes from the lanes or from a move.
std::optional<std::uint32_t> uniformConstant(const Rewriter& rw, const Operand& o) {
  if (o.isZeroReg()) return 0u;
  const Definition def = rw.definition(o);
  if (!def) return std::nullopt;
  if (def.instr->op == Op::UMOV && def.instr->op_(1).isImm()) return static_cast<std::uint32_t>(def.instr->op_(1).imm);
  return def.instr->op == Op::R2UR ? rw.constantOf(def.instr->op_(2).value()) : std::nullopt;
}

/// Folds a known value that is moved from the lanes to the warp, and the test whether it is zero.
bool foldUniform(Rewriter& rw, Instr& instr) {
  if (instr.op == Op::R2UR && isUnused(instr.op_(0).value())) {
    // In SSA form the result is undefined where the guard is false.
    if (instr.isGuarded() && (!rw.function().ssa || !rw.isSingle(instr.op_(1).reg))) return false;
    const auto known = rw.constantOf(instr.op_(2).value());
    if (!known) return false;
    rw.setGuard(instr, Operand::pt());
    rw.rewrite(instr, Op::UMOV, {instr.op_(1).value(), Operand::immediate(static_cast<std::int32_t>(*known))});
    return true;
  }
  if (instr.isGuarded() || instr.op != Op::UISETP || !isUnused(instr.op_(1).value())) return false;
  const auto comparison = isa::modAs<isa::ICmp>(instr, Mod::Cmp);
  const Operand always = instr.op_(4).value(), zero = instr.op_(3).value();
  const bool isPlain = isa::modAs<isa::BoolOp>(instr, Mod::Bool) == isa::BoolOp::AND && always.isZeroReg() &&
                       !always.inverted() && zero.isReg(File::UR) && zero.isZeroReg();
  if (!isPlain || (comparison != isa::ICmp::NE && comparison != isa::ICmp::EQ)) return false;
  const auto known = uniformConstant(rw, instr.op_(2).value());
  if (!known) return false;
  const Operand yes = Operand::zero(File::UP);
  rw.becomeCopy(instr, (*known == 0) == (comparison == isa::ICmp::EQ) ? yes : yes.notted());
  return true;
}

} // namespace

bool foldConstants(Rewriter& rw, Instr& instr) {
  return foldKnown(rw, instr) || foldThroughChoice(rw, instr) || foldTestOfChoice(rw, instr) ||
         foldThroughCarry(rw, instr) || foldSelect(rw, instr) || foldUniform(rw, instr);
}

} // namespace orias::phases
