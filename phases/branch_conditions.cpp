#include "phases/branch_conditions.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "ori/module.h"

#include <optional>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

bool isPredicate(const Operand& o) {
  return o.isReg(File::P) && !o.isZeroReg() && !o.isVirtual();
}

bool namesRegister(const ori::Operand& o, const Operand& reg) {
  return o.isReg(reg.file) && !o.isVirtual() && o.reg <= reg.reg && reg.reg < o.reg + o.width && !o.isZeroReg();
}

bool writes(const Instr& instr, const Operand& reg) {
  for (const ori::Operand& o : instr.ops())
    if (o.isDef && namesRegister(o, reg)) return true;
  return false;
}

bool touches(const Instr& instr, const Operand& reg) {
  for (const ori::Operand& o : instr.refs())
    if (namesRegister(o, reg)) return true;
  return false;
}

/// The last instruction before `end` that writes the register; null if there is none in the block.
Instr* definitionBefore(Instr* end, const Operand& reg) {
  for (Instr* instr = end->prev; instr; instr = instr->prev)
    if (writes(*instr, reg)) return instr;
  return nullptr;
}

bool isComparison(Op op) {
  return op == Op::ISETP || op == Op::FSETP;
}

/// Moves the comparison before `where`, unless an instruction in between changes its operands or uses its result.
void hoist(ori::Function& function, Instr* comparison, Instr* where) {
  const Operand result = comparison->op_(0).value();
  for (Instr* instr = where; instr != comparison; instr = instr->next) {
    if (touches(*instr, result)) return;
    for (const ori::Operand& o : comparison->refs())
      if (!o.isDef && o.isReg() && !o.isZeroReg() && writes(*instr, o.value())) return;
  }
  function.unlink(comparison);
  function.insertBefore(where, comparison);
}

/// A branch on a predicate, and the unguarded definition of that predicate: the last instruction of the block that
/// writes it.
struct Decision {
  Instr *branch = nullptr, *definition = nullptr;
  Operand guard, result; ///< the predicate as the branch reads it, and as it is written
};

std::optional<Decision> decisionOf(ori::Block& block) {
  Decision d;
  d.branch = ori::plainBranch(block);
  if (!d.branch) return std::nullopt;
  d.guard = d.branch->guard().value();
  if (!isPredicate(d.guard)) return std::nullopt;
  d.result = d.guard.inverted() ? d.guard.notted() : d.guard;
  d.definition = definitionBefore(d.branch, d.result);
  if (!d.definition || d.definition->isGuarded() || d.definition->op_(0).value() != d.result) return std::nullopt;
  return d;
}

/// Whether only the branch reads the predicate, and `other`, a source of the definition, still has its value at the
/// branch. `liveness` is computed for the first branch that needs it: the changes here do not affect liveness between
/// blocks.
bool servesBranchAlone(ori::Function& function, const Decision& d, const Operand& other,
                       const ori::Liveness*& liveness) {
  for (const Instr* instr = d.definition->next; instr != d.branch; instr = instr->next)
    if (writes(*instr, other) || touches(*instr, d.result)) return false;
  if (!liveness) liveness = &function.analyses().liveness();
  return !liveness->isLiveOut(d.branch->block->id, liveness->components().ofPhysical(File::P, d.result.reg));
}

bool splitCondition(ori::Function& function, ori::Block& block, const ori::Liveness*& liveness) {
  const auto decision = decisionOf(block);
  if (!decision) return false;
  const auto& [branch, comparison, guard, result] = *decision;
  if (!isComparison(comparison->op) || !comparison->op_(1).isZeroReg()) return false;
  // not (a or b) is not a and not b
  const auto operation = isa::modAs<isa::BoolOp>(*comparison, Mod::Bool);
  if (operation != (guard.inverted() ? isa::BoolOp::OR : isa::BoolOp::AND)) return false;
  constexpr unsigned slot = 4;
  const Operand other = comparison->op_(slot).value(), otherRegister = other.inverted() ? other.notted() : other;
  if (!isPredicate(other) || otherRegister == result) return false;
  Instr* definition = definitionBefore(comparison, otherRegister);
  if (!definition || definition->isGuarded()) return false;
  if (!servesBranchAlone(function, *decision, otherRegister, liveness)) return false;
  function.setOperand(comparison, slot, Operand::pt());
  isa::setMod(comparison->op, comparison->mods, {Mod::Bool, isa::BoolOp::AND});
  function.setOperand(branch, 0, guard.inverted() ? other.notted() : other);
  hoist(function, comparison, definition);
  return true;
}

/// The uniform predicate that the instruction copies to a predicate register; none if it is no such copy.
Operand copiedUniform(const Instr& instr) {
  constexpr unsigned kOther = 1, kFirst = 2, kSource = 4, kTable = 5;
  constexpr std::int32_t kThirdSource = 0xaa;
  const bool isCopy = instr.op == Op::PLOP3_U && instr.op_(kOther).isZeroReg() && instr.op_(kFirst).isZeroReg() &&
                      instr.op_(kFirst + 1).isZeroReg() && instr.op_(kTable).imm == kThirdSource;
  return isCopy ? instr.op_(kSource).value() : Operand();
}

bool branchUniformly(ori::Function& function, ori::Block& block, const ori::Liveness*& liveness) {
  const auto decision = decisionOf(block);
  if (!decision) return false;
  const auto& [branch, move, guard, copy] = *decision;
  const Operand source = copiedUniform(*move);
  if (source.isNone() || source.isZeroReg() || !servesBranchAlone(function, *decision, source, liveness)) return false;
  const Operand target = branch->op_(1).value();
  function.setGuard(branch, Operand::pt());
  const Operand operands[]{Operand::pt(), guard.inverted() ? source.notted() : source, target};
  function.rewrite(branch, Op::BRA_UNIFORM, operands);
  branch->mods = isa::makeInst(Op::BRA_UNIFORM).mods;
  function.erase(move);
  return true;
}

} // namespace

bool useUniformConditions(ori::Function& function) {
  if (!isa::existsOn(function.module().target(), Op::BRA_UNIFORM, isa::makeInst(Op::BRA_UNIFORM).mods)) return false;
  const ori::Liveness* liveness = nullptr;
  bool isChanged = false;
  for (ori::Block* block : function.layout())
    isChanged |= branchUniformly(function, *block, liveness);
  return isChanged;
}

bool splitBranchConditions(ori::Function& function) {
  const ori::Liveness* liveness = nullptr;
  bool isChanged = false;
  for (ori::Block* block : function.layout())
    isChanged |= splitCondition(function, *block, liveness);
  return isChanged;
}

} // namespace orias::phases
