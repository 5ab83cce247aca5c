#pragma once

#include "frontend/instr_form.h"

#include <cstdint>

namespace orias::interp {

/// Whether sums of single precision flush subnormals; those of other types keep them.
enum class Subnormals : bool { Kept, Flushed };

/// The new value of an element in memory after a reduction: `old` combined with `value`, both as the bits of `type`.
/// The halves of a packed type are combined separately. Throws Stop if there is no such operation.
std::uint64_t combined(ptx::Mod action, ptx::Type type, std::uint64_t old, std::uint64_t value,
                       Subnormals subnormals = Subnormals::Flushed);

} // namespace orias::interp
