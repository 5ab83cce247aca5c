#pragma once

#include <optional>
#include <span>
#include <vector>

#include "encoder/cubin/module.h"

namespace orias::cubin {

/// The unwind table (`.debug_frame`, DWARF 3 in its 64-bit form) and the addresses in it that the loader fills in.
struct DebugFrame {
  Bytes bytes;
  std::vector<Relocation> relocations; ///< in order of creation; addends are also stored in the section
};

/// Adds the entries of one function and of the functions inside it.
void addDebugFrame(DebugFrame& frame, const Function& function, const Module& module);

/// Reads the entry (FDE) of one function, `descriptor`. Sets the two frame offsets where they differ from those that
/// addDebugFrame() chooses by default. Does not change them if the entry contains anything else.
void readFrameRows(Function& function, std::span<const std::byte> descriptor);

/// The register of a return address expression, nullopt for other expressions. `expression` is its bytes after the
/// address, at least eight.
std::optional<std::uint8_t> returnRegisterAt(std::span<const std::byte> expression);

} // namespace orias::cubin
