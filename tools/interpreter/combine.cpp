#include "tools/interpreter/combine.h"

#include "tools/interpreter/float.h"

#include <algorithm>

namespace orias::interp {

using ptx::Mod;
using ptx::Type;

namespace {

std::uint64_t ofFloats(Mod action, ieee::Format format, std::uint64_t old, std::uint64_t value, Subnormals subnormals) {
  switch (action) {
  case Mod::Min: return ieee::minimum(format, old, value);
  case Mod::Max: return ieee::maximum(format, old, value);
  case Mod::Add: break;
  default: throw Stop{"unsupported", "a reduction of floating-point numbers"};
  }
  if (format != ieee::Format::F32 || subnormals == Subnormals::Kept) return ieee::add(format, old, value);
  return ieee::flush(format, ieee::add(format, ieee::flush(format, old), ieee::flush(format, value)));
}

std::uint64_t ofIntegers(Mod action, Type type, std::uint64_t old, std::uint64_t value) {
  const unsigned unused = 64 - bitWidth(type);
  const bool isSigned = typeClass(type) == ptx::TypeClass::Signed;
  const auto isLess = [&](std::uint64_t a, std::uint64_t b) {
    return isSigned ? static_cast<std::int64_t>(a << unused) < static_cast<std::int64_t>(b << unused) : a < b;
  };
  std::uint64_t result = 0;
  switch (action) {
  case Mod::Add: result = old + value; break;
  case Mod::Min: result = isLess(value, old) ? value : old; break;
  case Mod::Max: result = isLess(old, value) ? value : old; break;
  case Mod::Inc: result = old >= value ? 0 : old + 1; break;
  case Mod::Dec: result = old == 0 || old > value ? value : old - 1; break;
  case Mod::And: result = old & value; break;
  case Mod::Or: result = old | value; break;
  case Mod::Xor: result = old ^ value; break;
  default: throw Stop{"unsupported", "a reduction of integers"};
  }
  return result << unused >> unused;
}

} // namespace

std::uint64_t combined(Mod action, Type type, std::uint64_t old, std::uint64_t value, Subnormals subnormals) {
  const auto format = formatOf(type);
  if (!format) return ofIntegers(action, type, old, value);
  if (type != Type::F16x2 && type != Type::BF16x2) return ofFloats(action, *format, old, value, subnormals);
  constexpr std::uint64_t kLow = 0xffff;
  return ofFloats(action, *format, old >> 16, value >> 16, subnormals) << 16 |
         ofFloats(action, *format, old & kLow, value & kLow, subnormals);
}

} // namespace orias::interp
