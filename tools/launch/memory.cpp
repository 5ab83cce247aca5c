#include "tools/launch/memory.h"

#include <algorithm>
#include <cstring>

namespace orias::launch {

namespace {
constexpr std::uint64_t kGap = 4096;
constexpr std::size_t kNowhere = ~std::size_t{0};
} // namespace

Memory::Memory(std::uint64_t base, bool trackInitialised) : next_(base), track_(trackInitialised) {}

std::uint64_t Memory::allocate(std::string name, std::uint64_t size, std::uint64_t alignment) {
  const std::uint64_t address = (next_ + alignment - 1) & ~(alignment - 1);
  next_ = address + size + kGap;
  allocations_.push_back({std::move(name), address, size});
  blocks_.push_back({std::vector<std::byte>(size), std::vector<bool>(track_ ? size : 0)});
  return address;
}

const Allocation* Memory::find(std::string_view name) const {
  const auto it = std::find_if(allocations_.begin(), allocations_.end(), [&](const auto& a) { return a.name == name; });
  return it == allocations_.end() ? nullptr : &*it;
}

const Allocation* Memory::nearest(std::uint64_t address) const {
  const auto after = std::upper_bound(allocations_.begin(), allocations_.end(), address,
                                      [](std::uint64_t at, const Allocation& a) { return at < a.address; });
  return after == allocations_.begin() ? nullptr : &*(after - 1);
}

std::size_t Memory::indexOf(std::uint64_t address, std::uint64_t size) const {
  const auto holds = [&](const Allocation& a) {
    return address >= a.address && size <= a.size && address - a.address <= a.size - size;
  };
  if (lastHit_ < allocations_.size() && holds(allocations_[lastHit_])) return lastHit_;
  const Allocation* found = nearest(address);
  if (!found || !holds(*found)) return kNowhere;
  return lastHit_ = static_cast<std::size_t>(found - allocations_.data());
}

std::byte* Memory::at(std::uint64_t address, std::uint64_t size) {
  const std::size_t i = indexOf(address, size);
  return i == kNowhere ? nullptr : blocks_[i].bytes.data() + (address - allocations_[i].address);
}

Fault Memory::read(std::uint64_t address, std::span<std::byte> out) {
  if (address % out.size() != 0) return Fault::Misaligned;
  const std::size_t i = indexOf(address, out.size());
  if (i == kNowhere) return Fault::OutOfBounds;
  const std::uint64_t offset = address - allocations_[i].address;
  std::memcpy(out.data(), blocks_[i].bytes.data() + offset, out.size());
  if (track_)
    for (std::size_t k = 0; k < out.size(); ++k)
      if (!blocks_[i].written[offset + k]) return Fault::Uninitialised;
  return Fault::None;
}

Fault Memory::write(std::uint64_t address, std::span<const std::byte> in) {
  if (address % in.size() != 0) return Fault::Misaligned;
  const std::size_t i = indexOf(address, in.size());
  if (i == kNowhere) return Fault::OutOfBounds;
  std::memcpy(blocks_[i].bytes.data() + (address - allocations_[i].address), in.data(), in.size());
  initialise(address, in.size());
  return Fault::None;
}

void Memory::initialise(std::uint64_t address, std::uint64_t size) {
  if (!track_) return;
  const std::size_t i = indexOf(address, size);
  if (i == kNowhere) return;
  const auto from = blocks_[i].written.begin() + static_cast<std::ptrdiff_t>(address - allocations_[i].address);
  std::fill(from, from + static_cast<std::ptrdiff_t>(size), true);
}

void Memory::noteAddress(std::uint64_t address, std::uint64_t size) {
  const std::size_t i = indexOf(address, size);
  if (i == kNowhere) return;
  const std::uint64_t offset = address - allocations_[i].address;
  const auto from = blocks_[i].bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  allocations_[i].addresses.push_back({offset, {from, from + static_cast<std::ptrdiff_t>(size)}});
}

} // namespace orias::launch
