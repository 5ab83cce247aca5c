#pragma once

#include "encoder/control_flow.h"
#include "encoder/hazard.h"

namespace orias::hazard {

/// Returns the wgmma instructions whose registers are accessed while they may be in flight, that is, without a
/// WARPGROUP.DEPBAR that waits for them on some path. `instructions` are the decoded encodings; empty for unknown ones.
std::vector<Violation> checkProducts(std::span<const std::optional<isa::Inst>> instructions,
                                     std::span<const encoder::FlowBlock> blocks, const isa::Target& target);

} // namespace orias::hazard
