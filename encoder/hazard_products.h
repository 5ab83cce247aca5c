#pragma once

#include "encoder/control_flow.h"
#include "encoder/hazard.h"

namespace orias::hazard {

/// Products of warp groups whose registers are touched while they may be under way: those that no WARPGROUP.DEPBAR has
/// waited for on some way. `instructions` are the words, decoded; nothing for those that are not known.
std::vector<Violation> checkProducts(std::span<const std::optional<isa::Inst>> instructions,
                                     std::span<const encoder::FlowBlock> blocks, const isa::Target& target);

/// Calls f(register, isSum) for what a product reads and writes in file R.
template <typename F> void forEachOfProduct(const isa::Inst& product, const isa::Target& target, F&& f) {
  isa::forEachTouch(product, target, [&](const isa::Touch& t) {
    if (t.file == isa::File::R) f(t.reg, t.isDef || t.access.port == isa::Access::Port::Addend);
  });
}

} // namespace orias::hazard
