#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace orias::isa {

/// The index of the latency tables: instructions of one class have equal latencies in every dependence. The split
/// follows Mesa NAK's for sm_80 and sm_100, because the minimum distances observed in ptxas' code agree with it.
/// Whether a class has a fixed latency or signals a scoreboard is a property of the chip: Target::isScoreboarded.
enum class LatencyClass : std::uint8_t {
  None, ///< pseudo instructions

  // Arithmetic of the vector datapath.
  Alu,       ///< IADD3 LOP3 SHF LEA PRMT I2FP F2FP F2IP I2IP IABS SGXT BMSK VABSDIFF ...
  Select,    ///< MOV SEL FSEL ISETP FSETP FMNMX IMNMX VIMNMX VHMNMX: as Alu, but a cycle later on sm_120
  Alu64,     ///< IADD.64 MOV.64 SEL.64 ISETP.64 of sm_120
  PredLogic, ///< PLOP3, PSETP: on the ALU, and read uniform predicates
  PredMove,  ///< P2R and R2P: read or write many predicates at once
  Vote,      ///< VOTE
  Dispatch,  ///< CS2R, LEPC, RPCMOV: executed by the dispatcher
  Fma,       ///< FFMA FADD FMUL FSWZADD
  Imad,      ///< IMAD with a 32-bit result (IMAD.MOV, .SHL, .IADD, .X too), IDP, VIADD
  ImadWide,  ///< IMAD.WIDE, IMAD.HI: the two halves are ready at different times
  Fp16,      ///< HADD2 HFMA2 HMUL2
  Fp16Alu,   ///< HSET2 HSETP2 HMNMX2, HADD2.F32
  Hfma2Mma,  ///< HFMA2.MMA: fp16 on the fp64 pipe
  Fp64,      ///< DADD DMUL DFMA DSETP
  Clmad,     ///< CLMAD
  Hmma,      ///< HMMA; in dependences, every tensor operation of full size (16816 of 16 bits, 16832 of 8 bits, ...)
  Imma,      ///< IMMA, BMMA of full size
  MmaShort,  ///< tensor operations of half that size: HMMA.1688.F16, HMMA.1684.TF32, ...
  ImmaShort, ///< IMMA.16816, IMMA.SP.16832, ...
  MmaTiny,   ///< IMMA.8816, BMMA.88128, ...
  Dmma,      ///< DMMA

  // The memory and special-function queue (MIO).
  Xu,           ///< MUFU F2F F2I I2F FRND POPC FLO BREV FCHK
  ConstLoad,    ///< LDC
  SharedLoad,   ///< LDS, LDSM, MOVM
  SharedStore,  ///< STS, STSM, STAS
  SharedAtomic, ///< ATOMS
  Load,         ///< LDG, LD, LDL
  Store,        ///< STG, ST, STL
  Atomic,       ///< ATOM, ATOMG
  Reduce,       ///< RED, REDG, REDAS
  Shuffle,      ///< SHFL
  Match,        ///< MATCH
  SpecialRead,  ///< S2R, B2R, GETLMEMBASE
  SpaceQuery,   ///< QSPC
  Barrier,      ///< BAR
  Fence,        ///< MEMBAR, ERRBAR, FENCE, CGAERRBAR
  CacheControl, ///< CCTL, CCTLL
  AsyncCopy,    ///< LDGSTS, LDGDEPBAR, ARRIVES
  Syncs,        ///< SYNCS (mbarrier)
  Gmma,         ///< HGMMA, IGMMA, BGMMA, QGMMA
  WarpGroup,    ///< WARPGROUP, WARPGROUPSET
  Texture,      ///< TEX, TLD, TLD4, TXQ, SULD, SUST, SURED, SUATOM ...
  TensorLoad,   ///< LDTM
  TensorStore,  ///< STTM: reads registers as early as those of Xu

  // Front end and control.
  Nop,    ///< NOP, PMTRIG
  Depbar, ///< DEPBAR
  Branch, ///< BRA BRX JMP JMX CALL RET EXIT KILL BPT
  Cbu,    ///< BSYNC BREAK WARPSYNC YIELD NANOSLEEP and others that may switch threads
  Bssy,   ///< BSSY, ENDCOLLECTIVE, ELECT: on the convergence unit, but do not switch threads
  Bmov,   ///< BMOV: its result signals a scoreboard

  // The uniform datapath.
  Udp,       ///< UIADD3 ULOP3 USHF ULEA UIMAD UISETP USEL UPRMT UFLO UPOPC UPLOP3 ...
  Umov,      ///< UMOV, ULEPC
  Uldc,      ///< ULDC
  Voteu,     ///< VOTEU
  R2ur,      ///< R2UR
  S2ur,      ///< S2UR, REDUX, UCGABAR_*: results of other units in uniform registers
  Tma,       ///< UTMA*, UBLK*
  SetMaxReg, ///< USETMAXREG

  kCount
};
inline constexpr unsigned kLatencyClassCount = static_cast<unsigned>(LatencyClass::kCount);

/// The name as written above; used by the latency data files and by reports.
std::string_view nameOf(LatencyClass latencyClass);

} // namespace orias::isa
