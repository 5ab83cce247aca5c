#pragma once

// What one row of the table of chips says (chips.inc).

#include "encoder/isa/latency_class.h"

#include <cstdint>
#include <string_view>

namespace orias::isa {

/// What some chips have or want and others do not. Everything outside of the table asks for these by name.
enum class Capability : std::uint32_t {
  Clusters = 1 << 0,             ///< CTAs come in clusters, which have barriers, special registers and constants
  AlignedWindows = 1 << 1,       ///< generic addresses: the window of shared memory is aligned to 4 GB
  ParamWindowStart = 1 << 2,     ///< generic addresses: the window of parameters begins with the first of them
  AsyncBarriers = 1 << 3,        ///< SYNCS knows mbarriers with counts of bytes; else they are made of atomics
  LabelAddresses = 1 << 4,       ///< LEPC gives the address of any place; else only its own
  UnifiedFunctions = 1 << 5,     ///< linkers keep a table of the functions whose address is taken
  UniformConstants = 1 << 6,     ///< constants are read by the uniform datapath rather than as operands
  LocalCacheControl = 1 << 7,    ///< CCTLL, for prefetches of local memory
  BitDifferences = 1 << 8,       ///< BMMA counts bits that differ
  WarpLimitRegister = 1 << 9,    ///< VIRTCFG tells how many warps the multiprocessor takes
  SystemSharedFirst = 1 << 10,   ///< what the system keeps of shared memory lies in front of the program's; else behind
  MemoryDescriptors = 1 << 11,   ///< memory instructions take `desc[UR]`
  SwapsZero = 1 << 12,           ///< compare-and-swap takes RZ
  EmptyBarriers = 1 << 13,       ///< convergence barriers are emptied before each BSSY
  BarrierSetup = 1 << 14,        ///< each kernel sets the convergence barriers up first
  VectorMinMax = 1 << 15,        ///< VIMNMX stands for IMNMX
  UniformTextures = 1 << 16,     ///< textures and surfaces are named by uniform registers
  QuadTextures = 1 << 17,        ///< derivatives that TXD does not take: the lanes of a quad take their turns
  JoinedSamplers = 1 << 18,      ///< one word names a texture and its sampler
  AluIntegerToFloat = 1 << 19,   ///< I2FP, which converts integers in the integer pipe
  SignedMinMax = 1 << 20,        ///< FMNMX and HMNMX2 take the product of the signs
  ByteFloats = 1 << 21,          ///< conversions to and from floats of 8 bits
  UniformRegisters = 1 << 22,    ///< the uniform datapath, with integers
  UniformReduction = 1 << 23,    ///< REDUX: from the lanes into a uniform register
  UniformFloat = 1 << 24,        ///< UFADD, UFFMA, UFSEL, UFSETP
  UniformLoadConstant = 1 << 25, ///< LDCU
  LoadConstantAsText = 1 << 26,  ///< LDCU in listings that nobody assembles (the literature on sm_90)
  ClusterRecords = 1 << 27,  ///< some constants are in records, of which SR_CgaSize chooses one (Target::isInRecord)
  MinMaxReduction = 1 << 28, ///< CREDUX: minima and maxima of the lanes, which REDUX does not give
  LoadsConstants = 1 << 29   ///< only loads name constants, other instructions do not
};

struct Capabilities {
  std::uint32_t bits = 0;
  constexpr Capabilities() = default;
  constexpr Capabilities(Capability one) : bits(static_cast<std::uint32_t>(one)) {}
  constexpr bool has(Capability one) const { return (bits & static_cast<std::uint32_t>(one)) != 0; }
};
constexpr Capabilities operator|(Capabilities a, Capabilities b) {
  a.bits |= b.bits;
  return a;
}
constexpr Capabilities operator|(Capability a, Capability b) {
  return Capabilities(a) | Capabilities(b);
}
/// What is in `a` and not in `b`.
constexpr Capabilities operator-(Capabilities a, Capabilities b) {
  a.bits &= ~b.bits;
  return a;
}

/// In which form words are written; encoder/isa/older_words.h translates those before Sm90.
enum class WordFormat : std::uint8_t { Sm75, Sm80, Sm90, Sm100, Sm120 };

/// The data files of encoder/isa/latency.
enum class LatencyModel : std::uint8_t { Sm75, Sm80, Sm90, Sm100, Sm103, Sm110, Sm120 };

/// Where constant bank 0 holds what the driver tells a kernel: byte offsets; 0 where the chip has no such word.
struct ConstantBank {
  std::uint32_t params, largeParams;                    ///< the first parameter; in kernels with many bytes of them
  std::uint32_t ntid, nctaid;                           ///< x; y and z follow
  std::uint32_t sharedWindow, localWindow, constWindow; ///< 64 bits: the generic address of address 0
  /// 64 bits: the generic address of the bank, or with Capability::ParamWindowStart of the first parameter.
  std::uint32_t paramWindow;
  std::uint32_t paramEnd; ///< where in the bank parameters end; or, 64 bits, the generic address of the last one
  std::uint32_t stackPointer, dynamicSharedSize;
  std::uint32_t systemSharedSize; ///< what the system keeps of shared memory; 0: SMEMSZ does not count it
  std::uint32_t globalDescriptor; ///< 64 bits: of plain global accesses
  std::uint32_t textureTable, samplerTable, surfaceTable; ///< 64 bits: in which the driver describes them
  std::uint32_t gridId, envReg, smCount;                  ///< gridId: 64 bits; envReg: %envreg0, the others follow
  std::uint32_t systemSharedEnd;                          ///< of the first part of the system's; the second follows
  std::uint32_t graphExec;                                ///< 64 bits
  std::uint32_t largestShared;                            ///< %aggr_smem_size is no larger
  // With Capability::Clusters.
  std::uint32_t explicitCluster;                           ///< 1: launched with clusters
  std::uint32_t clusterShape, clusterReciprocal, clusters; ///< x; y and z follow; the reciprocal as f32
  std::uint32_t clusterSize;
};

/// The layout of cubins, from which encoder/cubin works out the rest. RelaOfBlackwell: as Rela, with EIATTR_SW_WAR even
/// when it is 0, EIATTR_VRC_CTA_INIT_COUNT, and the mark of targets with `a` in `.nv.compat`.
enum class CubinLayout : std::uint8_t { Rel, Rela, RelaOfBlackwell };

struct CubinFacts {
  CubinLayout layout;
  std::uint32_t elfFlags;
  std::uint32_t softwareWorkarounds; ///< EIATTR_SW_WAR; 0 = no such attribute
  bool stackCheckWorkaround;         ///< EIATTR_SW2861232_WAR
  std::uint32_t reservedShared = 0;  ///< size of `.nv.shared.reserved.0`
  /// Of that, what the system has; %reserved_smem_offset_0 is its end. What lies behind it belongs to a workaround.
  std::uint32_t systemShared = 0;
  std::uint32_t fastPath = 0; ///< EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE
};

/// What a multiprocessor holds.
struct OccupancyLimits {
  unsigned warps, blocks;
  std::uint32_t sharedPerSm, sharedPerBlock; ///< bytes; dynamic memory included
  std::uint32_t sharedReserved, sharedGranule;
};

/// One row.
struct Chip {
  std::string_view name, virtualName;
  unsigned smVersion;
  char suffix;      ///< 'a': what only this chip has; 'f': what its family has; 0
  unsigned ptxIsa;  ///< the lowest `.version` that knows the chip, 78 = 7.8
  bool isAssembled; ///< kernels are compiled for it; else its words are read only
  WordFormat words;
  std::uint16_t instructions; ///< its bit in InstrDesc::sms
  Capabilities capabilities;
  std::uint16_t uniformRegisters; ///< that a program can name, the zero register not counted
  const ConstantBank* bank0;
  std::uint32_t sharedBase; ///< first shared address that belongs to the program
  CubinFacts cubin;
  OccupancyLimits occupancy;
  LatencyModel latencyModel;
};

} // namespace orias::isa
