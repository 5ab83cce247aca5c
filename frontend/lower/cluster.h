#pragma once

#include "frontend/lower/function_lowering.h"

namespace orias::ptx {

/// `.shared::cluster`: an address that may lie in the shared memory of another CTA of the cluster.
inline bool isClusterShared(const Form& form) {
  return form.get(Slot::Space) == Mod::SharedCluster;
}

/// Converts such an address to a generic one, which the instructions require. The low word is the address in shared
/// memory.
Address clusterAddress(FunctionLowering& f, const Operand& operand);

} // namespace orias::ptx
