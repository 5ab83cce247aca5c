#pragma once

#include "tools/launch/launch.h"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// An element of a buffer: its bytes, its value, its text.

namespace orias::launch {

/// Wide enough for every 64-bit value, signed or not, and for their products.
__extension__ using Integer = __int128;

bool isFloat(ElementType type);
bool isSigned(ElementType type); ///< of an integer type
std::optional<ElementType> findElementType(std::string_view name);
/// Every type, in the order of the enumeration.
std::span<const ElementType> elementTypes();

/// The value at `at`, of an integer type.
Integer loadInteger(ElementType type, const std::byte* at);
/// The value at `at`, of a floating type: exact.
double loadFloat(ElementType type, const std::byte* at);

/// Stores the low bits of `value`; for a floating type the nearest value.
void storeInteger(ElementType type, Integer value, std::byte* at);
/// Stores the nearest value, ties to even; for an integer type the truncated value, which must fit into 64 bits.
void storeFloat(ElementType type, double value, std::byte* at);

/// Shortest digits that give the same value again; "nan", "-inf".
std::string elementText(ElementType type, const std::byte* at);

/// Whether `got` equals `wanted` within the tolerance.
bool elementsAgree(ElementType type, const std::byte* got, const std::byte* wanted, const Tolerance& tolerance);

} // namespace orias::launch
