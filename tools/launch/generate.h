#pragma once

#include "tools/launch/formula.h"
#include "tools/launch/json_node.h"

#include <optional>
#include <string>

namespace orias::launch {

/// The data that a generator may use.
struct GenerateContext {
  std::string folder;                 ///< base of relative paths
  std::span<const FormulaName> names; ///< for formulas
};

/// Reads one JSON value: a number, or a string for values that JSON numbers cannot express ("0x7fc00000" are the bits,
/// "nan", "-inf"). Writes elementBytes(type) bytes.
void readElement(const JsonNode& node, ElementType type, std::byte* at);

/// Elements described by JSON: a number (all the same), an array (the values), a string (a formula), or an object with
/// a "generator". `elements` is the required number. Without it the description must give it (an array); an array may
/// have fewer if `allowFewer`.
std::vector<std::byte> generate(const JsonNode& node, ElementType type, std::uint64_t elements, bool allowFewer,
                                const GenerateContext& context);

/// The maximum number of bytes of the elements of "buffers[0].init" and similar.
inline constexpr std::uint64_t kMaxBufferBytes = std::uint64_t{1} << 30;

} // namespace orias::launch
