#pragma once

#include <cstdint>

namespace orias {

/// 32-bit FNV-1a over characters or bytes: the same in each run and on each machine.
constexpr std::uint32_t fnv1a(const auto& bytes) {
  std::uint32_t hash = 2166136261;
  for (const auto byte : bytes)
    hash = (hash ^ static_cast<std::uint8_t>(byte)) * 16777619;
  return hash;
}

} // namespace orias
