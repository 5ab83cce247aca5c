#pragma once

#include "../ori/helpers.h"
#include "regalloc/allocate.h"

#include "ori/verify.h"

namespace orias::regalloc::test {

/// Allocates the first function of a module under the allocation checker. Returns the message if that fails.
inline std::string allocate(ori::Function& function, AllocationOptions options = {}) {
  options.check = true;
  std::string problem = allocateRegisters(function, options);
  if (!problem.empty()) return problem;
  const auto faults = ori::verify(function);
  CHECK_MESSAGE(!ori::hasErrors(faults), ori::render(faults));
  CHECK(function.stats.registers <= options.maxRegisters);
  return {};
}

/// The function as text.
inline std::string text(const ori::Function& function) {
  return ori::print(function, ori::PrintOptions{false});
}

inline bool contains(std::string_view all, std::string_view part) {
  return all.find(part) != std::string_view::npos;
}

inline unsigned countOf(std::string_view all, std::string_view part) {
  unsigned n = 0;
  for (std::size_t at = all.find(part); at != std::string_view::npos; at = all.find(part, at + 1))
    ++n;
  return n;
}

} // namespace orias::regalloc::test
