#pragma once

#include "tools/reduce/reducer.h"

#include <span>

namespace orias::reduce {

/// A transformation that may make a program smaller. Returns true if it did.
struct Pass {
  const char* name;
  void (*run)(Reducer& reducer);
};

/// In the order in which they are tried: largest reductions first.
std::span<const Pass> passes();

/// The cost of a program, which each step must lower: instructions (those that only zero a register cost less), then
/// characters.
std::uint64_t costOf(const Source& source);

} // namespace orias::reduce
