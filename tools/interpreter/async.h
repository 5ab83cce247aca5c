#pragma once

#include "tools/interpreter/translate.h"

// Common declarations for asynchronous copies.

namespace orias::interp {

/// Signals the arrival of bytes to the barrier at an address.
void bytesCame(Thread& thread, Space space, std::uint64_t address, std::uint64_t bytes);

/// One arrival by an asynchronous unit.
void arriveOnce(Thread& thread, Space space, std::uint64_t address);

/// The blocks of the cluster that get a copy. Stops the run if one does not exist.
std::vector<std::uint32_t> multicastRanks(const Thread& thread, std::uint16_t mask);
/// Data and its barrier must be in one block; otherwise the run stops.
void checkSameBlock(std::uint64_t data, std::uint64_t barrier);

/// Emits the sum of an address and its offset. Returns the slot with the result.
std::uint32_t sumOf(FunctionTranslator& t, const Address& at);

/// Translates bulk copies, and stores and reductions in shared memory that signal a barrier.
bool translateBulk(FunctionTranslator& t);

} // namespace orias::interp
