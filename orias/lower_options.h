#pragma once

#include "frontend/lower/lower.h"
#include "orias/options.h"
#include "phases/knobs.h"

namespace orias {

/// The limits of inlining that the knobs set.
ptx::InlineLimits inlineLimits(const phases::Knobs& knobs);

/// Options of lowering. `isLinked`: the input is linked with other inputs, so it is lowered as an object.
/// Throws orias::Error for unknown cache operators.
ptx::LowerOptions lowerOptions(const Options& options, const phases::Knobs& knobs, bool isLinked);

} // namespace orias
