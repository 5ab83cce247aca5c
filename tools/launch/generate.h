#pragma once

#include "tools/launch/formula.h"
#include "tools/launch/json_node.h"

#include <optional>
#include <string>

namespace orias::launch {

/// What a generator may look at.
struct GenerateContext {
  std::string folder;                 ///< where paths start
  std::span<const FormulaName> names; ///< for formulas
};

/// One value as JSON has it: a number, or a string with what JSON numbers cannot say ("0x7fc00000" are the bits,
/// "nan", "-inf"). Writes elementBytes(type) bytes.
void readElement(const JsonNode& node, ElementType type, std::byte* at);

/// Elements described by JSON: a number (all the same), an array (the values), a string (a formula), or an object with
/// a "generator". `elements` is how many there must be; without it the description must say it (an array), and it may
/// be fewer for an array when `allowFewer`.
std::vector<std::byte> generate(const JsonNode& node, ElementType type, std::uint64_t elements, bool allowFewer,
                                const GenerateContext& context);

/// The elements of "buffers[0].init" and the like must not take more bytes than this.
inline constexpr std::uint64_t kMaxBufferBytes = std::uint64_t{1} << 30;

} // namespace orias::launch
