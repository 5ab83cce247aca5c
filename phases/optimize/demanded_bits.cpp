// Removes operations that change only bits that their users ignore: a mask before a left shift, the extension of a byte
// that is stored.

#include "encoder/isa/desc.h"
#include "phases/optimize/known_bits.h"

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr std::uint32_t kAll = ~0u;

/// Whether the operand is a plain word or a half of one.
bool isWord(Operand o) {
  o.half = Operand::Half::None;
  return isPlainR(o);
}

std::array<Bits, 3> logicInputs(const Rewriter& rw, const Instr& instr) {
  return {knownBits(rw, instr.op_(2).value()), knownBits(rw, instr.op_(3).value()),
          knownBits(rw, instr.op_(4).value())};
}

std::uint32_t demandedByLogic(const Rewriter& rw, const Instr& instr, unsigned slot) {
  if (slot < 2 || slot > 4) return kAll;
  std::array<Bits, 3> inputs = logicInputs(rw, instr);
  inputs[slot - 2] = {};
  const auto lut = static_cast<unsigned>(instr.op_(5).imm);
  const unsigned own = 4u >> (slot - 2);
  std::uint32_t demanded = 0;
  for (unsigned row = 0; row < 8; ++row)
    if ((lut >> row & 1) != (lut >> (row ^ own) & 1)) demanded |= bitsOfRow(inputs, row);
  return demanded;
}

std::uint32_t demandedByShift(const Rewriter& rw, const Instr& instr, unsigned slot) {
  const auto shift = wordShiftOf(rw, instr);
  if (!shift || slot != shift->slot) return kAll;
  return shift->isLeft ? kAll >> shift->count : kAll << shift->count;
}

std::uint32_t demandedByPermutation(const Rewriter& rw, const Instr& instr, unsigned slot) {
  constexpr unsigned kOtherSource = 4;
  const auto order = byteOrder(rw, instr);
  if (!order || (slot != 1 && slot != 3)) return kAll;
  std::uint32_t demanded = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned pick = *order >> (4 * i) & 15;
    if (((pick & kOtherSource) != 0) == (slot == 3)) demanded |= 0xffu << 8 * (pick & 3);
  }
  return demanded;
}

std::uint32_t demandedByStore(const Instr& instr, unsigned slot) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (slot >= row.slotCount || row.slots[slot].width != isa::WidthRule::Size) return kAll;
  switch (isa::modAs<isa::MemSize>(instr, Mod::Size)) {
  case isa::MemSize::U8:
  case isa::MemSize::S8: return 0xff;
  case isa::MemSize::U16:
  case isa::MemSize::S16: return 0xffff;
  default: return kAll;
  }
}

/// The bits of a source that can affect the result of the instruction.
std::uint32_t demandedBits(const Rewriter& rw, const Instr& instr, unsigned slot) {
  if (instr.op_(slot).half == Operand::Half::H0H0) return 0xffff;
  if (instr.op_(slot).half == Operand::Half::H1H1) return 0xffff0000;
  switch (instr.op) {
  case Op::LOP3: return demandedByLogic(rw, instr, slot);
  case Op::SHF: return demandedByShift(rw, instr, slot);
  case Op::PRMT: return demandedByPermutation(rw, instr, slot);
  case Op::ST:
  case Op::STG:
  case Op::STS:
  case Op::STL: return demandedByStore(instr, slot);
  default: return kAll;
  }
}

/// The input of a LOP3 whose demanded bits are equal to those of the result.
int equalInput(const Rewriter& rw, const Instr& logic, std::uint32_t demanded) {
  const auto lut = static_cast<unsigned>(logic.op_(5).imm);
  const std::array<Bits, 3> inputs = logicInputs(rw, logic);
  for (unsigned i = 0; i < 3; ++i) {
    bool isEqual = true;
    for (unsigned row = 0; row < 8; ++row)
      if ((lut >> row & 1) != (row >> (2 - i) & 1) && (bitsOfRow(inputs, row) & demanded) != 0) isEqual = false;
    if (isEqual) return static_cast<int>(2 + i);
  }
  return -1;
}

/// The source of a PRMT whose demanded bytes keep their positions.
int bytesInPlace(const Rewriter& rw, const Instr& permutation, std::uint32_t demanded) {
  const auto order = byteOrder(rw, permutation);
  if (!order) return -1;
  for (const auto& [slot, first] : {std::pair{1, 0u}, std::pair{3, 4u}}) {
    bool isEqual = true;
    for (unsigned i = 0; i < 4; ++i)
      if ((demanded >> 8 * i & 0xff) != 0 && (*order >> (4 * i) & 15) != first + i) isEqual = false;
    if (isEqual) return slot;
  }
  return -1;
}

/// The source slot of `instr` whose demanded bits are equal to those of the result; -1 if there is none.
int equalSource(const Rewriter& rw, const Instr& instr, std::uint32_t demanded) {
  switch (instr.op) {
  case Op::LOP3: return equalInput(rw, instr, demanded);
  case Op::PRMT: return bytesInPlace(rw, instr, demanded);
  case Op::LEA: // (Ra << n) + Rb
    return instr.op_(4).imm < 32 && demanded >> instr.op_(4).imm == 0 ? 3 : -1;
  case Op::SGXT: {
    const auto length = rw.constantOf(instr.op_(2).value());
    const bool isInside = length && (*length >= 32 || demanded >> *length == 0);
    return isInside && isa::getMod(instr.op, instr.mods, Mod::Wrap) == 0 ? 1 : -1;
  }
  default: return -1;
  }
}

bool mayHaveEqualSource(Op op) {
  return op == Op::LOP3 || op == Op::PRMT || op == Op::LEA || op == Op::SGXT;
}

} // namespace

bool ignoreUnusedBits(Rewriter& rw, Instr& instr) {
  bool isChanged = false;
  for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
    if (instr.op_(slot).isDef) continue;
    const Definition def = rw.definition(instr.op_(slot));
    if (!def || !mayHaveEqualSource(def.instr->op)) continue;
    const Operand use = instr.op_(slot).value();
    if (!isWord(use)) continue;
    const std::uint32_t demanded = demandedBits(rw, instr, slot);
    if (demanded == kAll || !rw.hasOneUse(use)) continue;
    if (def.instr->op_(def.slot).width != 1 || def.instr->op_(def.slot).file != File::R) continue;
    const int from = equalSource(rw, *def.instr, demanded);
    if (from < 0) continue;
    Operand value = def.instr->op_(static_cast<unsigned>(from)).value();
    if (!isPlainR(value) || value.isZeroReg() || !rw.isStable(value)) continue;
    value.half = use.half;
    if (!Rewriter::fitsWith(instr, slot, value)) continue;
    rw.setOperand(instr, slot, value);
    isChanged = true;
  }
  return isChanged;
}

} // namespace orias::phases
