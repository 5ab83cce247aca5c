#include "orias/function_guards.h"

#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/call_abi.h"
#include "ori/module.h"

namespace orias {

using isa::File;
using isa::Op;
using isa::Operand;

void waitForErrorsAtExit(ori::Function& function) {
  const bool hasClusters = function.module().target().has(isa::Capability::Clusters);
  for (ori::Block* block : function.layout())
    function.forEachSafe(*block, [&](ori::Instr& instr) {
      if (instr.op != Op::EXIT) return;
      ori::Builder b = ori::Builder::before(function, &instr);
      b.setSource(instr.source);
      if (instr.isGuarded()) b.setGuard(instr.guard().value());
      b.emit(Op::ERRBAR, {});
      if (hasClusters) b.emit(Op::CGAERRBAR, {});
    });
}

void trapOnStackOverflow(ori::Function& function) {
  constexpr std::int32_t kEndOfLocalMemory = 55; // SR_LMEMHIOFF
  constexpr std::int32_t kTrap = 1;
  const Operand sp = Operand::physical(File::R, ori::kStackPointer);
  for (ori::Instr& instr : *function.entry()) {
    if (instr.op != Op::IADD3 || instr.op_(0).value() != sp) continue;
    // Neither holds a parameter, and functions need not preserve them.
    const Operand end = Operand::physical(File::R, 0), isBelow = Operand::physical(File::P, 0);
    ori::Builder b = ori::Builder::after(function, &instr);
    b.setSource({});
    b.emit(Op::S2R, {end, Operand::immediate(kEndOfLocalMemory)});
    b.emit(Op::ISETP, {isBelow, Operand::pt(), sp, end, Operand::pt()},
           {{isa::Mod::Cmp, isa::ICmp::LT}, {isa::Mod::Type, isa::IntType::U32}, {isa::Mod::Bool, isa::BoolOp::AND}});
    b.setGuard(isBelow);
    b.emit(Op::BPT, {Operand::immediate(kTrap)});
    return;
  }
}

} // namespace orias
