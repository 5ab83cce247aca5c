#include "encoder/cubin/attributes.h"

#include <algorithm>
#include <array>

#include "encoder/cubin/byte_io.h"
#include "support/check.h"

namespace orias::cubin {
namespace {

struct Name {
  std::uint8_t id;
  std::string_view text;
};

/// In the order of the ids.
constexpr std::array kNames{
    Name{0x01, "EIATTR_PAD"},
    Name{0x02, "EIATTR_IMAGE_SLOT"},
    Name{0x03, "EIATTR_JUMPTABLE_RELOCS"},
    Name{0x04, "EIATTR_CTAIDZ_USED"},
    Name{0x05, "EIATTR_MAX_THREADS"},
    Name{0x06, "EIATTR_IMAGE_OFFSET"},
    Name{0x07, "EIATTR_IMAGE_SIZE"},
    Name{0x08, "EIATTR_TEXTURE_NORMALIZED"},
    Name{0x09, "EIATTR_SAMPLER_INIT"},
    Name{0x0a, "EIATTR_PARAM_CBANK"},
    Name{0x0b, "EIATTR_SMEM_PARAM_OFFSETS"},
    Name{0x0c, "EIATTR_CBANK_PARAM_OFFSETS"},
    Name{0x0d, "EIATTR_SYNC_STACK"},
    Name{0x0e, "EIATTR_TEXID_SAMPID_MAP"},
    Name{0x0f, "EIATTR_EXTERNS"},
    Name{0x10, "EIATTR_REQNTID"},
    Name{0x11, "EIATTR_FRAME_SIZE"},
    Name{0x12, "EIATTR_MIN_STACK_SIZE"},
    Name{0x13, "EIATTR_SAMPLER_FORCE_UNNORMALIZED"},
    Name{0x14, "EIATTR_BINDLESS_IMAGE_OFFSETS"},
    Name{0x15, "EIATTR_BINDLESS_TEXTURE_BANK"},
    Name{0x16, "EIATTR_BINDLESS_SURFACE_BANK"},
    Name{0x17, "EIATTR_KPARAM_INFO"},
    Name{0x18, "EIATTR_SMEM_PARAM_SIZE"},
    Name{0x19, "EIATTR_CBANK_PARAM_SIZE"},
    Name{0x1a, "EIATTR_QUERY_NUMATTRIB"},
    Name{0x1b, "EIATTR_MAXREG_COUNT"},
    Name{0x1c, "EIATTR_EXIT_INSTR_OFFSETS"},
    Name{0x1d, "EIATTR_S2RCTAID_INSTR_OFFSETS"},
    Name{0x1e, "EIATTR_CRS_STACK_SIZE"},
    Name{0x1f, "EIATTR_NEED_CNP_WRAPPER"},
    Name{0x20, "EIATTR_NEED_CNP_PATCH"},
    Name{0x21, "EIATTR_EXPLICIT_CACHING"},
    Name{0x22, "EIATTR_ISTYPEP_USED"},
    Name{0x23, "EIATTR_MAX_STACK_SIZE"},
    Name{0x24, "EIATTR_SUQ_USED"},
    Name{0x25, "EIATTR_LD_CACHEMOD_INSTR_OFFSETS"},
    Name{0x26, "EIATTR_LOAD_CACHE_REQUEST"},
    Name{0x27, "EIATTR_ATOM_SYS_INSTR_OFFSETS"},
    Name{0x28, "EIATTR_COOP_GROUP_INSTR_OFFSETS"},
    Name{0x29, "EIATTR_COOP_GROUP_MASK_REGIDS"},
    Name{0x2a, "EIATTR_SW1850030_WAR"},
    Name{0x2b, "EIATTR_WMMA_USED"},
    Name{0x2c, "EIATTR_HAS_PRE_V10_OBJECT"},
    Name{0x2d, "EIATTR_ATOMF16_EMUL_INSTR_OFFSETS"},
    Name{0x2e, "EIATTR_ATOM16_EMUL_INSTR_REG_MAP"},
    Name{0x2f, "EIATTR_REGCOUNT"},
    Name{0x30, "EIATTR_SW2393858_WAR"},
    Name{0x31, "EIATTR_INT_WARP_WIDE_INSTR_OFFSETS"},
    Name{0x32, "EIATTR_SHARED_SCRATCH"},
    Name{0x33, "EIATTR_STATISTICS"},
    Name{0x34, "EIATTR_INDIRECT_BRANCH_TARGETS"},
    Name{0x35, "EIATTR_SW2861232_WAR"},
    Name{0x36, "EIATTR_SW_WAR"},
    Name{0x37, "EIATTR_CUDA_API_VERSION"},
    Name{0x38, "EIATTR_NUM_MBARRIERS"},
    Name{0x39, "EIATTR_MBARRIER_INSTR_OFFSETS"},
    Name{0x3a, "EIATTR_COROUTINE_RESUME_ID_OFFSETS"},
    Name{0x3b, "EIATTR_SAM_REGION_STACK_SIZE"},
    Name{0x3c, "EIATTR_PER_REG_TARGET_PERF_STATS"},
    Name{0x3d, "EIATTR_CTA_PER_CLUSTER"},
    Name{0x3e, "EIATTR_EXPLICIT_CLUSTER"},
    Name{0x3f, "EIATTR_MAX_CLUSTER_RANK"},
    Name{0x40, "EIATTR_INSTR_REG_MAP"},
    Name{0x41, "EIATTR_RESERVED_SMEM_USED"},
    Name{0x42, "EIATTR_RESERVED_SMEM_0_SIZE"},
    Name{0x43, "EIATTR_UCODE_SECTION_DATA"},
    Name{0x44, "EIATTR_UNUSED_LOAD_BYTE_OFFSET"},
    Name{0x45, "EIATTR_KPARAM_INFO_V2"},
    Name{0x46, "EIATTR_SYSCALL_OFFSETS"},
    Name{0x48, "EIATTR_GRAPHICS_GLOBAL_CBANK"},
    Name{0x49, "EIATTR_SHADER_TYPE"},
    Name{0x4a, "EIATTR_VRC_CTA_INIT_COUNT"},
    Name{0x4b, "EIATTR_TOOLS_PATCH_FUNC"},
    Name{0x4c, "EIATTR_NUM_BARRIERS"},
    Name{0x4d, "EIATTR_TEXMODE_INDEPENDENT"},
    Name{0x4e, "EIATTR_PERF_STATISTICS"},
    Name{0x4f, "EIATTR_AT_ENTRY_FRAGMENTS"},
    Name{0x50, "EIATTR_SPARSE_MMA_MASK"},
    Name{0x51, "EIATTR_TCGEN05_1CTA_USED"},
    Name{0x52, "EIATTR_TCGEN05_2CTA_USED"},
    Name{0x53, "EIATTR_GEN_ERRBAR_AT_EXIT"},
    Name{0x54, "EIATTR_REG_RECONFIG"},
    Name{0x55, "EIATTR_ANNOTATIONS"},
    Name{0x57, "EIATTR_STACK_CANARY_TRAP_OFFSETS"},
    Name{0x58, "EIATTR_STUB_FUNCTION_KIND"},
    Name{0x59, "EIATTR_LOCAL_CTA_ASYNC_STORE_OFFSETS"},
    Name{0x5b, "EIATTR_BLOCKS_ARE_CLUSTERS"},
    Name{0x5c, "EIATTR_SANITIZE"},
    Name{0x5d, "EIATTR_SYSCALLS_FALLBACK"},
    Name{0x5e, "EIATTR_CUDA_REQ"},
    Name{0x5f, "EIATTR_MERCURY_ISA_VERSION"},
    Name{0x61, "EIATTR_RTCORE_ENTRY"},
    Name{0x62, "EIATTR_CLUSTER_LAUNCH_CONTROL_USED"},
    Name{0x64, "EIATTR_MIN_PER_CTA_MEMORY_SIZE"},
    Name{0x65, "EIATTR_IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS"},
    Name{0x66, "EIATTR_LANGUAGE"},
    Name{0x68, "EIATTR_GRID_ATTRIBUTES"},
    Name{0x69, "EIATTR_STACK_OFFSET"},
    Name{0x6a, "EIATTR_RT_LIVESTATE_SASS_MAP"},
    Name{0x6b, "EIATTR_NVSAL_SW_WAR"},
    Name{0x6c, "EIATTR_INSTR_OFFSETS"},
    Name{0x6d, "EIATTR_PREEXIT_USED"},
};

} // namespace

std::vector<std::uint32_t> Attribute::words() const {
  std::vector<std::uint32_t> result(payload.size() / 4);
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = load<std::uint32_t>(payload, i * 4);
  return result;
}

Attribute noValueAttribute(AttributeId id) {
  return {AttributeFormat::NoValue, id, 0, {}};
}
Attribute byteAttribute(AttributeId id, std::uint8_t value) {
  return {AttributeFormat::Byte, id, value, {}};
}
Attribute halfAttribute(AttributeId id, std::uint16_t value) {
  return {AttributeFormat::Half, id, value, {}};
}

Attribute wordsAttribute(AttributeId id, std::span<const std::uint32_t> words) {
  Attribute attribute{AttributeFormat::Sized, id, 0, {}};
  for (std::uint32_t word : words)
    append(attribute.payload, word);
  return attribute;
}

std::string_view attributeName(AttributeId id) {
  const auto number = static_cast<std::uint8_t>(id);
  const auto found = std::lower_bound(kNames.begin(), kNames.end(), number,
                                      [](const Name& name, std::uint8_t value) { return name.id < value; });
  return found != kNames.end() && found->id == number ? found->text : std::string_view();
}

std::vector<Attribute> parseAttributes(std::span<const std::byte> bytes) {
  std::vector<Attribute> attributes;
  while (!bytes.empty()) {
    if (bytes.size() < 4) throw Error("cubin: truncated attribute list");
    Attribute attribute;
    attribute.format = static_cast<AttributeFormat>(bytes[0]);
    attribute.id = static_cast<AttributeId>(bytes[1]);
    const auto value = load<std::uint16_t>(bytes, 2);
    bytes = bytes.subspan(4);
    switch (attribute.format) {
    case AttributeFormat::NoValue:
    case AttributeFormat::Byte:
    case AttributeFormat::Half: attribute.value = value; break;
    case AttributeFormat::Sized:
      if (value > bytes.size()) throw Error("cubin: an attribute is longer than its list");
      attribute.payload.assign(bytes.begin(), bytes.begin() + value);
      bytes = bytes.subspan(value);
      break;
    default: throw Error("cubin: an attribute has an unknown format");
    }
    attributes.push_back(std::move(attribute));
  }
  return attributes;
}

std::vector<std::byte> serializeAttributes(std::span<const Attribute> attributes) {
  std::vector<std::byte> bytes;
  for (const Attribute& attribute : attributes) {
    bytes.push_back(static_cast<std::byte>(attribute.format));
    bytes.push_back(static_cast<std::byte>(attribute.id));
    if (attribute.format != AttributeFormat::Sized) {
      append(bytes, attribute.value);
      continue;
    }
    if (attribute.payload.size() > 0xffff) throw Error("cubin: an attribute is longer than 64 KiB");
    append(bytes, static_cast<std::uint16_t>(attribute.payload.size()));
    bytes.insert(bytes.end(), attribute.payload.begin(), attribute.payload.end());
  }
  return bytes;
}

} // namespace orias::cubin
