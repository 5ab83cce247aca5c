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
  bool isIndirect = false; ///< a branch to where a register says
  bool fallsThrough = true;
};

/// The control flow after instruction `index` of `count`. Targets outside the code are omitted.
Flow flowOf(const isa::Inst& inst, std::uint32_t index, std::uint32_t count);
/// Of all instructions, for that target; an unknown encoding falls through.
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

/// Words that are executed one after another.
struct FlowBlock {
  std::uint32_t first = 0, end = 0; ///< instruction indices
  std::vector<FlowEdge> successors;
};

/// Targets of branches through registers, by the index of the branch: what the cubin's attributes tell.
using IndirectTargets = std::map<std::uint32_t, std::vector<std::uint32_t>>;

/// The blocks in code order. Calls end a block; their callees begin one, but have no edge from the call.
std::vector<FlowBlock> flowBlocks(std::span<const Flow> flows, const IndirectTargets& indirect = {});

} // namespace orias::encoder
