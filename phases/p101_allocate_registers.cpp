#include "encoder/code.h"
#include "encoder/isa/target.h"
#include "phases/occupancy.h"
#include "phases/phases.h"
#include "regalloc/allocate.h"
#include "regalloc/shared_spills.h"
#include "support/diagnostics.h"

#include <fmt/format.h>
#include <optional>

namespace orias::phases {

namespace {

/// The words of spill slots per thread for which shared memory suffices without fewer resident warps.
unsigned wordsInShared(const ori::Function& function, const PhaseContext& context) {
  const auto warps = [&](std::uint32_t bytes) {
    const OccupancyClasses classes(context.target, function.bounds, bytes, context.maxRegisters);
    return classes.warps(classes.ends().back());
  };
  const double most = warps(function.sharedBytes);
  const auto fits = [&](unsigned words) {
    const std::uint32_t bytes = regalloc::sharedSpillBytes(function, words);
    return bytes <= context.target.maxStaticShared() && warps(bytes) == most;
  };
  unsigned words = 0;
  while (fits(words + 1))
    ++words;
  return words;
}

} // namespace

/// Phase 101, AdvancedPhaseAllocReg: the fat-point allocator (regalloc/README.md) with the user's knobs and the
/// register limit from options and launch bounds. Records for the listing which values are divergent, before values
/// become registers.
bool allocateRegisters(ori::Function& function, PhaseContext& context) {
  regalloc::AllocationOptions options;
  options.maxRegisters = context.maxRegisters;
  options.spillEverything = context.knobs.enabled(Knob::RegAllocSpillEverything);
  options.singlePass = context.knobs.enabled(Knob::RegAllocFastSinglePass);
  options.noSpillAttempts = static_cast<unsigned>(context.knobs.get(Knob::RegAllocNoSpillAttempts));
  options.remat = context.knobs.enabled(Knob::RegAllocRematEnable);
  options.optimizedRemat = context.knobs.enabled(Knob::RegAllocEnableOptimizedRemat);
  options.sharesFrame = !context.knobs.enabled(Knob::DisableSsc);
  options.uniformPromotion =
      context.knobs.enabled(Knob::RegAllocUniformPromotion) && context.knobs.enabled(Knob::UniformRegMode);
  if (function.spillsToShared || context.knobs.enabled(Knob::RegAllocSpillToShared))
    options.sharedSpillWords = wordsInShared(function, context);
  // The registers in use include the stack pointer.
  const OccupancyClasses classes(context.target, function.bounds, function.sharedBytes, context.maxRegisters);
  options.freeRegisters = [&](unsigned used) { return classes.end(used); };
  options.warps = [&](unsigned used) { return classes.warps(used); };
  options.check = context.knobs.enabled(Knob::RegAllocCheck);
  options.remark = [&](const ori::Instr* where, std::string message, std::int64_t cost) {
    context.remarks.applied(where, std::move(message), cost);
  };
  options.tell = [&](const ori::Instr& where, std::string message) {
    context.diagnostics.note({where.source.ptxLine, 0}, fmt::format("function '{}': {}", function.name(), message));
  };
  std::optional<RegisterReport> report;
  std::vector<regalloc::RegisterFate> fates;
  if (context.accounts != nullptr || (!context.queries.empty() && context.dump != nullptr)) {
    report.emplace(function);
    options.fates = &fates;
  }
  options.frame = &context.code.frame;
  if (context.code.wantDebugDefs) options.debugDefs = &context.code.debugDefs;
  if (context.code.wantListing) context.code.uniformityNotes = encoder::uniformityNotes(function);
  std::string problem = regalloc::allocateRegisters(function, options);
  if (!problem.empty()) context.diagnostics.error({}, problem);
  if (problem.empty() && report) {
    if (context.dump != nullptr)
      for (const RegisterQuery& query : context.queries)
        *context.dump += report->answer(query, fates, function, context);
    if (context.accounts != nullptr) *context.accounts = report->accounts(fates, function, context);
  }
  if (problem.empty() && context.dump != nullptr && context.knobs.enabled(Knob::DumpFrame))
    *context.dump += regalloc::frameTable(function, context.code.frame);
  const std::int64_t limit = context.knobs.get(Knob::WarnStackSize);
  if (problem.empty() && limit != 0 && function.stats.frameBytes > limit)
    context.diagnostics.warning({}, fmt::format("stack frame size ({}) exceeds limit ({}) in function '{}'",
                                                function.stats.frameBytes, limit, function.name()));
  if (problem.empty() && !context.knobs.enabled(Knob::UniformRegMode) && function.stats.uniformRegisters != 0)
    context.diagnostics.warning({}, fmt::format("Uniform registers were disallowed, but the compiler required ({}) "
                                                "uniform registers for correct code generation.",
                                                function.stats.uniformRegisters));
  return true;
}

} // namespace orias::phases
