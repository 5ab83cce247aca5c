#pragma once

#include "ori/builder.h"

#include <cstdint>
#include <vector>

namespace orias::ori {

// Indirect branches through a jump table. Until phase 80 they are JMX: the index, then a label for each of its
// values. Then they are BRX, whose operands are the predicate, the pair with the offset from the start of
// the function, the first target again (as the base), the offset of the table in constant bank 2, and a label
// for each entry of the table. Observed: ptxas puts the table in `.nv.constant2.<function>`, with offsets
// from the start of the function.

inline constexpr unsigned kJmxLabels = 1; ///< first label of JMX
inline constexpr unsigned kBrxTable = 3;  ///< offset of the table
inline constexpr unsigned kBrxLabels = 4; ///< first label of BRX that is a table entry
inline constexpr unsigned kJumpEntryBytes = 4;
inline constexpr int kTableBank = 2;
/// In relocatable code the linker places the table in the bank of the kernel. Offsets of LDC are signed: the register
/// counts from this constant, and the offset from the same distance below the table (observed).
inline constexpr std::int32_t kRelocatableBase = 0x8000;

/// The entries of a table, as blocks.
struct JumpTable {
  std::uint32_t offset = 0; ///< in constant bank 2, bytes
  std::vector<BlockId> targets;
};

/// The table of a BRX from phase 80.
JumpTable jumpTableOf(const Instr& brx);

/// JMX by `index`, a 32-bit value below the number of targets.
Instr* emitJmx(Builder& builder, const isa::Operand& index, std::span<const BlockId> targets);

} // namespace orias::ori
