#include "phases/local_scan.h"

namespace orias::phases {

bool isSameOperation(const ori::Function& function, const ori::Instr& a, const ori::Instr& b) {
  if (a.op != b.op || a.mods != b.mods || a.mayContract != b.mayContract || a.operandCount != b.operandCount)
    return false;
  for (unsigned i = 0; i < a.operandCount; ++i) {
    const ori::Operand &x = a.op_(i), &y = b.op_(i);
    if (x.isDef && x.isVirtual()) {
      if (!y.isVirtual() || x.file != y.file || x.width != y.width || x.flags != y.flags) return false;
      if (function.vreg(x.reg).align != function.vreg(y.reg).align) return false;
    } else if (x.value() != y.value()) {
      return false;
    }
  }
  return true;
}

bool hasSameResultAt(const ori::Instr& instr, const ori::Instr& at, unsigned mostInstructions) {
  unsigned left = mostInstructions;
  for (const ori::Instr* i = instr.next; i != &at; i = i->next) {
    if (!i || left-- == 0) return false;
    for (const ori::Operand& o : instr.refs())
      if (!o.isDef && o.isVirtual() && writes(*i, o.value())) return false;
  }
  return true;
}

std::size_t countRefs(const ori::Function& function, const isa::Operand& reg, std::size_t most) {
  std::size_t count = 0;
  for (const ori::Ref o : function.refs(reg.reg)) {
    if (count > most) break;
    count += overlap(o->value(), reg);
  }
  return count;
}

} // namespace orias::phases
