#pragma once

#include "ori/instr.h"

#include <cstdint>
#include <string_view>

namespace orias::phases {

/// What a memory instruction touches, as far as its operands tell: the facts about memory that phases share.
struct MemoryAccess {
  enum class Space : std::uint8_t { Generic, Global, Local, Shared, Tensor };
  Space space = Space::Generic;
  bool isStore = false;     ///< writes; atomics do, too
  bool isOrdered = false;   ///< volatile, relaxed or stronger, atomic: keeps its order with others of the kind
  bool isReadOnly = false;  ///< loads memory that is not written while the kernel runs (.nc)
  bool isExact = false;     ///< the address is the two registers plus `offset`, and `bytes` says how much is touched
  isa::Operand base;        ///< Kind::None when there is none
  isa::Operand uniformBase; ///< likewise
  std::int64_t offset = 0;
  std::uint32_t bytes = 0;
};

/// The operand in the slot of that name ("Rd", "Ra"), which the instruction must have.
const ori::Operand& slotOf(const ori::Instr& instr, std::string_view name);

/// For loads, stores and atomics. Shared memory has no modifier for ordered accesses: there, the ones that PTX calls
/// weak are marked by Instr::mayContract.
MemoryAccess accessOf(const ori::Instr& instr);

/// Whether other threads' accesses may count from here on. WARPSYNC of bar.warp.sync orders memory; one that only
/// brings lanes together for a shuffle or the like does not (Instr::mayContract).
bool ordersMemory(const ori::Instr& instr);

/// May the two touch the same bytes, given whether their base registers are known to hold the same values?
bool mayOverlap(const MemoryAccess& a, const MemoryAccess& b, bool haveSameBases);

/// Is it a load from tensor memory, or a store to it?
bool isTensorAccess(const ori::Instr& instr);

/// Must the two stay in order? True when one of them writes what the other may touch, or when both are ordered.
inline bool mustStayInOrder(const MemoryAccess& a, const MemoryAccess& b, bool haveSameBases) {
  if (a.isOrdered && b.isOrdered) return true;
  // What orders tensor memory with other threads' accesses leaves no instruction behind (tcgen05.fence).
  using Space = MemoryAccess::Space;
  if ((a.isOrdered || b.isOrdered) && (a.space == Space::Tensor || b.space == Space::Tensor)) return true;
  if (!a.isStore && !b.isStore) return false;
  return mayOverlap(a, b, haveSameBases);
}

} // namespace orias::phases
