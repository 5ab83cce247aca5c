#pragma once

// The register accesses of an instruction, for dependence analyses: each 32-bit register (or predicate) that it reads
// or writes, whether that happens late, and the access's class and port in the latency tables.

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"

namespace orias::isa {

/// The latency class of an instruction with its modifiers, such as the size of a tensor operation. Prefer this to
/// InstrDesc::latencyClass.
LatencyClass latencyClassOf(Op op, std::span<const std::uint8_t, kMaxMods> mods);

/// The minimum stall count of an instruction, regardless of its successor (Target::minStall). A guarded call requires
/// no more than BMOV (observed: ptxas' code for sm_80 and sm_89; no such calls for other chips).
unsigned minStallOf(const Inst& inst, const Target& target);

/// The scoreboards that are free when the instruction has issued: those of its control fields, and those that it lists.
std::uint8_t awaitedScoreboards(const Inst& inst);

/// A register component that is read or written.
struct Touch {
  const Operand* operand = nullptr; ///< null for the predicates of P2R and R2P, which are not operands
  File file = File::R;
  std::uint32_t reg = 0;  ///< number of the register, or id of the virtual one
  unsigned component = 0; ///< of a virtual register; 0 for physical registers, whose `reg` includes it
  Access access;
  bool isDef = false;
  /// Read some time after issue, or written at an unknown time.
  bool isLate = false;
};

/// Calls f(Touch) for the guard and every register operand, sources first; zero and true registers are omitted.
/// `operands` are isa::Operand or derived from it. An operand with WidthRule::Any spans Operand::width registers.
template <typename O, typename F>
void forEachTouch(Op op, std::span<const std::uint8_t, kMaxMods> mods, const Operand& guard,
                  std::span<const O> operands, const Target& target, F&& f) {
  const InstrDesc& row = desc(op);
  constexpr SlotId kAddend = SlotId::Rc;
  const LatencyClass latencyClass = latencyClassOf(op, mods);
  const bool isQueued = target.isScoreboarded(latencyClass);
  const auto touch = [&](const Operand& operand, File file, unsigned width, Access::Port port, bool isDef,
                         bool isLate) {
    for (unsigned c = 0; c < width; ++c) {
      Access::Port at = port;
      // The halves of a 64-bit product or addend are accessed at different times; IMAD.HI only writes a high half.
      if (latencyClass == LatencyClass::ImadWide && file == File::R) {
        if (isDef && (c == 1 || width == 1)) at = Access::Port::High;
        if (port == Access::Port::Addend && c == 1) at = Access::Port::High;
      }
      // The first two registers of a matrix product are written earlier than the others.
      if (latencyClass == LatencyClass::Hmma && isDef && c > 1) at = Access::Port::High;
      const bool isVirtual = operand.isVirtual();
      f(Touch{&operand,
              file,
              operand.reg + (isVirtual ? 0 : c),
              isVirtual ? operand.sub + c : 0,
              {latencyClass, at},
              isDef,
              isLate});
    }
  };
  if (guard.isReg() && !guard.isZeroReg()) touch(guard, guard.file, 1, Access::Port::Guard, false, false);
  for (const Role role : {Role::Use, Role::Def}) {
    const bool isDef = role == Role::Def;
    std::uint32_t mask = 0;
    for (unsigned i = 0; i < operands.size(); ++i) {
      const Operand& operand = operands[i];
      const SlotDesc* slot =
          i < row.slotCount ? &row.slots[i] : nullptr; // null: a further operand of a variadic instruction
      if (operand.isImm()) mask = static_cast<std::uint32_t>(operand.imm);
      if ((slot ? row.roles[i] : Role::Use) != role) continue;
      if (operand.isConst() && operand.reg != Operand::kNoReg) { // cx[UR][..]: a descriptor of two registers
        touch(operand, File::UR, 2, Access::Port::Main, false, false);
        continue;
      }
      if (!operand.isReg() || operand.isZeroReg()) continue;
      const unsigned bySlot = slot ? operandWidth(op, mods, i) : 0;
      // R2UR and fp64 arithmetic only signal scoreboards before sm_90, and read their sources late there (observed in
      // ptxas' code: read scoreboards on 2 of 6 R2UR of sm_80, and on DFMA, DADD, DMUL and DSETP of sm_75 and sm_80).
      // On sm_103 the same is true of integer matrix products.
      const bool isQueuedBefore = latencyClass == LatencyClass::R2ur || latencyClass == LatencyClass::Fp64 ||
                                  latencyClass == LatencyClass::Imma || latencyClass == LatencyClass::ImmaShort;
      // Only the units of copies and tensor memory read uniform registers late (observed: in ptxas' code the writes
      // that overwrite them wait).
      const bool mayReadLate =
          operand.file == File::R || (operand.file == File::UR && latencyClass == LatencyClass::Tma);
      const bool readsLate = slot && (slot->readLate || isQueuedBefore) && mayReadLate;
      const bool isLate = isQueued && (isDef || readsLate);
      const bool isAddend = slot && !isDef && row.slotIds[i] == kAddend;
      // The registers that a tensor load leaves unchanged for other threads are not read: once allocated, source and
      // result are the same.
      if (isAddend && latencyClass == LatencyClass::TensorLoad && !operand.isVirtual()) continue;
      touch(operand, operand.file, bySlot != 0 ? bySlot : operand.width,
            isAddend ? Access::Port::Addend : Access::Port::Main, isDef, isLate);
    }
    // P2R reads, and R2P writes, the predicates of its mask.
    if (latencyClass == LatencyClass::PredMove && isDef == (row.slotIndex(SlotId::Rd) < 0))
      for (unsigned p = 0; p < 7; ++p)
        if ((mask >> p & 1) != 0) f(Touch{nullptr, File::P, p, 0, {latencyClass, Access::Port::Main}, isDef, false});
  }
}

template <typename F> void forEachTouch(const Inst& inst, const Target& target, F&& f) {
  forEachTouch(inst.op, std::span<const std::uint8_t, kMaxMods>(inst.mods), inst.guard,
               std::span<const Operand>(inst.operands.data(), inst.operandCount), target, f);
}

} // namespace orias::isa
