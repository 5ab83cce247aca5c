#pragma once

#include <cstdint>

namespace orias::cubin {

/// How the cubin of one chip differs from that of another, as data: the writer looks at nothing else.
/// All values are those of ptxas 13.0 (observed; the sections are described in the cic notes, `cubin_elf.md`).
struct Abi {
  std::uint16_t smArch = 90;
  /// e_flags: the SM number in bits 8..15, 64-bit addresses and ABI bits around it; in the highest byte the number of
  /// the section `.note.nv.cuinfo`, here that of files without debug information (observed; nvlink looks there).
  /// The lowest byte says what code there is: kPlainCode or kCapsules.
  std::uint32_t elfFlags = 0x6005a04;
  std::uint8_t elfOsAbi = 0x41;
  std::uint8_t elfAbiVersion = 8;
  std::uint16_t toolkitVersion = 130; ///< 10 * major + minor: EIATTR_CUDA_API_VERSION and the cuinfo note
  std::uint16_t mercuryIsaVersion = 0x101;
  std::uint32_t paramBase = 0x210;       ///< offset of the first kernel parameter in constant bank 0
  std::uint32_t largeParamBase = 0x210;  ///< the same for kernels with more than kSmallParameters bytes of parameters
  std::uint32_t reservedShared = 0x400;  ///< bytes at the start of shared memory that belong to the driver
  std::uint32_t softwareWorkarounds = 8; ///< EIATTR_SW_WAR; 0 = no such attribute
  bool sharedAlias = true;               ///< has `.nv.shared.reserved.0` and its two symbols
  bool compatSection = true;             ///< has `.nv.compat`
  bool relocationActions = false;        ///< has `.nv.rel.action`
  bool addends = true;                   ///< relocations are RELA; else REL with the addend in place
  bool constant0AfterText = true;        ///< bank 0 comes behind code and data, and its symbols behind the functions
  bool registersInTextInfo = false;      ///< sh_info of `.text.<k>` carries the register count in bits 24..31
  bool sparseMmaMask = true;             ///< EIATTR_SPARSE_MMA_MASK
  bool stackCheckWorkaround = false;     ///< EIATTR_SW2861232_WAR
  bool ctaInitCount = false;             ///< EIATTR_VRC_CTA_INIT_COUNT
  bool alwaysWorkarounds = false;        ///< EIATTR_SW_WAR even when it is 0
  bool marksAccelerated = false;         ///< EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET is 1 for targets with `a`
  std::uint32_t driverShared = 0;        ///< size of `.nv.shared.reserved.0`
  std::uint32_t systemShared = 0;        ///< of that, where the system's part ends
  std::uint32_t fastPath = 0;            ///< EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE
  bool parametersLast = true; ///< EIATTR_CBANK_PARAM_SIZE and PARAM_CBANK stand behind the exits, else in front
  friend bool operator==(const Abi&, const Abi&) = default;
};

/// Bits of e_flags. kCapsules: the file also has `.nv.capmerc.*` and `.nv.merc.*`, from which code for other chips of
/// the family can be made, as those that ptxas 13.0 writes from sm_100 on. nvlink 13.0 crashes where they are missing
/// or incomplete; it takes files with kPlainCode as code for their chip alone, and links them to one that has
/// kPlainCode, too (observed).
inline constexpr std::uint32_t kCodeKinds = 6, kPlainCode = 4, kCapsules = 2;

/// Whether the e_flags of two files name one chip, whatever the kinds of their code.
constexpr bool isSameChip(std::uint32_t one, std::uint32_t other) {
  return (one & ~kCodeKinds) == (other & ~kCodeKinds);
}

/// Kernels with more bytes of parameters than this (PTX ISA 8.1 allows 32764) describe and place them in another way.
inline constexpr std::uint32_t kSmallParameters = 0x1100;

/// Offset in constant bank 0 of the first of `parameterSize` bytes of parameters.
inline std::uint32_t parameterBase(const Abi& abi, std::uint32_t parameterSize) {
  return parameterSize > kSmallParameters ? abi.largeParamBase : abi.paramBase;
}

/// The container facts of one chip, by its row in encoder/isa/chips.inc (75, 80, 90, ...). Throws orias::Error for a
/// chip that is not known.
const Abi& abiOf(unsigned smArch);

/// Marks a file as one with capsules, without giving it any: for experiments.
void markCapsules(Abi& abi);

} // namespace orias::cubin
