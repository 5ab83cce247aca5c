#pragma once

#include "frontend/ids.h"

#include <cstdint>
#include <string>
#include <vector>

namespace orias::ptx {

/// What a phase of modules did, or did not do, in a function.
struct PhaseRemark {
  FunctionId function = FunctionId::None;
  std::uint32_t line = 0;
  bool isDone = false;
  std::string message;
};

struct ModulePhaseResult {
  bool hasChanged = false;
  std::vector<PhaseRemark> remarks; ///< if requested
};

} // namespace orias::ptx
