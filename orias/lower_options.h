#pragma once

#include "frontend/lower/lower.h"
#include "orias/options.h"
#include "phases/knobs.h"

namespace orias {

/// The inlining limits that the knobs set.
ptx::InlineLimits inlineLimits(const phases::Knobs& knobs);

struct LowerScope {
  bool isLinked = false; ///< the input is linked with other inputs, so it is lowered as an object
  bool inlines = true;   ///< phase M5 runs; without it functions are not inlined, as in an object
};

/// Options of lowering. Throws orias::Error for unknown cache operators.
ptx::LowerOptions lowerOptions(const Options& options, const phases::Knobs& knobs, LowerScope scope);

} // namespace orias
