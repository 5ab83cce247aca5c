#include "orias/lower_options.h"

#include "support/check.h"

#include <fmt/format.h>

namespace orias {

namespace {

ptx::Mod cacheOperator(std::string_view name) {
  using ptx::Mod;
  if (name.empty()) return Mod::None;
  for (Mod mod : {Mod::Ca, Mod::Cg, Mod::Cs, Mod::Lu, Mod::Cv, Mod::Wb, Mod::Wt})
    if (ptx::modName(mod) == name) return mod;
  throw Error(fmt::format("there is no cache operator '{}'", name));
}

/// At -O0 an object keeps the calls of the PTX, as in ptxas.
ptx::InlineScope inlineScope(const Options& options, const phases::Knobs& knobs, LowerScope scope, bool isRelocatable) {
  if (!scope.inlines) return ptx::InlineScope::Nothing;
  if (!isRelocatable) return ptx::InlineScope::Program;
  const bool inlines = !options.debugInfo && options.optLevel > 0 && knobs.enabled(phases::Knob::InlineInObjects);
  return inlines ? ptx::InlineScope::Object : ptx::InlineScope::Nothing;
}

} // namespace

ptx::InlineLimits inlineLimits(const phases::Knobs& knobs) {
  using phases::Knob;
  const auto size = [&](Knob knob) { return static_cast<std::uint64_t>(knobs.get(knob)); };
  return {.small = size(Knob::InlineSmallInstructions),
          .large = size(Knob::InlineLargeInstructions),
          .budget = size(Knob::InlineModuleInstructions),
          .growthPercent = size(Knob::InlineGrowthPercent),
          .callCost = size(Knob::InlineCallCost),
          .depth = static_cast<unsigned>(knobs.get(Knob::InlineMaxDepth)),
          .sharedCalls = static_cast<unsigned>(knobs.get(Knob::InlineSharedCalls))};
}

ptx::LowerOptions lowerOptions(const Options& options, const phases::Knobs& knobs, LowerScope scope) {
  const CacheOptions& caches = options.caches;
  const bool isRelocatable = options.relocatable || options.debugInfo || scope.isLinked || !scope.inlines;
  return {.contractFma = options.contractFma,
          .loads = {cacheOperator(caches.defaultLoad), cacheOperator(caches.forcedLoad)},
          .stores = {cacheOperator(caches.defaultStore), cacheOperator(caches.forcedStore)},
          .relocatable = isRelocatable,
          .inlineScope = inlineScope(options, knobs, scope, isRelocatable),
          .inlining = inlineLimits(knobs)};
}

} // namespace orias
