// Phases 0, 12 and 94: the verifier at three points of the pipeline.

#include "encoder/isa/codec.h"
#include "encoder/isa/target.h"
#include "ori/print.h"
#include "ori/verify.h"
#include "phases/constant_operands.h"
#include "phases/phases.h"
#include "support/check.h"
#include "support/diagnostics.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace orias::phases {

namespace {

void verifyOrThrow(const ori::Function& function, std::string_view what) {
  const std::vector<ori::VerifyError> faults = ori::verify(function);
  if (ori::hasErrors(faults))
    throw InternalError(std::string(what) + " '" + function.name() + "' is malformed:\n" + ori::render(faults) + "\n" +
                        ori::print(function));
}

/// Pseudo instructions that are removed by the allocator or by a phase after it.
bool staysUntilAllocation(isa::Op op) {
  constexpr std::array kStaying = {isa::Op::COPY,           isa::Op::CALL_EXTERN,     isa::Op::KEEP,
                                   isa::Op::CONV_ALLOC,     isa::Op::CALL_FUNCTION,   isa::Op::ADDRESS,
                                   isa::Op::FUNCTION_ENTRY, isa::Op::FUNCTION_RETURN, isa::Op::TEX_QUAD};
  return std::find(kStaying.begin(), kStaying.end(), op) != kStaying.end();
}

} // namespace

/// Phase 0, debug builds only. Checks the code that lowering generated, so that later faults are not looked for in the
/// wrong place. A release build verifies in phase 94, and after each phase on request (--verify-each).
bool oriCheckInitialProgram([[maybe_unused]] ori::Function& function, PhaseContext&) {
#ifndef NDEBUG
  verifyOrThrow(function, "the lowered function");
#endif
  return false;
}

/// Phase 12, debug builds only. Checks the code after the first expansions.
bool oriSanitize([[maybe_unused]] ori::Function& function, PhaseContext&) {
#ifndef NDEBUG
  verifyOrThrow(function, "after the early expansions, the function");
#endif
  return false;
}

/// Phase 94. The last check before scheduling and allocation. A macro that no phase has expanded, or an instruction
/// that the chip does not have, is reported as unsupported at the position of the PTX instruction. Where instructions
/// cannot take constant operands, the constants are loaded first.
bool finalInspectionPass(ori::Function& function, PhaseContext& context) {
  const bool changed = context.target.has(isa::Capability::LoadsConstants) && loadConstantOperands(function);
  verifyOrThrow(function, "before scheduling, the function");
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block)
      if (isa::desc(instr.op).isPseudo() && !staysUntilAllocation(instr.op))
        context.diagnostics.error({instr.source.ptxLine, 1}, "not supported yet: " + ori::print(function, instr));
      else if (!isa::desc(instr.op).isPseudo() && !isa::existsOn(context.target, instr.op, instr.mods))
        context.diagnostics.error(
            {instr.source.ptxLine, 1},
            fmt::format("not supported yet for {}: {}", context.target.name(), ori::print(function, instr)));
  return changed;
}

} // namespace orias::phases
