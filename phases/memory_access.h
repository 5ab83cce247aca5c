#pragma once

#include "encoder/isa/slot_id.h"
#include "ori/instr.h"

#include <cstdint>
#include <string_view>

namespace orias::phases {

/// The memory that an instruction accesses, as far as its operands show. Phases share these facts.
struct MemoryAccess {
  enum class Space : std::uint8_t {
    Generic, ///< any but Tensor
    Global,
    Local,
    Shared,
    Tensor,
    NotLocal ///< Global or Shared, or both: asynchronous copies, generic atomics
  };
  Space space = Space::Generic;
  bool isStore = false;    ///< writes memory; also set for atomics
  bool isOrdered = false;  ///< volatile, relaxed or stronger, atomic: keeps its order with other such accesses
  bool isReadOnly = false; ///< loads memory that is not written while the kernel runs (.nc)
  bool isExact = false;    ///< the address is the two registers plus `offset`, and `bytes` is the size of the access
  bool isExactGeneric = false; ///< the same for LD and ST, whose address is generic
  isa::Operand base;           ///< Kind::None if there is none
  isa::Operand uniformBase;    ///< likewise
  std::int64_t offset = 0;
  std::uint32_t bytes = 0;
};

/// The operand in the slot of that name ("Rd", "Ra"), which the instruction must have.
const ori::Operand& slotOf(const ori::Instr& instr, isa::SlotId name);

/// For loads, stores and atomics. Shared memory has no modifier for ordered accesses: there, Instr::mayContract marks
/// those that are weak in PTX.
MemoryAccess accessOf(const ori::Instr& instr);

/// Whether accesses of other threads may become visible here. The WARPSYNC of bar.warp.sync orders memory. One that
/// only synchronizes lanes, for a shuffle for example, does not (Instr::mayContract).
bool ordersMemory(const ori::Instr& instr);

/// Whether accesses to the two spaces may be to the same memory.
bool mayCoincide(MemoryAccess::Space a, MemoryAccess::Space b);

/// Whether the two may access the same bytes. `haveSameBases`: their base registers are known to hold the same values.
bool mayOverlap(const MemoryAccess& a, const MemoryAccess& b, bool haveSameBases);

/// Whether this is a load from tensor memory, or a store to it.
bool isTensorAccess(const ori::Instr& instr);

/// Whether the two must stay in order: one of them writes what the other may access, or both are ordered.
inline bool mustStayInOrder(const MemoryAccess& a, const MemoryAccess& b, bool haveSameBases) {
  if (a.isOrdered && b.isOrdered) return true;
  // The order of tensor memory with accesses of other threads (tcgen05.fence) has no instruction of its own.
  using Space = MemoryAccess::Space;
  if ((a.isOrdered || b.isOrdered) && (a.space == Space::Tensor || b.space == Space::Tensor)) return true;
  if (!a.isStore && !b.isStore) return false;
  return mayOverlap(a, b, haveSameBases);
}

} // namespace orias::phases
