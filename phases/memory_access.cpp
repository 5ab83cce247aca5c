#include "phases/memory_access.h"

#include "encoder/isa/desc.h"

#include <string_view>

namespace orias::phases {

using isa::Flag;

namespace {

MemoryAccess::Space spaceOf(std::string_view name) {
  using Space = MemoryAccess::Space;
  if (name.starts_with("LDGSTS")) return Space::NotLocal;
  for (const std::string_view prefix : {"LDG", "STG", "ATOMG", "REDG", "SULD", "SUST", "SUATOM", "SURED"})
    if (name.starts_with(prefix)) return Space::Global;
  for (const std::string_view prefix : {"LDL", "STL"})
    if (name.starts_with(prefix)) return Space::Local;
  for (const std::string_view prefix : {"LDS", "STS", "ATOMS"})
    if (name.starts_with(prefix)) return Space::Shared;
  for (const std::string_view prefix : {"LDTM", "STTM"})
    if (name.starts_with(prefix)) return Space::Tensor;
  for (const std::string_view prefix : {"ATOM", "RED", "UBLK", "UTMA", "SYNCS", "ARRIVES"})
    if (name.starts_with(prefix)) return Space::NotLocal;
  return Space::Generic;
}

isa::Operand registerIn(const ori::Instr& instr, int slot) {
  if (slot < 0) return {};
  const ori::Operand& operand = instr.op_(static_cast<unsigned>(slot));
  return operand.isReg() && !operand.isZeroReg() ? operand.value() : isa::Operand();
}

/// Whether Mod::Size is the number of bytes that are moved: for rows that move matrices it counts something else.
bool movesBytes(const isa::InstrDesc& row) {
  for (const isa::SlotId name : {isa::SlotId::Rd, isa::SlotId::Rb}) {
    const int slot = row.slotIndex(name);
    if (slot >= 0) return row.slots[static_cast<unsigned>(slot)].width == isa::WidthRule::Size;
  }
  return false;
}

/// Whether this reads a texture. If the same kernel writes that memory, the result is undefined (CUDA C++ Programming
/// Guide, Texture and Surface Memory: Read/Write Coherency).
bool isTexture(const isa::InstrDesc& row) {
  if (row.pipe != isa::Pipe::Tex || !row.has(Flag::Load)) return false;
  for (const std::string_view prefix : {"TEX", "TLD", "TXD", "TXQ"})
    if (row.mnemonic.starts_with(prefix)) return true;
  return false;
}

} // namespace

MemoryAccess accessOf(const ori::Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  MemoryAccess m;
  m.isStore = row.has(Flag::Store) || row.has(Flag::Atomic);
  m.space = spaceOf(row.mnemonic);
  const int order = row.modIndex(isa::Mod::Order);
  const bool hasOrder = order >= 0 && instr.mods[order] != row.mods[order].defaultValue;
  const bool isPlainShared = instr.op == isa::Op::LDS || instr.op == isa::Op::STS;
  m.isReadOnly =
      isTexture(row) || (!m.isStore && hasOrder && instr.mods[order] == static_cast<unsigned>(isa::MemOrder::Constant));
  m.isOrdered = row.has(Flag::Atomic) || (hasOrder && !m.isReadOnly) || (isPlainShared && !instr.mayContract);

  const int a = row.slotIndex(isa::SlotId::Ra), u = row.slotIndex(isa::SlotId::URb),
            o = row.slotIndex(isa::SlotId::offset);
  const int size = row.modIndex(isa::Mod::Size);
  if (a < 0 || o < 0 || size < 0 || !movesBytes(row) || m.space == MemoryAccess::Space::NotLocal) return m;
  const bool isGeneric = m.space == MemoryAccess::Space::Generic;
  if (isGeneric && instr.op != isa::Op::LD && instr.op != isa::Op::ST) return m;
  const ori::Operand& offset = instr.op_(static_cast<unsigned>(o));
  if (!offset.isImm() && !offset.isNone()) return m;
  (isGeneric ? m.isExactGeneric : m.isExact) = true;
  m.offset = offset.imm;
  static constexpr std::uint32_t kBytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
  m.bytes = kBytes[instr.mods[size] & 7];
  m.base = registerIn(instr, a);
  m.uniformBase = registerIn(instr, u);
  return m;
}

const ori::Operand& slotOf(const ori::Instr& instr, isa::SlotId name) {
  return instr.op_(isa::desc(instr.op).slot(name));
}

bool mayCoincide(MemoryAccess::Space a, MemoryAccess::Space b) {
  using Space = MemoryAccess::Space;
  if (a == b) return true;
  if (a == Space::Tensor || b == Space::Tensor) return false;
  if (a == Space::Generic || b == Space::Generic) return true;
  if (a == Space::Local || b == Space::Local) return false;
  return a == Space::NotLocal || b == Space::NotLocal;
}

bool mayOverlap(const MemoryAccess& a, const MemoryAccess& b, bool haveSameBases) {
  if ((a.isReadOnly && b.isStore) || (b.isReadOnly && a.isStore)) return false;
  if (a.space != b.space) return mayCoincide(a.space, b.space);
  const bool areExact = (a.isExact && b.isExact) || (a.isExactGeneric && b.isExactGeneric);
  if (!areExact || !haveSameBases) return true;
  return a.offset + a.bytes > b.offset && b.offset + b.bytes > a.offset;
}

bool isTensorAccess(const ori::Instr& instr) {
  return instr.op == isa::Op::LDTM || instr.op == isa::Op::LDTM_STAT || instr.op == isa::Op::STTM;
}

bool ordersMemory(const ori::Instr& instr) {
  const bool isWarpSync = instr.op == isa::Op::WARPSYNC || instr.op == isa::Op::WARPSYNC_ALL;
  return isa::desc(instr.op).has(isa::Flag::Fence) && !(isWarpSync && instr.mayContract);
}

} // namespace orias::phases
