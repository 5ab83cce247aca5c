#include "phases/constant_registers.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/semantics/semantics.h"
#include "ori/call_abi.h"

#include <algorithm>

namespace orias::phases {

using ori::Block;
using ori::Instr;

namespace {

const isa::Operand kStackPointer = isa::Operand::physical(isa::File::R, ori::kStackPointer);

bool isComputedOfNumbers(const Instr& instr, const std::vector<bool>& isNumber) {
  const bool isPure = isa::desc(instr.op).has(isa::Flag::Copy) || isa::laneFunction(instr.op) != nullptr;
  return isPure && std::all_of(instr.refs().begin(), instr.refs().end(), [&](const ori::Operand& o) {
           if (o.isDef || o.isNone() || o.isImm() || o.kind == isa::Operand::Kind::Frame) return true;
           return o.isReg() && (o.isVirtual() ? isNumber[o.reg] : o.isZeroReg() || o.value() == kStackPointer);
         });
}

} // namespace

std::vector<bool> constantRegisters(const ori::Function& function, const ori::Loops& loops, ori::LoopId open) {
  std::vector<bool> isNumber(function.vregCount(), true);
  std::vector<unsigned> definitions(function.vregCount(), 0);
  for (const Block* block : function.layout())
    for (const Instr& instr : *block)
      for (const ori::Operand& o : instr.ops())
        if (o.isDef && o.isVirtual()) ++definitions[o.reg];
  bool changed = true;
  while (changed) {
    changed = false;
    for (const Block* block : function.layout())
      for (const Instr& instr : *block) {
        const bool isComputed = isComputedOfNumbers(instr, isNumber);
        for (const ori::Operand& o : instr.ops()) {
          if (!o.isDef || !o.isVirtual() || !isNumber[o.reg]) continue;
          const bool isVariable = open != ori::kNoId && definitions[o.reg] > 1 && loops.contains(open, block->id);
          if (isComputed && !isVariable) continue;
          isNumber[o.reg] = false;
          changed = true;
        }
      }
  }
  return isNumber;
}

} // namespace orias::phases
