#include "phases/branch_conditions.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/cfg_edit.h"
#include "ori/module.h"

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

/// Moves the comparison in front of `where`, if nothing from there on has an effect on it, or depends on its result.
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

/// `liveness` is computed for the first branch that needs it. What is changed here keeps what is live between blocks.
bool splitCondition(ori::Function& function, ori::Block& block, const ori::Liveness*& liveness) {
  Instr* branch = ori::plainBranch(block);
  if (!branch || branch->op != Op::BRA || !branch->op_(0).isZeroReg() || branch->op_(0).inverted()) return false;
  const Operand guard = branch->guard().value();
  if (!isPredicate(guard)) return false;
  const Operand result = guard.inverted() ? guard.notted() : guard;
  Instr* comparison = definitionBefore(branch, result);
  if (!comparison || !isComparison(comparison->op) || comparison->isGuarded() || comparison->op_(0).value() != result ||
      !comparison->op_(1).isZeroReg())
    return false;
  // not (a or b) is not a and not b
  const auto operation = isa::modAs<isa::BoolOp>(*comparison, Mod::Bool);
  if (operation != (guard.inverted() ? isa::BoolOp::OR : isa::BoolOp::AND)) return false;
  constexpr unsigned slot = 4;
  const Operand other = comparison->op_(slot).value(), otherRegister = other.inverted() ? other.notted() : other;
  if (!isPredicate(other) || otherRegister == result) return false;
  Instr* definition = definitionBefore(comparison, otherRegister);
  if (!definition || definition->isGuarded()) return false;
  for (const Instr* instr = comparison->next; instr != branch; instr = instr->next)
    if (writes(*instr, otherRegister) || touches(*instr, result)) return false;
  if (!liveness) liveness = &function.analyses().liveness();
  if (liveness->isLiveOut(block.id, liveness->components().ofPhysical(File::P, result.reg))) return false;
  function.setOperand(comparison, slot, Operand::pt());
  isa::setMod(comparison->op, comparison->mods, {Mod::Bool, isa::BoolOp::AND});
  function.setOperand(branch, 0, guard.inverted() ? other.notted() : other);
  hoist(function, comparison, definition);
  return true;
}

/// The uniform predicate of which the instruction makes a copy in a predicate register; none otherwise.
Operand copiedUniform(const Instr& instr) {
  constexpr unsigned kOther = 1, kFirst = 2, kSource = 4, kTable = 5;
  constexpr std::int32_t kThirdSource = 0xaa;
  const bool isCopy = instr.op == Op::PLOP3_U && !instr.isGuarded() && instr.op_(kOther).isZeroReg() &&
                      instr.op_(kFirst).isZeroReg() && instr.op_(kFirst + 1).isZeroReg() &&
                      instr.op_(kTable).imm == kThirdSource;
  return isCopy ? instr.op_(kSource).value() : Operand();
}

/// As above: a branch on a copy of a uniform predicate takes the predicate itself.
bool branchUniformly(ori::Function& function, ori::Block& block, const ori::Liveness*& liveness) {
  Instr* branch = ori::plainBranch(block);
  if (!branch) return false;
  const Operand guard = branch->guard().value();
  if (!isPredicate(guard)) return false;
  const Operand copy = guard.inverted() ? guard.notted() : guard;
  Instr* move = definitionBefore(branch, copy);
  if (!move || move->op_(0).value() != copy) return false;
  const Operand source = copiedUniform(*move);
  if (source.isNone() || source.isZeroReg()) return false;
  for (const Instr* instr = move->next; instr != branch; instr = instr->next)
    if (writes(*instr, source) || touches(*instr, copy)) return false;
  if (!liveness) liveness = &function.analyses().liveness();
  if (liveness->isLiveOut(block.id, liveness->components().ofPhysical(File::P, copy.reg))) return false;
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
