#pragma once

#include "frontend/types.h"

#include <bit>
#include <cstdint>

namespace orias::ptx {

/// The possible kinds of a 64-bit value. Joins of control flow are unions, so a mask only grows.
///
/// A generic address keeps its space when numbers are added: PTX gives each variable a window, and an access outside
/// the variable of an address is undefined. Arithmetic can reach another space only by adding the difference of two
/// generic addresses, so differences are tracked, too. A value of 32 bits counts as a number, because no program splits
/// a difference of two windows into 32 bits, extends it again and adds it.
class SpaceMask {
 public:
  enum Bit : std::uint8_t {
    kGlobal = 1,
    kShared = 2,
    kConst = 4,
    kLocal = 8,
    kParam = 16,
    kNumber = 32,     ///< computed from no generic address; an address within a space counts as a number
    kUnknown = 64,    ///< a number or a generic address in any space: loaded, passed, returned
    kDifference = 128 ///< anything, differences of generic addresses included
  };
  static constexpr std::uint8_t kSpaces = kGlobal | kShared | kConst | kLocal | kParam;

  constexpr SpaceMask() = default;
  constexpr SpaceMask(std::uint8_t bits) : bits_(bits) {}
  static constexpr SpaceMask of(StateSpace space) {
    switch (space) {
    case StateSpace::Global: return kGlobal;
    case StateSpace::Shared: return kShared;
    case StateSpace::Const: return kConst;
    case StateSpace::Local: return kLocal;
    case StateSpace::Param: return kParam;
    default: return kUnknown;
    }
  }

  constexpr std::uint8_t bits() const { return bits_; }
  constexpr bool isEmpty() const { return bits_ == 0; }
  constexpr bool has(std::uint8_t bits) const { return (bits_ & bits) != 0; }
  constexpr bool isNumber() const { return bits_ == kNumber; }
  /// Whether the value can only be generic addresses of known spaces.
  constexpr bool isAddress() const { return bits_ != 0 && (bits_ & ~kSpaces) == 0; }
  /// The space that a generic address lies in; None if there may be several.
  constexpr StateSpace space() const {
    switch (bits_) {
    case kGlobal: return StateSpace::Global;
    case kShared: return StateSpace::Shared;
    case kConst: return StateSpace::Const;
    case kLocal: return StateSpace::Local;
    case kParam: return StateSpace::Param;
    default: return StateSpace::None;
    }
  }

  friend constexpr SpaceMask operator|(SpaceMask a, SpaceMask b) { return a.bits_ | b.bits_; }
  friend constexpr bool operator==(SpaceMask, SpaceMask) = default;

 private:
  std::uint8_t bits_ = 0;
};

/// The mask of a sum: an address plus a number is an address; two addresses are invalid.
constexpr SpaceMask sumOf(SpaceMask a, SpaceMask b) {
  if (a.isEmpty() || b.isEmpty()) return {};
  if (a.has(SpaceMask::kDifference) || b.has(SpaceMask::kDifference)) return SpaceMask::kDifference;
  const bool areTwoAddresses = a.has(SpaceMask::kSpaces) && b.has(SpaceMask::kSpaces);
  std::uint8_t sum = areTwoAddresses ? SpaceMask::kDifference : 0;
  constexpr std::uint8_t kMayBeNumber = SpaceMask::kNumber | SpaceMask::kUnknown;
  if (b.has(kMayBeNumber)) sum |= a.bits() & (SpaceMask::kSpaces | SpaceMask::kUnknown);
  if (a.has(kMayBeNumber)) sum |= b.bits() & (SpaceMask::kSpaces | SpaceMask::kUnknown);
  if (a.has(SpaceMask::kNumber) && b.has(SpaceMask::kNumber)) sum |= SpaceMask::kNumber;
  return sum;
}

/// The mask of a difference: only a number may be subtracted from an address.
constexpr SpaceMask differenceOf(SpaceMask a, SpaceMask b) {
  if (a.isEmpty() || b.isEmpty()) return {};
  return b.isNumber() ? sumOf(a, b) : SpaceMask(SpaceMask::kDifference);
}

/// The mask of any other arithmetic.
constexpr SpaceMask arithmeticOf(SpaceMask a, SpaceMask b) {
  if (a.isEmpty() || b.isEmpty()) return {};
  if (a.isNumber() && b.isNumber()) return SpaceMask::kNumber;
  const SpaceMask all = a | b;
  return all.has(SpaceMask::kSpaces | SpaceMask::kDifference) ? SpaceMask::kDifference : SpaceMask::kUnknown;
}

} // namespace orias::ptx
