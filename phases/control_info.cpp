#include "phases/control_info.h"

#include "encoder/isa/codec.h"
#include "regalloc/calls.h"

#include <algorithm>
#include <array>
#include <utility>

namespace orias::phases {

namespace {

/// Whether to set bit 109, "go on with this warp". ptxas sets it unless the warp will stall for a result.
bool goesOn(const FlatInstr& f, unsigned stall, const isa::Target& target) {
  constexpr unsigned kIssueStall = 2;      // what the pipes themselves require
  constexpr unsigned kLongestGoingOn = 11; // with the bit, longer stalls are invalid (observed: nvdisasm rejects them)
  if (stall > kLongestGoingOn) return false;
  return stall <= kIssueStall || target.isScoreboarded(f.latencyClass) || f.latencyClass == isa::LatencyClass::Branch ||
         f.latencyClass == isa::LatencyClass::Cbu || f.latencyClass == isa::LatencyClass::Bssy;
}

using PortBits = std::array<unsigned, isa::kMaxOperands>;

/// For each operand that is a plain register and may be kept for reuse: the reuse bit of its port. None for
/// instructions that wait in a queue.
PortBits reusePorts(const FlatInstr& f, const isa::Target& target) {
  PortBits bits{};
  const ori::Instr& instr = *f.instr;
  if (target.isScoreboarded(f.latencyClass)) return bits;
  const isa::InstrDesc& row = isa::desc(instr.op);
  std::array<isa::Operand, isa::kMaxOperands> operands;
  if (instr.operandCount > operands.size()) return bits;
  for (unsigned i = 0; i < instr.operandCount; ++i)
    operands[i] = instr.op_(i).value();
  bits = isa::reuseBits(instr.op, {operands.data(), instr.operandCount});
  for (unsigned i = 0; i < instr.operandCount; ++i)
    if (!operands[i].isReg(isa::File::R) || operands[i].isZeroReg() || row.slots[i].readLate) bits[i] = 0;
  return bits;
}

/// Keeps operands in the operand cache of their port if the next instruction reads them through the same port.
void setReuse(const FlatCode& code) {
  for (const FlatBlock& block : code.blocks) {
    PortBits ports = block.first == block.end ? PortBits{} : reusePorts(code.instrs[block.first], code.target());
    for (std::uint32_t i = block.first; i + 1 < block.end; ++i) {
      const PortBits nextPorts = reusePorts(code.instrs[i + 1], code.target());
      const PortBits ownPorts = std::exchange(ports, nextPorts);
      ori::Instr& now = *code.instrs[i].instr;
      const ori::Instr& next = *code.instrs[i + 1].instr;
      // The hardware requires the hint "go on with this warp" along with the reuse flags.
      if (!now.control.yield || now.control.stall == 0) continue;
      for (unsigned s = 0; s < now.operandCount; ++s) {
        if (ownPorts[s] == 0) continue;
        const ori::Operand& kept = now.op_(s);
        bool isReadAgain = false, isWritten = false;
        for (unsigned n = 0; n < next.operandCount; ++n)
          isReadAgain |= nextPorts[n] == ownPorts[s] && next.op_(n).reg == kept.reg && next.op_(n).width == kept.width;
        for (const RegAccess& t : code.touches(code.instrs[i]))
          isWritten |= t.isDef && fileOf(t.unit) == isa::File::R && (t.unit & 0xff) - kept.reg < kept.width;
        // Physical operands are in no use list, and no other code depends on this flag.
        if (isReadAgain && !isWritten) now.operands[s].flags |= isa::Operand::kReuse;
      }
    }
  }
}

ori::Instr* makeNop(ori::Function& function, unsigned stall, ori::Source source) {
  ori::Instr* nop = function.create(isa::Op::NOP, {}, source);
  nop->control.stall = static_cast<std::uint8_t>(stall);
  return nop;
}

} // namespace

void assignControlInfo(ori::Function& function, const ControlOptions& options) {
  FlatCode code(function);
  const isa::Target& target = code.target();
  assignScoreboards(code, options.isSerial);
  const Stalls stalls = computeStalls(code, options.isSerial);

  for (std::uint32_t b = 0; b < code.blocks.size(); ++b) {
    const FlatBlock& block = code.blocks[b];
    for (std::uint32_t i = block.first; i < block.end; ++i) {
      ori::Instr* instr = code.instrs[i].instr;
      const unsigned stall = std::min(stalls.after[i], target.maxStall());
      instr->control.stall = static_cast<std::uint8_t>(stall);
      instr->control.yield = goesOn(code.instrs[i], stall, target);
      // WARPGROUP.DEPBAR with a wait mask is invalid (observed: nvdisasm rejects it, and ptxas never emits it).
      if (instr->op == isa::Op::WARPGROUP_DEPBAR && instr->control.waitMask != 0) {
        ori::Instr* nop = makeNop(function, 1, instr->source);
        nop->control.waitMask = std::exchange(instr->control.waitMask, std::uint8_t{0});
        function.insertBefore(instr, nop);
      }
      ori::Instr* last = instr;
      for (unsigned rest = stalls.after[i] - stall; rest != 0;) {
        const unsigned part = std::min(rest, target.maxStall());
        last = function.insertAfter(last, makeNop(function, part, instr->source));
        rest -= part;
      }
    }
    for (unsigned rest = stalls.before[b]; rest != 0;) {
      const unsigned part = std::min(rest, target.maxStall());
      ori::Instr* first = block.block->first;
      ori::Instr* nop = makeNop(function, part, first ? first->source : ori::Source{});
      first ? function.insertBefore(first, nop) : function.append(block.block, nop);
      rest -= part;
    }
  }
  if (options.setsReuse && !options.isSerial) setReuse(code);
  regalloc::settleReturnAddresses(function);
}

} // namespace orias::phases
