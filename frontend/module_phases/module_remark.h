#pragma once

#include "frontend/ids.h"

#include <cstdint>
#include <string>
#include <vector>

namespace orias::ptx {

/// An action of a module phase in a function, or an action that it declined.
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
