#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The attribute lists of a cubin: `.nv.info`, `.nv.info.<kernel>` (EIATTR) and `.nv.compat` (EICOMPAT) are sequences
/// of records {format, id, 16-bit value or payload length, payload}. Sources: CuAssembler's CuNVInfo.py (formats,
/// names), the names that cuobjdump 13.0 prints, observed.
namespace orias::cubin {

enum class AttributeFormat : std::uint8_t {
  NoValue = 1, ///< EIFMT_NVAL
  Byte = 2,    ///< EIFMT_BVAL
  Half = 3,    ///< EIFMT_HVAL
  Sized = 4,   ///< EIFMT_SVAL: `payload` follows
};

enum class AttributeId : std::uint8_t {
  CtaidzUsed = 0x04,
  MaxThreads = 0x05,
  SamplerInit = 0x09,
  ParamCbank = 0x0a,
  Externs = 0x0f,
  ReqNtid = 0x10,
  FrameSize = 0x11,
  MinStackSize = 0x12,
  SamplerForceUnnormalized = 0x13,
  BindlessTextureBank = 0x15,
  BindlessSurfaceBank = 0x16,
  KparamInfo = 0x17,
  CbankParamSize = 0x19,
  MaxregCount = 0x1b,
  ExitInstrOffsets = 0x1c,
  S2rCtaidInstrOffsets = 0x1d,
  CrsStackSize = 0x1e,
  MaxStackSize = 0x23,
  LdCachemodInstrOffsets = 0x25,
  AtomSysInstrOffsets = 0x27,
  CoopGroupInstrOffsets = 0x28,
  CoopGroupMaskRegids = 0x29,
  WmmaUsed = 0x2b,
  Atom16EmulInstrRegMap = 0x2e,
  RegCount = 0x2f,
  IntWarpWideInstrOffsets = 0x31,
  IndirectBranchTargets = 0x34,
  Sw2861232War = 0x35,
  SwWar = 0x36,
  CudaApiVersion = 0x37,
  NumMbarriers = 0x38,
  MbarrierInstrOffsets = 0x39,
  CtaPerCluster = 0x3d,
  ExplicitCluster = 0x3e,
  MaxClusterRank = 0x3f,
  InstrRegMap = 0x40,
  ReservedSmemUsed = 0x41,
  UnusedLoadByteOffset = 0x44,
  KparamInfoV2 = 0x45,
  SyscallOffsets = 0x46,
  VrcCtaInitCount = 0x4a,
  NumBarriers = 0x4c,
  TexmodeIndependent = 0x4d,
  AtEntryFragments = 0x4f,
  SparseMmaMask = 0x50,
  Tcgen05OneCtaUsed = 0x51,
  Tcgen05TwoCtaUsed = 0x52,
  GenErrbarAtExit = 0x53,
  Annotations = 0x55,
  BlocksAreClusters = 0x5b,
  MercuryIsaVersion = 0x5f,
};

/// One record. `value` is the byte or half of the short formats; `payload` follows in the sized format.
struct Attribute {
  AttributeFormat format = AttributeFormat::NoValue;
  AttributeId id{};
  std::uint16_t value = 0;
  std::vector<std::byte> payload;

  /// The payload as little-endian 32-bit words (an incomplete word at the end is ignored).
  std::vector<std::uint32_t> words() const;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

Attribute noValueAttribute(AttributeId id);
Attribute byteAttribute(AttributeId id, std::uint8_t value);
Attribute halfAttribute(AttributeId id, std::uint16_t value);
Attribute wordsAttribute(AttributeId id, std::span<const std::uint32_t> words);
inline Attribute wordsAttribute(AttributeId id, std::initializer_list<std::uint32_t> words) {
  return wordsAttribute(id, std::span(words.begin(), words.size()));
}

/// The name that cuobjdump prints ("EIATTR_REGCOUNT"); empty for unknown ids.
std::string_view attributeName(AttributeId id);

/// Throws orias::Error if a record does not fit into `bytes` or has an unknown format.
std::vector<Attribute> parseAttributes(std::span<const std::byte> bytes);
std::vector<std::byte> serializeAttributes(std::span<const Attribute> attributes);

} // namespace orias::cubin
