#include "phases/local_scan.h"

namespace orias::phases {

bool computesTheSameAt(const ori::Instr& instr, const ori::Instr& at, unsigned mostInstructions) {
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
  for (const ori::Operand* o = function.vreg(reg.reg).refs; o && count <= most; o = o->nextRef)
    count += overlap(o->value(), reg);
  return count;
}

} // namespace orias::phases
