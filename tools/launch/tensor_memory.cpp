#include "tools/launch/tensor_memory.h"

#include "support/ieee.h"

#include <fmt/format.h>

namespace orias::launch {

namespace {

constexpr unsigned kWarpLanes = 32;

} // namespace

unsigned tensorRegisters(TensorShape shape) {
  switch (shape) {
  case TensorShape::Lanes16Bits256: return 4;
  case TensorShape::Lanes16Bits128: return 2;
  default: return 1;
  }
}

std::optional<TensorPlace> tensorPlace(TensorShape shape, unsigned thread, unsigned index) {
  switch (shape) {
  case TensorShape::Lanes32Bits32: return TensorPlace{thread, index};
  case TensorShape::Lanes16Bits64: return TensorPlace{thread / 4 + thread % 2 * 8, thread / 2 % 2 + 2 * index};
  case TensorShape::Lanes16Bits128: return TensorPlace{thread / 4 + index % 2 * 8, thread % 4 + index / 2 * 4};
  case TensorShape::Lanes16Bits256:
    return TensorPlace{thread / 4 + index / 2 % 2 * 8, thread % 4 * 2 + index % 2 + index / 4 * 8};
  case TensorShape::Lower:
    if (thread >= 16) return std::nullopt;
    return TensorPlace{thread, index};
  case TensorShape::Upper:
    if (thread < 16) return std::nullopt;
    return TensorPlace{thread - 16, index};
  }
  return std::nullopt;
}

std::uint32_t TensorReduction::of(std::span<const std::uint32_t> words) const {
  std::uint32_t all = ofMagnitudes ? words[0] & 0x7fffffff : words[0];
  for (const std::uint32_t word : words) { // including the first one: a NaN becomes canonical
    const std::uint32_t next = ofMagnitudes ? word & 0x7fffffff : word;
    if (type == Type::Float) {
      constexpr ieee::Format kFormat = ieee::Format::F32;
      all = static_cast<std::uint32_t>(isMin ? ieee::minimum(kFormat, all, next, nanWins)
                                             : ieee::maximum(kFormat, all, next, nanWins));
    } else {
      const bool isLess =
          type == Type::Signed ? static_cast<std::int32_t>(next) < static_cast<std::int32_t>(all) : next < all;
      if (isLess == isMin) all = next;
    }
  }
  return all;
}

void TensorMemory::reset() {
  allocated_ = 0;
  cells_.clear();
}

std::optional<unsigned> TensorMemory::allocate(unsigned groups) {
  return allocateForPair(*this, *this, groups);
}

std::optional<unsigned> TensorMemory::allocateForPair(TensorMemory& one, TensorMemory& other, unsigned groups) {
  if (groups == 0 || groups > kGroups) return std::nullopt;
  const std::uint32_t wanted = (1u << groups) - 1;
  for (unsigned first = 0; first + groups <= kGroups; first += groups)
    if (((one.allocated_ | other.allocated_) & wanted << first) == 0) {
      one.allocated_ |= wanted << first;
      other.allocated_ |= wanted << first;
      return first;
    }
  return std::nullopt;
}

std::uint32_t* TensorMemory::cell(unsigned lane, unsigned column) {
  if (lane >= kLanes || column >= kColumns || (allocated_ >> column / kGroupColumns & 1) == 0) return nullptr;
  if (cells_.empty()) cells_.resize(kLanes * kColumns);
  return &cells_[lane * kColumns + column];
}

std::optional<TensorFault> TensorMemory::access(std::uint32_t address, TensorShape shape, unsigned warp,
                                                unsigned thread, unsigned index, bool isHalf, bool isStore,
                                                std::uint32_t& value) {
  const auto place = tensorPlace(shape, thread, index);
  if (!place) return std::nullopt;
  constexpr unsigned kWarps = kLanes / kWarpLanes;
  const unsigned lane = tensorLane(address) + place->lane;
  if (lane / kWarpLanes != warp % kWarps)
    return TensorFault{"memcheck", fmt::format("warp {} cannot reach lane {} of tensor memory", warp, lane)};
  const unsigned count = isHalf ? 2 : 1;
  std::uint32_t packed = 0;
  for (unsigned k = 0; k < count; ++k) {
    const unsigned column = tensorColumn(address) + place->column * count + k;
    std::uint32_t* at = cell(lane, column);
    if (!at) return TensorFault{"memcheck", fmt::format("column {} of tensor memory is not allocated", column)};
    if (!isHalf)
      packed = *at;
    else
      packed |= (*at & 0xffff) << 16 * k;
    if (isStore) *at = isHalf ? value >> 16 * k & 0xffff : value;
  }
  if (!isStore) value = packed;
  return std::nullopt;
}

std::optional<TensorFault> TensorMemory::shiftRows(std::uint32_t address) {
  constexpr unsigned kMovedColumns = 8;
  if (tensorLane(address) % kWarpLanes != 0)
    return TensorFault{"memcheck",
                       fmt::format("tcgen05.shift from lane {}: not a multiple of 32", tensorLane(address))};
  if (tensorLane(address) != 0)
    return TensorFault{
        "unsupported",
        fmt::format("tcgen05.shift from lane {}: which lanes' rows it moves is not public", tensorLane(address))};
  for (unsigned column = tensorColumn(address); column < tensorColumn(address) + kMovedColumns; ++column)
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      std::uint32_t* to = cell(lane, column);
      if (!to) return TensorFault{"memcheck", fmt::format("column {} of tensor memory is not allocated", column)};
      if (lane % kWarpLanes + 1 < kWarpLanes) *to = *cell(lane + 1, column);
    }
  return std::nullopt;
}

} // namespace orias::launch
