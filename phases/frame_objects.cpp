#include "phases/frame_objects.h"

#include <vector>

namespace orias::phases {

bool dropUnnamedObjects(ori::Function& function) {
  std::vector<bool> isNamed(function.frame.size(), false);
  forEachFrameOperand(function, [&](const ori::Instr& instr, unsigned i) { isNamed[instr.op_(i).reg] = true; });
  std::vector<std::uint32_t> number(isNamed.size(), 0);
  std::vector<ori::FrameObject> left;
  for (std::uint32_t id = 0; id < isNamed.size(); ++id) {
    number[id] = static_cast<std::uint32_t>(left.size());
    if (isNamed[id]) left.push_back(function.frame[id]);
  }
  if (left.size() == function.frame.size()) return false;
  forEachFrameOperand(function, [&](ori::Instr& instr, unsigned i) {
    isa::Operand o = instr.op_(i).value();
    o.reg = number[o.reg];
    function.setOperand(&instr, i, o);
  });
  function.frame = std::move(left);
  return true;
}

} // namespace orias::phases
