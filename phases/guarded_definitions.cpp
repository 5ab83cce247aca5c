#include "phases/guarded_definitions.h"

#include "encoder/isa/desc.h"
#include "ori/builder.h"
#include "phases/speculation.h"

#include <algorithm>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;
using ori::VRegId;

namespace {

class ResultChooser {
 public:
  explicit ResultChooser(ori::Function& function) : function_(function) {}

  bool run() {
    const auto count = static_cast<VRegId>(function_.vregCount());
    bool isChanged = false;
    for (VRegId id = 0; id < count; ++id) {
      if (function_.vreg(id).file != File::R) continue;
      std::vector<Instr*> guarded;
      std::size_t all = 0;
      function_.forEachDef(id, [&](ori::Ref def) {
        ++all;
        if (def.owner->isGuarded()) guarded.push_back(def.owner);
      });
      // A register with a single definition may be in SSA form already. If all definitions are guarded, the register is
      // undefined in other lanes, and a select would keep their old values live.
      if (guarded.empty() || guarded.size() == all) continue;
      if (!std::ranges::all_of(guarded, [&](const Instr* instr) { return isChoice(*instr); })) continue;
      for (Instr* instr : guarded)
        choose(*instr);
      isChanged = true;
    }
    return isChanged;
  }

 private:
  /// The only result of an instruction; null if there are several.
  static const ori::Operand* onlyResult(const Instr& instr) {
    const ori::Operand* result = nullptr;
    for (const ori::Operand& o : instr.ops()) {
      if (!o.isDef || !o.isReg() || o.isZeroReg()) continue;
      if (result) return nullptr;
      result = &o;
    }
    return result;
  }

  /// Whether the instruction has one result, of one word unless it copies, and can run in all lanes.
  static bool isChoice(const Instr& instr) {
    const Operand guard = instr.guard().value();
    if (guard.file != File::P || !guard.isVirtual()) return false;
    const ori::Operand* result = onlyResult(instr);
    return result && result->file == File::R && result->isVirtual() &&
           (result->width == 1 || isa::desc(instr.op).has(isa::Flag::Copy)) && mayRunInAllLanes(instr);
  }

  /// Removes the guard. Selects after the instruction take its result in the lanes of the guard.
  void choose(Instr& instr) {
    const ori::Operand* slot = onlyResult(instr);
    const Operand to = slot->value(), guard = instr.guard().value();
    function_.setGuard(&instr, Operand::pt());
    ori::Builder b = ori::Builder::after(function_, &instr);
    b.setSource(instr.source);
    const Operand result = function_.use(function_.newVReg(File::R, to.width, function_.vreg(to.reg).name));
    function_.setOperand(&instr, static_cast<unsigned>(slot - instr.operands), result);
    for (unsigned w = 0; w < to.width; ++w) {
      const Operand old = ori::component(to, w);
      b.emit(Op::SEL, {old, ori::component(result, w), old, guard});
    }
  }

  ori::Function& function_;
};

} // namespace

bool chooseGuardedResults(ori::Function& function) {
  return ResultChooser(function).run();
}

} // namespace orias::phases
