#pragma once

#include "tools/interpreter/translate.h"

// What the files of copies beside the thread share.

namespace orias::interp {

/// Bytes that the barrier at an address expects have come.
void bytesCame(Thread& thread, Space space, std::uint64_t address, std::uint64_t bytes);

/// One arrival of a unit that works beside the threads.
void arriveOnce(Thread& thread, Space space, std::uint64_t address);

/// The blocks of the cluster that get a copy. One that there is not stops the run.
std::vector<std::uint32_t> multicastRanks(const Thread& thread, std::uint16_t mask);
/// Data and the barrier that hears of it lie in one block; otherwise the run stops.
void checkSameBlock(std::uint64_t data, std::uint64_t barrier);

/// Emits the sum of an address and its offset: the slot that holds it.
std::uint32_t sumOf(FunctionTranslator& t, const Address& at);

/// Bulk copies, and stores and reductions in shared memory of which a barrier hears.
bool translateBulk(FunctionTranslator& t);

} // namespace orias::interp
