#pragma once

#include "encoder/isa/mods.h"
#include "support/ieee.h"

#include <cstdint>

// The new value of a memory location after an atomic operation or reduction.

namespace orias::emu {

/// Add, min, ... of 32 or 64 bits. The 32-bit operations use values extended according to the type.
std::uint64_t reduced(isa::AtomOp op, isa::AtomType type, std::uint64_t old, std::uint64_t value);

/// The format of a floating-point atomic, and whether it flushes subnormals.
struct FloatType {
  ieee::Format format;
  unsigned bits;  ///< of an element
  unsigned bytes; ///< of an access
  bool flushes;
};

/// Add, min or max of one element.
ieee::Bits reduced(isa::AtomOp op, const FloatType& type, ieee::Bits old, ieee::Bits value);

} // namespace orias::emu
