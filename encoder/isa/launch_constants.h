#pragma once

#include <cstdint>

namespace orias::isa {

// Words of constant bank 0 that the driver sets for a launch of clusters (observed for sm_90).
inline constexpr std::uint32_t kBankClusterShape = 0x144; ///< CTAs of a cluster, x; y and z follow
inline constexpr std::uint32_t kBankClusterSize = 0x188;  ///< CTAs of a cluster in all

} // namespace orias::isa
