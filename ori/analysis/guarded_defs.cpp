#include "ori/analysis/guarded_defs.h"

#include <algorithm>

namespace orias::ori {

namespace {

bool isSameRegister(const isa::Operand& a, const isa::Operand& b) {
  return a.file == b.file && a.reg == b.reg && a.sub == b.sub && a.isVirtual() == b.isVirtual();
}

bool isPlainTrue(const Operand& o) {
  return o.isReg(isa::File::P) && o.isZeroReg() && !o.inverted();
}

} // namespace

bool leavesRestUndefined(const Function& function, const Instr& instr, const Operand& result) {
  if (!function.ssa) return instr.hasUndefinedRest;
  return result.isVirtual() && !function.vreg(result.reg).multiDef;
}

bool leavesRestUndefined(const Function& function, const Instr& instr) {
  if (!instr.isGuarded()) return false;
  bool hasResult = false;
  for (const Operand& o : instr.ops()) {
    if (!o.isReg() || !o.isDef || o.isZeroReg()) continue;
    if (!leavesRestUndefined(function, instr, o)) return false;
    hasResult = true;
  }
  return hasResult;
}

bool ElectedDefs::alwaysExecutes(const Instr& instr, const Operand& def) const {
  if (elected_.empty() || !instr.isGuarded()) return false;
  if (def.file != isa::File::UR && def.file != isa::File::UP) return false;
  const Operand& guard = instr.guard();
  return !guard.inverted() &&
         std::ranges::any_of(elected_, [&](const isa::Operand& o) { return isSameRegister(o, guard); });
}

void ElectedDefs::step(const Instr& instr) {
  if (!elected_.empty())
    for (const Operand& o : instr.ops())
      if (o.isReg() && o.isDef) std::erase_if(elected_, [&](const isa::Operand& e) { return isSameRegister(e, o); });
  if (instr.op != Op::ELECT || instr.isGuarded() || !isPlainTrue(instr.op_(2))) return;
  if (const Operand& elected = instr.op_(0); elected.isReg(isa::File::P) && !elected.isZeroReg())
    elected_.push_back(elected.value());
}

GuardValue GuardValues::of(const Instr& instr) const {
  const Operand& guard = instr.guard();
  std::uint32_t predicate = 0;
  // A guard that is in no register is equal to no other guard.
  InstrId version = instr.id + 1;
  components_.forEach(guard, [&](CompId comp) {
    predicate = comp + 1;
    version = lastDef_.empty() ? 0 : lastDef_[comp];
  });
  return guardValue(predicate, version, guard.inverted());
}

void GuardValues::define(const Instr& instr) {
  if (lastDef_.empty()) lastDef_.resize(components_.count(), 0);
  for (const Operand& o : instr.ops())
    if (o.isDef && (o.isReg(isa::File::P) || o.isReg(isa::File::UP)))
      components_.forEach(o, [&](CompId comp) { lastDef_[comp] = instr.id + 1; });
}

} // namespace orias::ori
