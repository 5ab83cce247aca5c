#pragma once

#include <string_view>

namespace orias::ptx {

/// How the names of functions begin that are called where code that checks accesses to tensor memory finds a mistake
/// (module_phases/tensor_guards.h). Debuggers show these names, so calls of the functions are not inlined.
inline constexpr std::string_view kTensorGuardPrefix = "__cuda_sm10x_tcgen05_guardrail_trap_";

inline bool isTensorGuard(std::string_view function) {
  return function.starts_with(kTensorGuardPrefix);
}

} // namespace orias::ptx
