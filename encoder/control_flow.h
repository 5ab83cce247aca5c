#pragma once

// Where control goes in machine words: for those who have nothing but the words.

#include "encoder/isa/isa.h"
#include "encoder/isa/target.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace orias::encoder {

/// Where control goes behind one word; places are indices of words.
struct Flow {
  std::optional<std::uint32_t> target; ///< of a branch
  std::optional<std::uint32_t> callee; ///< of a call, where the word names it
  bool isCall = false;
  bool isReturn = false;
  bool isIndirect = false; ///< a branch to where a register says
  bool fallsThrough = true;
};

/// The flow behind the word at `index` of `count`. Targets outside the words are left out.
Flow flowOf(const isa::Inst& inst, std::uint32_t index, std::uint32_t count);
/// Of all words, which are of that chip; a word that the table has no row for falls through.
std::vector<Flow> flowsOf(std::span<const isa::Word> words, const isa::Target& target);

struct FlowEdge {
  enum class Kind : std::uint8_t {
    FallThrough,
    Taken,
    Indirect, ///< one of the places that a table of a branch through a register names
    AfterCall ///< to the word behind a call, once that has come back
  };
  std::uint32_t to = 0; ///< a block
  Kind kind = Kind::FallThrough;
  friend bool operator==(const FlowEdge&, const FlowEdge&) = default;
};

/// Words that are executed one after another.
struct FlowBlock {
  std::uint32_t first = 0, end = 0; ///< indices of words
  std::vector<FlowEdge> successors;
};

/// Targets of branches through registers, by the index of the branch: what the cubin's attributes tell.
using IndirectTargets = std::map<std::uint32_t, std::vector<std::uint32_t>>;

/// The blocks in the order of the words. Calls end a block; their callees begin one, but have no edge from the call.
std::vector<FlowBlock> flowBlocks(std::span<const Flow> flows, const IndirectTargets& indirect = {});

} // namespace orias::encoder
