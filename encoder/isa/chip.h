#pragma once

// The rows of the table of chips (chips.inc).

#include "encoder/isa/latency_class.h"

#include <cstdint>
#include <string_view>

namespace orias::isa {

/// Features and requirements of some of the chips. Code outside the table only checks these.
enum class Capability : std::uint32_t {
  Clusters = 1 << 0,             ///< CTAs form clusters, which have barriers, special registers and constants
  AlignedWindows = 1 << 1,       ///< generic addresses: the window of shared memory is aligned to 4 GB
  ParamWindowStart = 1 << 2,     ///< generic addresses: the window of parameters begins with the first parameter
  AsyncBarriers = 1 << 3,        ///< SYNCS has mbarriers with byte counts; else they are expanded into atomics
  LabelAddresses = 1 << 4,       ///< LEPC gives the address of any label; else only its own
  UnifiedFunctions = 1 << 5,     ///< linkers maintain a table of the functions whose address is taken
  UniformConstants = 1 << 6,     ///< constants are read by the uniform datapath rather than as operands
  LocalCacheControl = 1 << 7,    ///< CCTLL, for prefetches of local memory
  BitDifferences = 1 << 8,       ///< BMMA counts differing bits
  WarpLimitRegister = 1 << 9,    ///< VIRTCFG contains the maximum number of warps of the multiprocessor
  SystemSharedFirst = 1 << 10,   ///< the system's part of shared memory precedes the program's; else it follows
  MemoryDescriptors = 1 << 11,   ///< memory instructions take `desc[UR]`
  SwapsZero = 1 << 12,           ///< compare-and-swap accepts RZ
  EmptyBarriers = 1 << 13,       ///< convergence barriers are emptied before each BSSY
  BarrierSetup = 1 << 14,        ///< each kernel starts with the setup of the convergence barriers
  VectorMinMax = 1 << 15,        ///< VIMNMX replaces IMNMX
  UniformTextures = 1 << 16,     ///< handles of textures and surfaces are in uniform registers
  QuadTextures = 1 << 17,        ///< derivatives that TXD does not support: one lane of a quad after the other
  JoinedSamplers = 1 << 18,      ///< one word is the handle of a texture and its sampler
  AluIntegerToFloat = 1 << 19,   ///< I2FP, which converts integers in the integer pipe
  UniformRegisters = 1 << 22,    ///< the uniform datapath, with integers
  UniformReduction = 1 << 23,    ///< REDUX: reduces the lanes into a uniform register
  UniformFloat = 1 << 24,        ///< UFADD, UFFMA, UFSEL, UFSETP
  UniformLoadConstant = 1 << 25, ///< LDCU
  LoadConstantAsText = 1 << 26,  ///< LDCU in listings that are not assembled (the literature on sm_90)
  ClusterRecords = 1 << 27,      ///< some constants are in records, selected by SR_CgaSize (Target::isInRecord)
  MinMaxReduction = 1 << 28,     ///< CREDUX: minima and maxima of the lanes, which REDUX does not have
  LoadsConstants = 1 << 29       ///< only loads have constant operands
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
/// The capabilities in `a` that are not in `b`.
constexpr Capabilities operator-(Capabilities a, Capabilities b) {
  a.bits &= ~b.bits;
  return a;
}

/// The encoding of words.
enum class WordFormat : std::uint8_t { Sm75, Sm80, Sm90, Sm100, Sm120 };

/// The data files of encoder/isa/latency.
enum class LatencyModel : std::uint8_t { Sm75, Sm80, Sm90, Sm100, Sm103, Sm110, Sm120 };

/// Byte offsets of the driver's words in constant bank 0; 0 for words that the chip does not have.
struct ConstantBank {
  std::uint32_t params, largeParams; ///< the first parameter; largeParams: in kernels with many bytes of parameters
  std::uint32_t ntid, nctaid;        ///< x; y and z follow
  std::uint32_t sharedWindow, localWindow, constWindow; ///< 64 bits: the generic address of address 0
  /// 64 bits: the generic address of the bank, or with Capability::ParamWindowStart of the first parameter.
  std::uint32_t paramWindow;
  std::uint32_t paramEnd; ///< the end of the parameters in the bank; or, 64 bits, the generic address of the last one
  std::uint32_t stackPointer, dynamicSharedSize;
  std::uint32_t systemSharedSize; ///< the system's part of shared memory; 0: SMEMSZ does not count it
  std::uint32_t globalDescriptor; ///< 64 bits: the descriptor of plain global accesses
  std::uint32_t textureTable, samplerTable, surfaceTable; ///< 64 bits: the driver's tables of them
  std::uint32_t gridId, envReg, smCount;                  ///< gridId: 64 bits; envReg: %envreg0, the others follow
  std::uint32_t
      systemSharedEnd;         ///< the end of the first part of the system's shared memory; that of the second follows
  std::uint32_t graphExec;     ///< 64 bits
  std::uint32_t largestShared; ///< the maximum of %aggr_smem_size
  // With Capability::Clusters.
  std::uint32_t explicitCluster;                           ///< 1: launched with clusters
  std::uint32_t clusterShape, clusterReciprocal, clusters; ///< x; y and z follow; the reciprocal as f32
  std::uint32_t clusterSize;
};

/// The layout of cubins, from which encoder/cubin derives the details. RelaOfBlackwell: as Rela, with EIATTR_SW_WAR
/// even if it is 0, EIATTR_VRC_CTA_INIT_COUNT, and the mark of targets with `a` in `.nv.compat`.
enum class CubinLayout : std::uint8_t { Rel, Rela, RelaOfBlackwell };

struct CubinFacts {
  CubinLayout layout;
  std::uint32_t elfFlags;
  std::uint32_t softwareWorkarounds; ///< EIATTR_SW_WAR; 0 = no such attribute
  bool stackCheckWorkaround;         ///< EIATTR_SW2861232_WAR
  std::uint32_t reservedShared = 0;  ///< size of `.nv.shared.reserved.0`
  /// The system's part of reservedShared; %reserved_smem_offset_0 is its end. The rest belongs to a workaround.
  std::uint32_t systemShared = 0;
  std::uint32_t fastPath = 0; ///< EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE
};

/// The resources of a multiprocessor.
struct OccupancyLimits {
  unsigned warps, blocks;
  std::uint32_t sharedPerSm, sharedPerBlock; ///< bytes; dynamic memory included
  std::uint32_t sharedReserved, sharedGranule;
};

/// One row of the table.
struct Chip {
  std::string_view name, virtualName;
  unsigned smVersion;
  char suffix;      ///< 'a': features of this chip only; 'f': features of its family; 0: neither
  unsigned ptxIsa;  ///< the lowest `.version` with the chip, 78 = 7.8
  bool isAssembled; ///< kernels are compiled for it; else its words are only decoded
  WordFormat words;
  std::uint16_t instructions; ///< its bit in InstrDesc::sms
  Capabilities capabilities;
  std::uint16_t uniformRegisters; ///< usable by programs, without the zero register
  const ConstantBank* bank0;
  std::uint32_t sharedBase; ///< first shared address that belongs to the program
  CubinFacts cubin;
  OccupancyLimits occupancy;
  LatencyModel latencyModel;
};

} // namespace orias::isa
