#pragma once

#include "ori/function.h"

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace orias {

/// The registers that calls of the compiled functions change.
using KnownChanges = std::map<const ori::Function*, ori::RegisterSet>;

/// Whether the function of that name in this module is the one that a call of the symbol executes: no other object can
/// replace it. `isWhole`: there are no other objects.
bool hasItsOwnBody(const ori::Module& module, std::uint32_t symbol, bool isWhole);

/// Groups of functions, as indices into the span: callees are in an earlier group than their callers, except in cycles
/// of calls. Within a group the order is that of the span. Ignores calls through pointers, and of symbols without a
/// body.
std::vector<std::vector<std::size_t>> calleesFirst(std::span<const ori::Function* const> functions, bool isWhole);

} // namespace orias
