#pragma once

#include "ori/builder.h"

#include <cstdint>
#include <vector>

namespace orias::ori {

// Branches that choose between many blocks by a number. Until phase 80 they are JMX: the number, then a label for each
// value of it. Then they are BRX, whose operands are the predicate, the pair with the distance from the start of the
// function, the first target once more (which stands for the base), the place of its table in constant bank 2, and a
// label for each word of that table. Observed: ptxas keeps the table in `.nv.constant2.<function>` and has the words
// count from the start of the function.

inline constexpr unsigned kJmxLabels = 1; ///< first label of JMX
inline constexpr unsigned kBrxTable = 3;  ///< the place of the table
inline constexpr unsigned kBrxLabels = 4; ///< first label of BRX that stands for a word
inline constexpr unsigned kJumpEntryBytes = 4;
inline constexpr int kTableBank = 2;
/// In relocatable code a linker says where in the bank of the kernel a table lies. Offsets in LDC have a sign: the
/// register counts from here, and the offset from as far below the table (observed).
inline constexpr std::int32_t kRelocatableBase = 0x8000;

/// The words of a table, as blocks.
struct JumpTable {
  std::uint32_t offset = 0; ///< in constant bank 2, bytes
  std::vector<BlockId> targets;
};

/// Of a BRX that phase 80 has made.
JumpTable jumpTableOf(const Instr& brx);

/// JMX by `index`, a word below the number of targets.
Instr* emitJmx(Builder& builder, const isa::Operand& index, std::span<const BlockId> targets);

} // namespace orias::ori
