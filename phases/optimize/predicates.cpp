// Combines comparisons with the logic on their results: (a < b) and q is one instruction. Logic can itself test whether
// its result is zero.

#include "encoder/isa/desc.h"
#include "phases/optimize/lut.h"
#include "phases/optimize/rewriter.h"

namespace orias::phases {

using isa::BoolOp;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr unsigned kFirstSource = 2; ///< of a comparison: Ra, Rb, Pp; of a PLOP3: Pp, Pq, Pr
constexpr unsigned kLowResult = 5;   ///< of an ISETP.EX: the comparison of the low words

/// (a ^ invertA) op (b ^ invertB), for a table of two inputs: bit (a << 1 | b) is the result.
struct Connection {
  BoolOp op;
  bool invertA, invertB;
};
std::optional<Connection> connectionOf(unsigned table) {
  for (const BoolOp op : {BoolOp::AND, BoolOp::OR, BoolOp::XOR})
    for (unsigned invert = 0; invert < 4; ++invert) {
      const bool invertA = invert & 1, invertB = invert & 2;
      unsigned got = 0;
      for (unsigned row = 0; row < 4; ++row) {
        const bool a = ((row & 2) != 0) != invertA, b = ((row & 1) != 0) != invertB;
        const bool result = op == BoolOp::AND ? a && b : op == BoolOp::OR ? a || b : a != b;
        got |= static_cast<unsigned>(result) << row;
      }
      if (got == table) return Connection{op, invertA, invertB};
    }
  return std::nullopt;
}

/// A comparison in the same block that has no other result, and whose result has no other use.
Instr* loneComparison(const Rewriter& rw, const Instr& reader, const Operand& truth) {
  for (const Op op : {Op::ISETP, Op::ISETP_EX, Op::FSETP, Op::DSETP}) {
    Instr* compare = rw.producer(truth, op);
    if (!compare || compare->block != reader.block || !rw.hasOneUse(truth)) continue;
    const Operand other = compare->op_(4).value();
    if (!isUnused(compare->op_(1).value()) || !other.isZeroReg() || other.inverted()) return nullptr;
    if (isa::modAs<BoolOp>(*compare, Mod::Bool) != BoolOp::AND) return nullptr;
    for (unsigned i = kFirstSource; i < 4; ++i)
      if (const Operand o = compare->op_(i).value(); o.isReg() && !rw.isStable(o)) return nullptr;
    if (op == Op::ISETP_EX && !rw.isStable(compare->op_(kLowResult).value())) return nullptr;
    return compare;
  }
  return nullptr;
}

/// The comparison that is true if this one is false. In both lists, opposites are at mirrored positions; for
/// floating-point numbers the opposite is unordered.
unsigned opposite(Op op, unsigned comparison) {
  return (op == Op::ISETP || op == Op::ISETP_EX ? 7u : 15u) - comparison;
}

/// The register that an ISETP compares with zero for equality, without another condition.
std::optional<Operand> testedForZero(const Rewriter& rw, const Instr& instr) {
  if (instr.op != Op::ISETP || !isUnused(instr.op_(1).value())) return std::nullopt;
  const auto comparison = isa::modAs<isa::ICmp>(instr, Mod::Cmp);
  if (comparison != isa::ICmp::EQ && comparison != isa::ICmp::NE) return std::nullopt;
  if (isa::modAs<BoolOp>(instr, Mod::Bool) != BoolOp::AND || rw.truthOf(instr.op_(4).value()) != true)
    return std::nullopt;
  for (unsigned i = kFirstSource; i < 4; ++i) {
    const Operand value = instr.op_(i).value(), other = instr.op_(5 - i).value();
    if (rw.constantOf(other) == 0u && value.isReg(isa::File::R) && value.isVirtual() && !value.neg()) return value;
  }
  return std::nullopt;
}

/// Whether the predicate use can be inverted in place.
bool canInvert(ori::Ref use) {
  if (use.isGuard()) return true;
  const isa::InstrDesc& row = isa::desc(use.owner->op);
  return !row.isPseudo() && use.index() < row.slotCount && row.slots[use.index()].canNot;
}

void invertUses(Rewriter& rw, const Operand& truth) {
  std::vector<ori::Ref> uses;
  rw.function().forEachUse(truth.reg, [&](ori::Ref use) { uses.push_back(use); });
  for (const ori::Ref use : uses)
    if (use.isGuard())
      rw.setGuard(*use.owner, use->value().notted());
    else
      rw.setOperand(*use.owner, use.index(), use->value().notted());
}

} // namespace

/// Combines a LOP3 with the only use of its result, a comparison with zero.
bool combineTest(Rewriter& rw, Instr& instr) {
  const auto value = testedForZero(rw, instr);
  if (!value || !rw.hasOneUse(*value)) return false;
  const Instr* logic = rw.producer(*value, Op::LOP3, 1);
  if (!logic || logic->block != instr.block || !isUnused(logic->op_(0).value())) return false;
  for (unsigned i = 2; i < 5; ++i)
    if (const Operand o = logic->op_(i).value(); o.isReg() && !rw.isStable(o)) return false;
  const Operand truth = instr.op_(0).value();
  const bool isZeroWanted = isa::modAs<isa::ICmp>(instr, Mod::Cmp) == isa::ICmp::EQ;
  if (isZeroWanted) {
    bool canAll = truth.isVirtual() && rw.isSingle(truth.reg) && !instr.isGuarded();
    rw.function().forEachUse(truth.reg, [&](ori::Ref use) { canAll = canAll && canInvert(use); });
    if (!canAll) return false;
  }
  const auto source = [&](unsigned i) { return logic->op_(i).value(); };
  rw.rewrite(instr, Op::LOP3,
             {truth, Operand::rz(), source(2), source(3), source(4), source(5), Operand::pt().notted()});
  if (isZeroWanted) invertUses(rw, truth);
  return true;
}

bool combinePredicates(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::PLOP3 || !isUnused(instr.op_(1).value())) return false;
  const auto inputs = lutInputs(instr, kFirstSource, [&](const Operand& truth) { return rw.truthOf(truth); });
  const std::uint8_t lut = reduceLut(static_cast<std::uint8_t>(instr.op_(5).imm), inputs);
  std::vector<unsigned> used;
  for (unsigned i = 0; i < 3; ++i)
    if (dependsOn(lut, i)) used.push_back(i);
  if (used.size() != 2) return false;
  for (const auto& [mine, theirs] : {std::pair{used[0], used[1]}, std::pair{used[1], used[0]}}) {
    Operand truth = instr.op_(kFirstSource + mine).value(), other = instr.op_(kFirstSource + theirs).value();
    // The reduced table includes the inversions, so it refers to the predicates without them.
    if (truth.inverted()) truth = truth.notted();
    if (other.inverted()) other = other.notted();
    Instr* compare = loneComparison(rw, instr, truth);
    if (!compare) continue;
    unsigned table = 0;
    for (unsigned row = 0; row < 4; ++row) {
      const unsigned full = (row >> 1) << (2 - mine) | (row & 1) << (2 - theirs);
      table |= (lut >> full & 1u) << row;
    }
    const auto connection = connectionOf(table);
    if (!connection) continue;
    const Op op = compare->op;
    const Operand a = compare->op_(2).value(), b = compare->op_(3).value();
    auto mods = compare->mods;
    if (connection->invertA) isa::setMod(op, mods, {Mod::Cmp, opposite(op, isa::getMod(op, mods, Mod::Cmp))});
    isa::setMod(op, mods, {Mod::Bool, connection->op});
    const Operand condition = connection->invertB ? other.notted() : other;
    if (op == Op::ISETP_EX) {
      const Operand low = compare->op_(kLowResult).value();
      rw.rewrite(instr, op,
                 {instr.op_(0).value(), Operand::pt(), a, b, condition, connection->invertA ? low.notted() : low});
    } else {
      rw.rewrite(instr, op, {instr.op_(0).value(), Operand::pt(), a, b, condition});
    }
    instr.mods = mods;
    return true;
  }
  return false;
}

} // namespace orias::phases
