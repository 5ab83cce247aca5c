#pragma once

#include <cstdint>

namespace orias::cubin {

/// The differences between the cubins of the chips, as data; the writer depends on nothing else. All values are those
/// of ptxas 13.0 (observed; the cic notes, `cubin_elf.md`, describe the sections).
struct Abi {
  std::uint16_t smArch = 90;
  /// e_flags: the SM number is in bits 8..15, with 64-bit address and ABI bits around it. The highest byte is the index
  /// of the section `.note.nv.cuinfo`, here that of files without debug information (observed; nvlink reads it). The
  /// lowest byte contains the kind of the code: kPlainCode or kCapsules.
  std::uint32_t elfFlags = 0x6005a04;
  std::uint8_t elfOsAbi = 0x41;
  std::uint8_t elfAbiVersion = 8;
  std::uint16_t toolkitVersion = 130; ///< 10 * major + minor: EIATTR_CUDA_API_VERSION and the cuinfo note
  std::uint16_t mercuryIsaVersion = 0x101;
  std::uint32_t paramBase = 0x210;       ///< offset of the first kernel parameter in constant bank 0
  std::uint32_t largeParamBase = 0x210;  ///< paramBase of kernels with more than kSmallParameters bytes of parameters
  std::uint32_t reservedShared = 0x400;  ///< bytes at the start of shared memory that belong to the driver
  std::uint32_t softwareWorkarounds = 8; ///< EIATTR_SW_WAR; 0 = no such attribute
  bool sharedAlias = true;               ///< has `.nv.shared.reserved.0` and its two symbols
  bool compatSection = true;             ///< has `.nv.compat`
  bool relocationActions = false;        ///< has `.nv.rel.action`
  bool addends = true;                   ///< relocations are RELA; else REL with the addend in place
  bool constant0AfterText = true;        ///< bank 0 follows code and data, and its symbols follow the functions
  bool registersInTextInfo = false;      ///< sh_info of `.text.<k>` has the register count in bits 24..31
  bool sparseMmaMask = true;             ///< EIATTR_SPARSE_MMA_MASK
  bool stackCheckWorkaround = false;     ///< EIATTR_SW2861232_WAR
  bool ctaInitCount = false;             ///< EIATTR_VRC_CTA_INIT_COUNT
  bool alwaysWorkarounds = false;        ///< EIATTR_SW_WAR even if it is 0
  bool marksAccelerated = false;         ///< EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET is 1 for targets with `a`
  std::uint32_t driverShared = 0;        ///< size of `.nv.shared.reserved.0`
  std::uint32_t systemShared = 0;        ///< end of the system's part in it
  std::uint32_t fastPath = 0;            ///< EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE
  bool parametersLast = true; ///< EIATTR_CBANK_PARAM_SIZE and PARAM_CBANK follow the exits, else precede them
  friend bool operator==(const Abi&, const Abi&) = default;
};

/// Bits of e_flags. kCapsules: the file also has `.nv.capmerc.*` and `.nv.merc.*`, from which code for other chips of
/// the family can be generated; ptxas 13.0 writes them from sm_100 on. nvlink 13.0 crashes if they are missing or
/// incomplete. It accepts files with kPlainCode as code for their chip only, and the linked file then has kPlainCode as
/// well (observed).
inline constexpr std::uint32_t kCodeKinds = 6, kPlainCode = 4, kCapsules = 2;

/// Whether the e_flags of two files are of the same chip, regardless of the kinds of their code.
constexpr bool isSameChip(std::uint32_t one, std::uint32_t other) {
  return (one & ~kCodeKinds) == (other & ~kCodeKinds);
}

/// Kernels with more bytes of parameters (PTX ISA 8.1 allows 32764) describe and place them differently.
inline constexpr std::uint32_t kSmallParameters = 0x1100;

/// Offset in constant bank 0 of the first of `parameterSize` bytes of parameters.
inline std::uint32_t parameterBase(const Abi& abi, std::uint32_t parameterSize) {
  return parameterSize > kSmallParameters ? abi.largeParamBase : abi.paramBase;
}

/// The Abi of a chip, from its row in encoder/isa/chips.inc (75, 80, 90, ...). Throws orias::Error for an unknown chip.
const Abi& abiOf(unsigned smArch);

/// Marks a file as one with capsules, although it has none: for experiments.
void markCapsules(Abi& abi);

} // namespace orias::cubin
