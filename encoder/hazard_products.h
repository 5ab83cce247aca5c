#pragma once

#include "encoder/control_flow.h"
#include "encoder/hazard.h"

namespace orias::hazard {

/// wgmma instructions whose registers are accessed while they may be in flight: no WARPGROUP.DEPBAR waits
/// for them on some path. `instructions` are the decoded encodings; empty for unknown ones.
std::vector<Violation> checkProducts(std::span<const std::optional<isa::Inst>> instructions,
                                     std::span<const encoder::FlowBlock> blocks, const isa::Target& target);

/// Calls f(register, isSum) for the registers of file R that a wgmma reads and writes.
template <typename F> void forEachOfProduct(const isa::Inst& product, const isa::Target& target, F&& f) {
  isa::forEachTouch(product, target, [&](const isa::Touch& t) {
    if (t.file == isa::File::R) f(t.reg, t.isDef || t.access.port == isa::Access::Port::Addend);
  });
}

} // namespace orias::hazard
