#include "phases/alignment.h"

#include "encoder/isa/desc.h"
#include "ori/call_abi.h"

#include <algorithm>
#include <bit>

namespace orias::phases {

using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

unsigned zerosOf(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  return std::min<unsigned>(static_cast<unsigned>(std::countr_zero(bits)), Alignment::kMax);
}

bool isPlainShiftLeft(const Instr& instr) {
  return isa::modAs<isa::ShiftDir>(instr, Mod::ShiftDir) == isa::ShiftDir::L &&
         isa::getMod(instr.op, instr.mods, Mod::Hi) == 0;
}

} // namespace

/// All registers begin with every bit zero, and lose bits until no definition removes more. The transfer functions are
/// monotonic, so the first fixed point is the best one.
Alignment::Alignment(const ori::Function& function) : function_(function), first_(function.vregCount() + 1, 0) {
  for (std::size_t id = 0; id < function.vregCount(); ++id)
    first_[id + 1] = first_[id] + function.vreg(static_cast<ori::VRegId>(id)).width;
  zeros_.assign(first_.back(), kMax);
  for (bool changed = true; changed;) {
    changed = false;
    for (const ori::Block* block : function.layout())
      for (const Instr& instr : *block)
        for (unsigned slot = 0; slot < instr.operandCount; ++slot) {
          const ori::Operand& o = instr.op_(slot);
          if (!o.isDef || !o.isReg() || !o.isVirtual()) continue;
          for (unsigned k = 0; k < o.width; ++k) {
            std::uint8_t& known = zeros_[first_[o.reg] + o.sub + k];
            if (known == 0) continue;
            const unsigned now = result(instr, slot, k);
            if (now >= known) continue;
            known = static_cast<std::uint8_t>(now);
            changed = true;
          }
        }
  }
}

unsigned Alignment::zeros(const Operand& o, unsigned index) const {
  if (o.inverted() || o.half != Operand::Half::None) return 0;
  switch (o.kind) {
  case Operand::Kind::None: return kMax;
  case Operand::Kind::Imm: return index == 0 ? zerosOf(o.imm) : 0;
  case Operand::Kind::Frame: return std::min(zerosOf(function_.frame[o.reg].align), zerosOf(o.imm));
  case Operand::Kind::Reg: break;
  default: return 0;
  }
  if (o.isZeroReg()) return kMax;
  if (o.isVirtual()) return zeros_[first_[o.reg] + o.sub + index];
  if (o.file != isa::File::R || o.reg != ori::kStackPointer) return 0;
  // The layout aligns the objects of the frame. The area for parameters of callees is not such an object.
  constexpr unsigned kZerosOfStack = 3;
  return function_.outgoingBytes != 0 ? kZerosOfStack : kMax;
}

unsigned Alignment::result(const Instr& instr, unsigned slot, unsigned index) const {
  const auto from = [&](unsigned source) { return zeros(instr.op_(source)); };
  if (isa::desc(instr.op).has(isa::Flag::Copy)) return zeros(instr.op_(1), index);
  if (instr.op == Op::PHI) {
    unsigned known = kMax;
    for (unsigned i = 1; i < instr.operandCount; i += 2)
      known = std::min(known, instr.op_(i).isNone() ? 0 : zeros(instr.op_(i), index));
    return known;
  }
  if (index != 0) return 0; // high words of addresses
  switch (instr.op) {
  case Op::LOP3: return slot == 1 ? resultOfLogic(instr) : 0;
  case Op::SEL:
  case Op::USEL: return std::min(from(1), from(2));
  case Op::IADD64: return std::min(from(1), from(2));
  default: break;
  }
  if (slot != 0) return 0;
  switch (instr.op) {
  case Op::IADD3:
  case Op::UIADD3: return std::min({from(3), from(4), from(5)});
  case Op::IMAD:
  case Op::UIMAD: return std::min(from(1) + from(2), from(3));
  case Op::IMAD_WIDE: return std::min(from(2) + from(3), from(4));
  case Op::LEA:
  case Op::ULEA: return std::min(from(2) + static_cast<unsigned>(instr.op_(4).imm), from(3));
  case Op::SHF:
  case Op::USHF: {
    const ori::Operand& count = instr.op_(2);
    if (!isPlainShiftLeft(instr) || !count.isImm() || count.imm < 0 || count.imm > 31) return 0;
    return std::min(from(1) + static_cast<unsigned>(count.imm), kMax);
  }
  default: return 0;
  }
}

/// A bit of the result is zero if all table rows that are possible with the known input bits are zero.
unsigned Alignment::resultOfLogic(const Instr& instr) const {
  const auto table = static_cast<unsigned>(instr.op_(5).imm);
  for (unsigned bit = 0; bit < kMax; ++bit)
    for (unsigned row = 0; row < 8; ++row) {
      bool canBe = (table >> row & 1) != 0;
      for (unsigned i = 0; i < 3 && canBe; ++i)
        canBe = !((row >> (2 - i) & 1) != 0 && zeros(instr.op_(2 + i)) > bit);
      if (canBe) return bit;
    }
  return kMax;
}

} // namespace orias::phases
