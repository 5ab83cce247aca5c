#pragma once

// Control flow of machine code, from the encodings alone.

#include "encoder/isa/isa.h"
#include "encoder/isa/target.h"

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

namespace orias::encoder {

/// Control flow after one instruction; targets are instruction indices.
struct Flow {
  std::optional<std::uint32_t> target; ///< of a branch
  std::optional<std::uint32_t> callee; ///< of a direct call
  bool isCall = false;
  bool isReturn = false;
  bool isIndirect = false; ///< a branch whose target is in a register
  bool fallsThrough = true;
};

/// The control flow after instruction `index` of `count`. Targets outside the code are omitted.
Flow flowOf(const isa::Inst& inst, std::uint32_t index, std::uint32_t count);
/// The control flow after each instruction, decoded for `target`; an unknown encoding falls through.
std::vector<Flow> flowsOf(std::span<const isa::Word> words, const isa::Target& target);

struct FlowEdge {
  enum class Kind : std::uint8_t {
    FallThrough,
    Taken,
    Indirect, ///< an entry of the jump table of an indirect branch
    AfterCall ///< to the return point of a call
  };
  std::uint32_t to = 0; ///< a block
  Kind kind = Kind::FallThrough;
  friend bool operator==(const FlowEdge&, const FlowEdge&) = default;
};

/// Words that are executed in sequence.
struct FlowBlock {
  std::uint32_t first = 0, end = 0; ///< instruction indices
  std::vector<FlowEdge> successors;
};

/// Targets of indirect branches, from the cubin's attributes, by the index of the branch.
using IndirectTargets = std::map<std::uint32_t, std::vector<std::uint32_t>>;

/// The blocks in code order. A call ends a block. Its callee begins a block, without an edge from the call.
std::vector<FlowBlock> flowBlocks(std::span<const Flow> flows, const IndirectTargets& indirect = {});

} // namespace orias::encoder
