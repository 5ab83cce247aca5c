#pragma once

#include "tools/reduce/reducer.h"

#include <span>

namespace orias::reduce {

/// A way to make a program smaller. True when it did.
struct Pass {
  const char* name;
  void (*run)(Reducer& reducer);
};

/// In the order in which they are tried: what takes most away first.
std::span<const Pass> passes();

/// What a program costs, so that each step makes it cheaper: instructions, those that only set a register to zero for
/// less, then characters.
std::uint64_t costOf(const Source& source);

} // namespace orias::reduce
