#pragma once

#include <optional>
#include <span>
#include <vector>

#include "encoder/cubin/module.h"

namespace orias::cubin {

/// The unwind table (`.debug_frame`, DWARF 3 in its 64-bit form) and the addresses in it that the loader fills.
struct DebugFrame {
  Bytes bytes;
  std::vector<Relocation> relocations; ///< in order of creation; addends are also stored in the section
};

/// Adds the entries of one function and of the functions inside it.
void addDebugFrame(DebugFrame& frame, const Function& function, const Module& module);

/// The other direction, for one function: `descriptor` is its entry (FDE) in the table. Sets the two frame offsets
/// where they are not those that addDebugFrame() would choose itself; leaves them alone when the entry says other
/// things.
void readFrameRows(Function& function, std::span<const std::byte> descriptor);

/// The register of the return address expression whose bytes behind the address are `expression`, if it is one. They
/// are at least eight.
std::optional<std::uint8_t> returnRegisterAt(std::span<const std::byte> expression);

} // namespace orias::cubin
