#include "encoder/isa/desc.h"
#include "phases/phases.h"
#include "phases/speculation.h"

#include <string>

namespace orias::phases {

namespace {

const char* obstacle(const ori::Instr& instr) {
  if (instr.isGuarded()) return "it has a guard";
  if (isa::desc(instr.op).has(isa::Flag::Uniform)) return "it is a uniform instruction";
  if (!isSafeConstantLoad(instr)) return "its index may be outside the constant bank";
  return "its register has other definitions";
}

} // namespace

/// Phase 27. Reports which constant loads may run speculatively. The answer depends on the instruction alone
/// (phases/speculation.h), so phases 28, 56 and 63 query it again instead of relying on a mark that may be outdated.
/// Changes nothing.
bool analyzeUniformsForSpeculation(ori::Function& function, PhaseContext& context) {
  if (!context.remarks.wanted()) return false;
  for (const ori::Block* block : function.layout())
    for (ori::Instr& instr : *block) {
      if (!isa::desc(instr.op).has(isa::Flag::ConstLoad)) continue;
      if (speculationOf(function, instr) == Speculation::Free)
        context.remarks.applied(&instr, "a constant load may be speculated: its address is known");
      else
        context.remarks.missed(&instr, std::string("a constant load may not be speculated: ") + obstacle(instr));
    }
  return false;
}

} // namespace orias::phases
