#include "encoder/cubin/nv_info.h"

#include <algorithm>
#include <array>
#include <map>

#include "encoder/cubin/byte_io.h"
#include "encoder/cubin/names.h"
#include "support/check.h"

namespace orias::cubin {
namespace {

/// Ids of `.nv.compat` (names as in cuobjdump). Except for the ISA class, their values are constants of the chip and
/// the toolkit.
enum : std::uint8_t {
  kCompatIsaClass = 0x02,
  kCompatTensormapV1 = 0x03,
  kCompatTcgen05Mma = 0x05,
  kCompatOpportunisticFinalization = 0x06,
  kCompatMercuryIsaVersion = 0x07,
  kCompatAcceleratorTarget = 0x09,
  kCompatFastpathFinalize = 0x0b,
};

/// EIATTR_VRC_CTA_INIT_COUNT of kernels with tensor memory (observed).
constexpr std::uint8_t kTensorInitCount = 0x80;

/// The order of the records of `.nv.info.<kernel>` in ptxas 13.0 (observed). The position of the parameters depends on
/// the chip; see `Abi::parametersLast`. Unlisted ids precede the exits.
constexpr std::array kOrder{
    AttributeId::BlocksAreClusters,
    AttributeId::CudaApiVersion,
    AttributeId::Sw2861232War,
    AttributeId::ParamCbank,
    AttributeId::CbankParamSize,
    AttributeId::KparamInfo,
    AttributeId::KparamInfoV2,
    AttributeId::ExplicitCluster,
    AttributeId::CtaPerCluster,
    AttributeId::MaxClusterRank,
    AttributeId::AtEntryFragments,
    AttributeId::ReservedSmemUsed,
    AttributeId::SparseMmaMask,
    AttributeId::Tcgen05OneCtaUsed,
    AttributeId::Tcgen05TwoCtaUsed,
    AttributeId::WmmaUsed,
    AttributeId::MaxregCount,
    AttributeId::NumBarriers,
    AttributeId::Externs,
    AttributeId::Annotations,
    AttributeId::MercuryIsaVersion,
    AttributeId::UnusedLoadByteOffset,
    AttributeId::InstrRegMap,
    AttributeId::IntWarpWideInstrOffsets,
    AttributeId::MbarrierInstrOffsets,
    AttributeId::NumMbarriers,
    AttributeId::CoopGroupMaskRegids,
    AttributeId::CoopGroupInstrOffsets,
    AttributeId::VrcCtaInitCount,
    AttributeId::SyscallOffsets,
    AttributeId::Atom16EmulInstrRegMap,
    AttributeId::ExitInstrOffsets,
    AttributeId::IndirectBranchTargets,
    AttributeId::CtaidzUsed,
    AttributeId::MaxThreads,
    AttributeId::ReqNtid,
    AttributeId::CrsStackSize,
};

std::size_t rankOf(AttributeId id, const Abi& abi) {
  const auto position = [](AttributeId wanted) {
    return static_cast<std::size_t>(std::find(kOrder.begin(), kOrder.end(), wanted) - kOrder.begin());
  };
  if (abi.parametersLast) {
    if (id == AttributeId::CbankParamSize) return kOrder.size();
    if (id == AttributeId::ParamCbank) return kOrder.size() + 1;
    if (id == AttributeId::SwWar) return kOrder.size() + 2;
  } else if (id == AttributeId::SwWar) {
    return 0; // the sort is stable, and this record is created first
  }
  const std::size_t rank = position(id);
  return rank < kOrder.size() ? rank : position(AttributeId::ExitInstrOffsets);
}

/// The space of textures, samplers and surfaces among the parameters (observed).
std::uint32_t spaceOf(HandleKind kind) {
  constexpr std::uint32_t kTexture = 6, kSurface = 7, kSampler = 8;
  return kind == HandleKind::Texture ? kTexture : kind == HandleKind::Surface ? kSurface : kSampler;
}

/// The record of a handle parameter: a symbol in the first word, without size and offset.
Attribute handleInfo(const Parameter& parameter, std::uint32_t ordinal, bool large, std::uint32_t symbol) {
  const std::uint32_t place = ordinal | 0xffffu << 16, space = spaceOf(parameter.handleKind);
  if (large) return wordsAttribute(AttributeId::KparamInfoV2, {symbol, place, space << 24});
  return wordsAttribute(AttributeId::KparamInfo, {symbol, place, 0x1fu << 12 | space << 8});
}

Attribute parameterInfo(const Parameter& parameter, std::uint32_t ordinal, bool large) {
  // The first word is 0. Words of the small form: ordinal and offset; then log2 of the pointee's alignment in
  // bits 0..7, its space in 8..11, the bank (0x1f: the default) in 12..16, "not in the bank" in 17, the size
  // in 18..31.
  const std::uint32_t place = ordinal | parameter.offset << 16;
  if (large) return wordsAttribute(AttributeId::KparamInfoV2, {0, place, parameter.size});
  return wordsAttribute(
      AttributeId::KparamInfo,
      {0, place,
       parameter.size << 18 | 0x1fu << 12 | (parameter.pointeeSpace & 0xfu) << 8 | parameter.pointeeLogAlignment});
}

Attribute shapeAttribute(AttributeId id, const Dim3& shape) {
  return wordsAttribute(id, {shape.x, shape.y, shape.z});
}

Attribute symbolListAttribute(AttributeId id, const std::vector<std::string>& names, const SymbolIndex& symbol) {
  std::vector<std::uint32_t> indices;
  for (const std::string& name : names)
    indices.push_back(symbol(name));
  return wordsAttribute(id, indices);
}

void appendParameters(std::vector<Attribute>& list, const Function& function, const Abi& abi,
                      const SymbolIndex& symbol) {
  const bool large = function.parameterSize > kSmallParameters;
  for (std::size_t i = function.parameters.size(); i-- > 0;) {
    const Parameter& parameter = function.parameters[i];
    const auto ordinal = static_cast<std::uint32_t>(i);
    list.push_back(parameter.handle.empty() ? parameterInfo(parameter, ordinal, large)
                                            : handleInfo(parameter, ordinal, large, symbol(parameter.handle)));
  }
  if (function.parameters.empty()) return;
  list.push_back(halfAttribute(AttributeId::CbankParamSize, static_cast<std::uint16_t>(function.parameterSize)));
  list.push_back(wordsAttribute(AttributeId::ParamCbank,
                                {symbol(".nv.constant0." + function.name),
                                 function.parameterSize << 16 | parameterBase(abi, function.parameterSize)}));
}

void appendOffsets(std::vector<Attribute>& list, AttributeId id, const std::vector<std::uint32_t>& offsets) {
  if (!offsets.empty()) list.push_back(wordsAttribute(id, offsets));
}

void appendCooperations(std::vector<Attribute>& list, const std::vector<WarpCooperation>& cooperations) {
  std::vector<std::uint32_t> masks;
  std::vector<std::uint32_t> offsets;
  for (const WarpCooperation& cooperation : cooperations) {
    masks.push_back(cooperation.memberMask);
    offsets.push_back(cooperation.offset);
  }
  appendOffsets(list, AttributeId::CoopGroupMaskRegids, masks);
  appendOffsets(list, AttributeId::CoopGroupInstrOffsets, offsets);
}

void appendIndirectBranches(std::vector<Attribute>& list, const std::vector<IndirectBranch>& branches) {
  std::vector<std::uint32_t> words;
  for (const IndirectBranch& branch : branches) {
    words.insert(words.end(), {branch.offset, 0, static_cast<std::uint32_t>(branch.targets.size())});
    words.insert(words.end(), branch.targets.begin(), branch.targets.end());
  }
  appendOffsets(list, AttributeId::IndirectBranchTargets, words);
}

} // namespace

std::vector<Attribute> moduleAttributes(const Module& module, const SymbolIndex& symbol) {
  std::vector<Attribute> list;
  for (const Function& function : module.functions) {
    const std::uint32_t index = symbol(function.name);
    list.push_back(wordsAttribute(AttributeId::RegCount, {index, function.registerCount}));
    if (function.maxStackSize)
      list.push_back(wordsAttribute(AttributeId::MaxStackSize, {index, *function.maxStackSize}));
    for (auto inner = function.inner.rbegin(); inner != function.inner.rend(); ++inner)
      list.push_back(wordsAttribute(AttributeId::FrameSize, {symbol(inner->name), inner->frameSize}));
    list.push_back(wordsAttribute(AttributeId::FrameSize, {index, function.frameSize}));
  }
  for (auto handle = module.handles.rbegin(); handle != module.handles.rend(); ++handle) {
    if (handle->forcesUnnormalized)
      list.push_back(wordsAttribute(AttributeId::SamplerForceUnnormalized,
                                    {symbol(handle->name), *handle->forcesUnnormalized ? 1u : 0u}));
    if (handle->start) list.push_back(wordsAttribute(AttributeId::SamplerInit, {symbol(handle->name), *handle->start}));
  }
  if (module.waitsForErrorsAtExit) list.push_back(noValueAttribute(AttributeId::GenErrbarAtExit));
  if (module.hasIndependentSamplers) list.push_back(noValueAttribute(AttributeId::TexmodeIndependent));
  std::map<std::uint32_t, std::uint32_t> minStacks; // by symbol index
  for (const Function& function : module.functions)
    if (function.isEntry && !module.relocatable) minStacks[symbol(function.name)] = function.minStackSize;
  for (const auto& [index, size] : minStacks)
    list.push_back(wordsAttribute(AttributeId::MinStackSize, {index, size}));
  if (module.functions.empty())
    list.push_back(halfAttribute(AttributeId::MercuryIsaVersion, module.abi.mercuryIsaVersion));
  return list;
}

std::vector<Attribute> functionAttributes(const Function& function, const Abi& abi, const SymbolIndex& symbol) {
  std::vector<Attribute> list;
  if (abi.softwareWorkarounds || abi.alwaysWorkarounds)
    list.push_back(wordsAttribute(AttributeId::SwWar, {abi.softwareWorkarounds}));
  list.push_back(wordsAttribute(AttributeId::CudaApiVersion, {abi.toolkitVersion}));
  if (abi.stackCheckWorkaround) list.push_back(noValueAttribute(AttributeId::Sw2861232War));
  const bool namesReserved =
      std::any_of(function.otherAttributes.begin(), function.otherAttributes.end(),
                  [](const Attribute& attribute) { return attribute.id == AttributeId::ReservedSmemUsed; });
  if (function.isEntry && abi.driverShared > abi.systemShared && !namesReserved)
    list.push_back(noValueAttribute(AttributeId::ReservedSmemUsed));
  if (abi.sparseMmaMask) list.push_back(halfAttribute(AttributeId::SparseMmaMask, 0));
  if (function.isEntry)
    list.push_back(halfAttribute(AttributeId::MaxregCount, static_cast<std::uint16_t>(function.maxRegisters)));
  list.push_back(halfAttribute(AttributeId::MercuryIsaVersion, abi.mercuryIsaVersion));
  if (abi.ctaInitCount && function.isEntry)
    list.push_back(byteAttribute(AttributeId::VrcCtaInitCount, function.usesTensorMemory ? kTensorInitCount : 0));
  appendParameters(list, function, abi, symbol);
  if (function.explicitCluster) list.push_back(noValueAttribute(AttributeId::ExplicitCluster));
  if (function.blocksAreClusters) list.push_back(noValueAttribute(AttributeId::BlocksAreClusters));
  if (function.clusterShape) list.push_back(shapeAttribute(AttributeId::CtaPerCluster, *function.clusterShape));
  if (function.maxClusterRank) list.push_back(wordsAttribute(AttributeId::MaxClusterRank, {*function.maxClusterRank}));
  if (function.barrierCount)
    list.push_back(byteAttribute(AttributeId::NumBarriers, static_cast<std::uint8_t>(function.barrierCount)));
  if (!function.externals.empty())
    list.push_back(symbolListAttribute(AttributeId::Externs, function.externals, symbol));
  appendOffsets(list, AttributeId::IntWarpWideInstrOffsets, function.warpWideOffsets);
  appendCooperations(list, function.warpCooperations);
  appendOffsets(list, AttributeId::SyscallOffsets, function.syscallOffsets);
  appendOffsets(list, AttributeId::ExitInstrOffsets, function.exitOffsets);
  appendIndirectBranches(list, function.indirectBranches);
  if (function.maxThreads) list.push_back(shapeAttribute(AttributeId::MaxThreads, *function.maxThreads));
  if (function.requiredThreads) list.push_back(shapeAttribute(AttributeId::ReqNtid, *function.requiredThreads));
  if (function.crsStackSize) list.push_back(wordsAttribute(AttributeId::CrsStackSize, {*function.crsStackSize}));
  list.insert(list.end(), function.otherAttributes.begin(), function.otherAttributes.end());
  std::stable_sort(list.begin(), list.end(),
                   [&](const Attribute& a, const Attribute& b) { return rankOf(a.id, abi) < rankOf(b.id, abi); });
  return list;
}

std::vector<Attribute> compatibilityAttributes(const Module& module) {
  const auto id = [](std::uint8_t value) { return static_cast<AttributeId>(value); };
  return {byteAttribute(id(kCompatAcceleratorTarget), module.isAccelerated ? 1 : 0),
          byteAttribute(id(kCompatIsaClass), module.isaClass),
          byteAttribute(id(kCompatTcgen05Mma), 5),
          halfAttribute(id(kCompatMercuryIsaVersion), module.abi.mercuryIsaVersion),
          byteAttribute(id(kCompatTensormapV1), 0),
          byteAttribute(id(kCompatOpportunisticFinalization), 1),
          wordsAttribute(id(kCompatFastpathFinalize), {module.abi.fastPath, 0})};
}

namespace {

std::optional<Dim3> shapeOf(const std::vector<std::uint32_t>& words) {
  if (words.size() < 3) throw Error("cubin: a shape attribute is too short");
  return Dim3{words[0], words[1], words[2]};
}

std::uint32_t wordAt(const std::vector<std::uint32_t>& words, std::size_t index) {
  if (index >= words.size()) throw Error("cubin: an attribute is too short");
  return words[index];
}

void applyParameter(Function& function, const Attribute& attribute,
                    const std::function<std::string(std::uint32_t)>& symbolName) {
  constexpr std::uint32_t kMaxParameters = 0x8000; // of at least one byte each, in at most 32 KiB
  const std::vector<std::uint32_t> words = attribute.words();
  const std::uint32_t place = wordAt(words, 1);
  const std::uint32_t details = wordAt(words, 2);
  const std::uint32_t ordinal = place & 0xffff;
  if (ordinal >= kMaxParameters) throw Error("cubin: a parameter has an invalid index");
  if (function.parameters.size() <= ordinal) function.parameters.resize(ordinal + 1);
  Parameter& parameter = function.parameters[ordinal];
  const bool isLarge = attribute.id == AttributeId::KparamInfoV2;
  const std::uint32_t space = isLarge ? details >> 24 : details >> 8 & 0xf;
  for (const HandleKind kind : {HandleKind::Texture, HandleKind::Sampler, HandleKind::Surface})
    if (space == spaceOf(kind)) {
      parameter.handleKind = kind;
      parameter.handle = symbolName(wordAt(words, 0));
      return;
    }
  parameter.offset = place >> 16;
  if (attribute.id == AttributeId::KparamInfoV2) {
    parameter.size = details;
    return;
  }
  parameter.size = details >> 18;
  parameter.pointeeSpace = details >> 8 & 0xf;
  parameter.pointeeLogAlignment = details & 0xff;
}

void applyIndirectBranches(Function& function, const std::vector<std::uint32_t>& words) {
  for (std::size_t i = 0; i < words.size();) {
    IndirectBranch branch;
    branch.offset = words[i];
    const std::uint32_t count = wordAt(words, i + 2);
    i += 3;
    if (count > words.size() - i) throw Error("cubin: an indirect branch has too many targets");
    branch.targets.assign(words.begin() + static_cast<std::ptrdiff_t>(i),
                          words.begin() + static_cast<std::ptrdiff_t>(i + count));
    i += count;
    function.indirectBranches.push_back(std::move(branch));
  }
}

} // namespace

void applyFunctionAttributes(Function& function, const std::vector<Attribute>& attributes,
                             const std::function<std::string(std::uint32_t)>& symbolName) {
  std::vector<std::uint32_t> masks;
  std::vector<std::uint32_t> cooperations;
  for (const Attribute& attribute : attributes) {
    const std::vector<std::uint32_t> words = attribute.words();
    switch (attribute.id) {
    case AttributeId::CudaApiVersion:
    case AttributeId::Sw2861232War:
    case AttributeId::SwWar:
    case AttributeId::SparseMmaMask:
    case AttributeId::MercuryIsaVersion: break; // of the chip
    case AttributeId::ParamCbank: break;        // given by the section
    case AttributeId::CbankParamSize: function.parameterSize = attribute.value; break;
    case AttributeId::KparamInfo:
    case AttributeId::KparamInfoV2: applyParameter(function, attribute, symbolName); break;
    case AttributeId::ExplicitCluster: function.explicitCluster = true; break;
    case AttributeId::BlocksAreClusters: function.blocksAreClusters = true; break;
    case AttributeId::CtaPerCluster: function.clusterShape = shapeOf(words); break;
    case AttributeId::MaxClusterRank: function.maxClusterRank = wordAt(words, 0); break;
    case AttributeId::MaxregCount: function.maxRegisters = attribute.value; break;
    case AttributeId::NumBarriers: function.barrierCount = attribute.value & 0xff; break;
    case AttributeId::Externs:
      for (std::uint32_t index : words)
        function.externals.push_back(symbolName(index));
      break;
    case AttributeId::IntWarpWideInstrOffsets: function.warpWideOffsets = words; break;
    case AttributeId::CoopGroupMaskRegids: masks = words; break;
    case AttributeId::CoopGroupInstrOffsets: cooperations = words; break;
    case AttributeId::SyscallOffsets: function.syscallOffsets = words; break;
    case AttributeId::ExitInstrOffsets: function.exitOffsets = words; break;
    case AttributeId::IndirectBranchTargets: applyIndirectBranches(function, words); break;
    case AttributeId::MaxThreads: function.maxThreads = shapeOf(words); break;
    case AttributeId::ReqNtid: function.requiredThreads = shapeOf(words); break;
    case AttributeId::CrsStackSize: function.crsStackSize = wordAt(words, 0); break;
    default: function.otherAttributes.push_back(attribute);
    }
  }
  for (std::size_t i = 0; i < cooperations.size(); ++i)
    function.warpCooperations.push_back({cooperations[i], i < masks.size() ? masks[i] : 0xffffffff});
}

} // namespace orias::cubin
