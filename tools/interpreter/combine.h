#pragma once

#include "frontend/instr_form.h"

#include <cstdint>

namespace orias::interp {

/// Whether sums of single precision flush subnormals; those of other types keep them.
enum class Subnormals : bool { Kept, Flushed };

/// What a reduction leaves of an element in memory: `old` combined with `value`, both as the bits of `type`. Of a
/// packed type each half is combined by itself. Throws Stop for what is no such operation.
std::uint64_t combined(ptx::Mod action, ptx::Type type, std::uint64_t old, std::uint64_t value,
                       Subnormals subnormals = Subnormals::Flushed);

} // namespace orias::interp
