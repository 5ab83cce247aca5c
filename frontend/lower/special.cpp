// Special registers. The constant or hardware register of each was observed in ptxas' code for sm_90.

#include "frontend/lower/special.h"

#include "frontend/lower/function_lowering.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

Value specialRegister(FunctionLowering& f, SpecialRegister reg, Component part) {
  const unsigned axis = part == Component::None ? 0 : static_cast<unsigned>(part) - static_cast<unsigned>(Component::X);
  auto hardware = [&](std::int32_t number) {
    IsaOperand r = f.newR();
    f.b().emit(IsaOp::S2R, {r, IsaOperand::immediate(number)});
    return Value::of(r);
  };
  const isa::ConstantBank& bank = f.target().bank0();
  auto bank0 = [&](std::uint32_t offset, unsigned words = 1) {
    IsaOperand r = f.newR(words), record = IsaOperand::rz();
    if (f.target().isInRecord(offset)) {
      const IsaOperand size = f.newR();
      record = f.newR();
      f.b().emit(IsaOp::CS2R, {size, IsaOperand::immediate(kSrCgaSize)}, {{IsaMod::Size, 0}});
      f.b().emit(IsaOp::IMAD, {record, size, f.imm(-isa::Target::kRecordBytes), IsaOperand::rz()});
    }
    f.emit(IsaOp::LDC, {r, IsaOperand::immediate(0), record, IsaOperand::immediate(static_cast<std::int32_t>(offset))},
           {{IsaMod::Size, words == 2 ? isa::MemSize::B64 : isa::MemSize::B32}});
    return Value::of(r);
  };
  auto counter = [&](std::int32_t number, unsigned words) {
    IsaOperand r = f.newR(words);
    f.b().emit(IsaOp::CS2R, {r, IsaOperand::immediate(number)}, {{IsaMod::Size, words == 2 ? 1 : 0}});
    return Value::of(r);
  };
  /// Bits [shift, shift + width) of a hardware register.
  auto bits = [&](std::int32_t number, unsigned shift, unsigned width) {
    IsaOperand shifted = f.newR(), r = f.newR();
    f.emit(IsaOp::SHF, {shifted, IsaOperand::rz(), f.imm(shift), hardware(number).word(0)},
           {{IsaMod::ShiftDir, isa::ShiftDir::R}, {IsaMod::ShiftType, isa::ShiftType::U32}, {IsaMod::Hi, 1}});
    f.emit(IsaOp::LOP3, {IsaOperand::pt(), r, shifted, f.imm((1 << width) - 1), IsaOperand::rz(), f.imm(0xc0),
                         IsaOperand::pt().notted()});
    return Value::of(r);
  };
  /// The index of the CTA's cluster in the grid. The quotient is computed in floating point, which is exact enough
  /// here.
  auto clusterId = [&] {
    IsaOperand cta = f.newR(), product = f.newR(), id = f.newR();
    f.b().emit(IsaOp::I2F, {cta, hardware(kSrCtaIdX + static_cast<std::int32_t>(axis)).word(0)},
               {{IsaMod::DstFmt, isa::Fmt::F32}, {IsaMod::SrcFmt, isa::IntFmt::U32}});
    f.b().emit(IsaOp::FMUL, {product, cta, bank0(bank.clusterReciprocal + 4 * axis).word(0)});
    f.b().emit(IsaOp::F2I, {id, product},
               {{IsaMod::DstFmt, isa::IntFmt::U32},
                {IsaMod::SrcFmt, isa::Fmt::F32},
                {IsaMod::Round, isa::RoundInt::Trunc},
                {IsaMod::Ntz, 1}});
    return id;
  };
  if (part == Component::W) {
    // The fourth component exists for old programs only and is 0.
    return Value::constant(0, 1);
  }
  const auto numberOf = [reg](SpecialRegister first) {
    return static_cast<std::uint32_t>(reg) - static_cast<std::uint32_t>(first);
  };
  if (reg >= SpecialRegister::Pm && reg <= SpecialRegister::PmLast)
    return counter(kSrPm0 + 2 * static_cast<std::int32_t>(numberOf(SpecialRegister::Pm)), 1);
  if (reg >= SpecialRegister::Pm64 && reg <= SpecialRegister::Pm64Last)
    return counter(kSrPm0 + 2 * static_cast<std::int32_t>(numberOf(SpecialRegister::Pm64)), 2);
  if (reg >= SpecialRegister::EnvReg && reg <= SpecialRegister::EnvRegLast)
    return bank0(bank.envReg + 4 * numberOf(SpecialRegister::EnvReg));
  // The allocated shared memory minus the part reserved by the system.
  const auto sharedOfProgram = [&] {
    const IsaOperand r = f.newR(), kept = bank0(bank.systemSharedSize).word(0);
    f.b().emit(IsaOp::IADD3, {r, IsaOperand::pt(), IsaOperand::pt(), hardware(kSrSmemSize).word(0), kept.negated(),
                              IsaOperand::rz()});
    return Value::of(r);
  };
  if (reg >= SpecialRegister::ReservedSmemOffsetBegin && reg <= SpecialRegister::ReservedSmemOffsetLast)
    f.out().usesReservedShared = true;
  const bool systemFirst = f.target().has(isa::Capability::SystemSharedFirst);
  switch (reg) {
  case SpecialRegister::Tid: return hardware(kSrTidX + static_cast<std::int32_t>(axis));
  case SpecialRegister::CtaId: return hardware(kSrCtaIdX + static_cast<std::int32_t>(axis));
  case SpecialRegister::Ntid: return bank0(f.target().ntidOffset(axis));
  case SpecialRegister::NCtaId: return bank0(f.target().nctaidOffset(axis));
  case SpecialRegister::LaneId: return hardware(kSrLaneId);
  case SpecialRegister::WarpId: return bits(kSrVirtId, 8, 7);
  case SpecialRegister::NWarpId:
    return f.target().has(isa::Capability::WarpLimitRegister) ? bits(kSrVirtCfg, 8, 8)
                                                              : Value::constant(f.target().maxWarpsPerSm(), 1);
  case SpecialRegister::SmId: return hardware(kSrVirtualSmId);
  case SpecialRegister::LaneMaskEq: return hardware(kSrEqMask);
  case SpecialRegister::LaneMaskLt: return hardware(kSrLtMask);
  case SpecialRegister::LaneMaskLe: return hardware(kSrLeMask);
  case SpecialRegister::LaneMaskGt: return hardware(kSrGtMask);
  case SpecialRegister::LaneMaskGe: return hardware(kSrGeMask);
  case SpecialRegister::Clock: return counter(kSrClockLo, 1);
  case SpecialRegister::ClockHi: return counter(kSrClockLo + 1, 1);
  case SpecialRegister::Clock64: return counter(kSrClockLo, 2);
  case SpecialRegister::GlobalTimer: return counter(kSrGlobalTimerLo, 2);
  case SpecialRegister::GlobalTimerLo: return counter(kSrGlobalTimerLo, 1);
  case SpecialRegister::GlobalTimerHi: return counter(kSrGlobalTimerLo + 1, 1);
  case SpecialRegister::DynamicSmemSize: return bank0(f.target().dynamicSharedSizeOffset());
  case SpecialRegister::TotalSmemSize: return bank.systemSharedSize == 0 ? hardware(kSrSmemSize) : sharedOfProgram();
  case SpecialRegister::AggrSmemSize: {
    const IsaOperand r = f.newR();
    f.b().emit(IsaOp::VIMNMX, {r, hardware(kSrSmemSize).word(0), bank0(bank.largestShared).word(0), IsaOperand::pt()},
               {{IsaMod::Type, isa::IntType::U32}});
    return Value::of(r);
  }
  case SpecialRegister::NSmId: return bank0(bank.smCount);
  case SpecialRegister::GridId: return bank0(bank.gridId, 2);
  case SpecialRegister::CurrentGraphExec: return bank0(bank.graphExec, 2);
  case SpecialRegister::NClusterId: return bank0(bank.clusters + 4 * axis);
  case SpecialRegister::ClusterNCtaId: return bank0(bank.clusterShape + 4 * axis);
  case SpecialRegister::ClusterNCtaRank: return bank0(bank.clusterSize);
  case SpecialRegister::ClusterCtaRank: return hardware(kSrCgaCtaId);
  case SpecialRegister::ClusterId: return Value::of(clusterId());
  case SpecialRegister::ClusterCtaId: {
    IsaOperand r = f.newR(), shape = bank0(bank.clusterShape + 4 * axis).word(0), before = f.newR();
    f.b().emit(IsaOp::IMAD, {before, clusterId(), shape, IsaOperand::rz()});
    f.b().emit(IsaOp::IADD3,
               {r, IsaOperand::pt(), IsaOperand::pt(), hardware(kSrCtaIdX + static_cast<std::int32_t>(axis)).word(0),
                before.negated(), IsaOperand::rz()});
    return Value::of(r);
  }
  // The shared memory reserved by the system is before the CTA's own, or after it.
  case SpecialRegister::ReservedSmemOffsetBegin: return systemFirst ? Value::constant(0, 1) : sharedOfProgram();
  case SpecialRegister::ReservedSmemOffset:
    // The value of the symbol .nv.reservedSmem.offset0 (observed).
    return systemFirst ? Value::constant(f.target().chip().cubin.systemShared, 1) : sharedOfProgram();
  case SpecialRegister::ReservedSmemOffsetCap:
    return systemFirst ? Value::constant(f.target().sharedBase(), 1) : hardware(kSrSmemSize);
  case SpecialRegister::ReservedSmemOffsetEnd: return bank0(bank.systemSharedEnd);
  case SpecialRegister::ReservedSmemOffsetLast: return bank0(bank.systemSharedEnd + 4);
  default: break;
  }
  f.unsupported(fmt::format("the special register read by {}", f.opcodeText()));
  return Value::constant(0, 1);
}

isa::Operand specialPredicate(FunctionLowering& f, SpecialRegister reg) {
  if (reg != SpecialRegister::IsExplicitCluster) {
    f.unsupported(fmt::format("the special register read by {}", f.opcodeText()));
    return IsaOperand::pt();
  }
  const IsaOperand word = f.newR(), p = f.newP();
  f.emit(IsaOp::LDC, {word, IsaOperand::immediate(0), IsaOperand::rz(), f.imm(f.target().bank0().explicitCluster)},
         {{IsaMod::Size, isa::MemSize::B32}});
  f.emit(IsaOp::ISETP, {p, IsaOperand::pt(), word, f.imm(1), IsaOperand::pt()},
         {{IsaMod::Cmp, isa::ICmp::EQ}, {IsaMod::Type, isa::IntType::S32}, {IsaMod::Bool, isa::BoolOp::AND}});
  return p;
}

} // namespace orias::ptx
