#pragma once

#include <string_view>

namespace orias::ptx {

/// The prefix of the functions that checks of tensor memory accesses call on an error (module_phases/tensor_guards.h).
/// Debuggers show these names, so calls of the functions are not inlined.
inline constexpr std::string_view kTensorGuardPrefix = "__cuda_sm10x_tcgen05_guardrail_trap_";

inline bool isTensorGuard(std::string_view function) {
  return function.starts_with(kTensorGuardPrefix);
}

} // namespace orias::ptx
