#pragma once

#include "ori/function.h"

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace orias {

/// What a call of a function changes, of those that are compiled.
using KnownChanges = std::map<const ori::Function*, ori::RegisterSet>;

/// Whether what a call of the symbol changes may be found out from the function of that name here: no other object
/// can put one in its place. `isWhole`: there are no other objects.
bool hasItsOwnBody(const ori::Module& module, std::uint32_t symbol, bool isWhole);

/// The functions, by their places in the span, in groups: what a function calls stands in a group before its own,
/// unless both call each other in a circle. Each group in the given order. Calls through pointers do not count, nor
/// those of symbols without a body of their own.
std::vector<std::vector<std::size_t>> calleesFirst(std::span<const ori::Function* const> functions, bool isWhole);

} // namespace orias
