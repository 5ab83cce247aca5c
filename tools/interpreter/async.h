#pragma once

#include "tools/interpreter/translate.h"

// What the files of copies beside the thread share.

namespace orias::interp {

/// Bytes that the barrier at an address expects have come.
void bytesCame(Thread& thread, Space space, std::uint64_t address, std::uint64_t bytes);

/// Emits the sum of an address and its offset: the slot that holds it.
std::uint32_t sumOf(FunctionTranslator& t, const Address& at);

/// Bulk copies, and stores and reductions in shared memory of which a barrier hears.
bool translateBulk(FunctionTranslator& t);

} // namespace orias::interp
