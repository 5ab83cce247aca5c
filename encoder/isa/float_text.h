#pragma once

// Floating-point immediates as nvdisasm writes them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orias::isa {

enum class FloatFormat : std::uint8_t { F16, Bf16, F32, F64 };

/// The value of `bits`: "0.5", "1.07374182400000000000e+09", "-0.0", "+INF", "-QNAN".
std::string floatText(std::uint64_t bits, FloatFormat format);

/// The bits of a number, rounded to nearest; nullopt if the text is not a number.
std::optional<std::uint64_t> parseFloat(std::string_view text, FloatFormat format);

} // namespace orias::isa
