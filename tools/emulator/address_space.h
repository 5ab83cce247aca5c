#pragma once

#include "tools/launch/memory.h"

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace orias::emu {

/// Shared: of the CTA itself. Cluster: of any CTA of the cluster; the top byte of the address is its rank.
enum class Space : std::uint8_t { Generic, Global, Shared, Local, Constant, Cluster };

/// In addresses of shared memory, the bits below this one are the offset in the CTA's memory, the others the CTA's
/// rank.
inline constexpr unsigned kRankBit = 24;
inline std::uint64_t inRank(std::uint32_t rank, std::uint64_t address) {
  return std::uint64_t{rank} << kRankBit | (address & ((1u << kRankBit) - 1));
}

/// Shared memory of a CTA, or local memory of a thread: contiguous bytes at a 32-bit address.
class FlatMemory {
 public:
  /// Fills the memory with zeros; when tracking, it counts as uninitialized.
  void reset(std::uint32_t base, std::uint32_t size, bool track) {
    base_ = base;
    bytes_.assign(size, std::byte{0});
    written_.assign(track ? size : 0, false);
  }
  bool isEmpty() const { return bytes_.empty(); }
  std::uint32_t base() const { return base_; }
  std::size_t size() const { return bytes_.size(); }

  launch::Fault read(std::uint64_t address, std::span<std::byte> out) const {
    const launch::Fault fault = check(address, out.size());
    if (fault != launch::Fault::None) return fault;
    const std::uint64_t at = address - base_;
    std::memcpy(out.data(), bytes_.data() + at, out.size());
    if (!written_.empty())
      for (std::size_t k = 0; k < out.size(); ++k)
        if (!written_[at + k]) return launch::Fault::Uninitialised;
    return launch::Fault::None;
  }
  launch::Fault write(std::uint64_t address, std::span<const std::byte> in) {
    const launch::Fault fault = check(address, in.size());
    if (fault != launch::Fault::None) return fault;
    const std::uint64_t at = address - base_;
    std::memcpy(bytes_.data() + at, in.data(), in.size());
    if (!written_.empty())
      for (std::size_t k = 0; k < in.size(); ++k)
        written_[at + k] = true;
    return launch::Fault::None;
  }

 private:
  launch::Fault check(std::uint64_t address, std::size_t size) const {
    if (address % size != 0) return launch::Fault::Misaligned;
    if (address < base_ || size > bytes_.size() || address - base_ > bytes_.size() - size)
      return launch::Fault::OutOfBounds;
    return launch::Fault::None;
  }

  std::uint32_t base_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<bool> written_; ///< empty without tracking
};

} // namespace orias::emu
