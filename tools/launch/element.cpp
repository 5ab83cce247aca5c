#include "tools/launch/element.h"

#include "support/check.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace orias::launch {

namespace {

struct TypeInfo {
  ElementType type;
  std::string_view name;
  unsigned bytes;
  bool isFloat;
  bool isSigned;
  unsigned exponentBits; ///< of the 16-bit formats
};

constexpr TypeInfo kTypes[] = {
    {ElementType::U8, "u8", 1, false, false, 0},   {ElementType::S8, "s8", 1, false, true, 0},
    {ElementType::U16, "u16", 2, false, false, 0}, {ElementType::S16, "s16", 2, false, true, 0},
    {ElementType::U32, "u32", 4, false, false, 0}, {ElementType::S32, "s32", 4, false, true, 0},
    {ElementType::U64, "u64", 8, false, false, 0}, {ElementType::S64, "s64", 8, false, true, 0},
    {ElementType::F16, "f16", 2, true, true, 5},   {ElementType::BF16, "bf16", 2, true, true, 8},
    {ElementType::F32, "f32", 4, true, true, 0},   {ElementType::F64, "f64", 8, true, true, 0},
};

const TypeInfo& info(ElementType type) {
  return kTypes[static_cast<std::size_t>(type)];
}

template <typename T> T loadAs(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename T> void storeAs(T value, std::byte* at) {
  std::memcpy(at, &value, sizeof value);
}

/// The nearest 16-bit float with that many exponent bits; ties to even.
std::uint16_t narrow(double value, unsigned exponentBits) {
  const unsigned fractionBits = 15 - exponentBits;
  const int bias = (1 << (exponentBits - 1)) - 1;
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const std::uint16_t infinity = static_cast<std::uint16_t>(((1u << exponentBits) - 1) << fractionBits);
  if (std::isnan(value)) return 0x7fff;
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  const int exponent = std::max(std::ilogb(value), 1 - bias);
  if (exponent > bias) return sign | infinity;
  // In units of the last place. Below the normal numbers the exponent remains at its minimum, and the same addition
  // gives the encoding of a subnormal. A carry out of the fraction correctly increments the exponent.
  const auto units =
      static_cast<unsigned>(std::nearbyint(std::ldexp(std::fabs(value), static_cast<int>(fractionBits) - exponent)));
  const unsigned bits = (static_cast<unsigned>(exponent + bias) << fractionBits) + units - (1u << fractionBits);
  return sign | static_cast<std::uint16_t>(std::min<unsigned>(bits, infinity));
}

double widen(std::uint16_t bits, unsigned exponentBits) {
  const unsigned fractionBits = 15 - exponentBits;
  const int bias = (1 << (exponentBits - 1)) - 1;
  const int top = (1 << exponentBits) - 1;
  const int exponent = (bits >> fractionBits) & top;
  const unsigned fraction = bits & ((1u << fractionBits) - 1);
  double magnitude;
  if (exponent == top)
    magnitude = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else
    magnitude = std::ldexp(exponent ? fraction + (1u << fractionBits) : fraction,
                           std::max(exponent, 1) - bias - static_cast<int>(fractionBits));
  return bits & 0x8000 ? -magnitude : magnitude;
}

} // namespace

unsigned elementBytes(ElementType type) {
  return info(type).bytes;
}
std::string_view elementName(ElementType type) {
  return info(type).name;
}
bool isFloat(ElementType type) {
  return info(type).isFloat;
}
bool isSigned(ElementType type) {
  return info(type).isSigned;
}

std::span<const ElementType> elementTypes() {
  static constexpr ElementType kAll[] = {ElementType::U8,  ElementType::S8,   ElementType::U16, ElementType::S16,
                                         ElementType::U32, ElementType::S32,  ElementType::U64, ElementType::S64,
                                         ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64};
  static_assert(std::size(kAll) == std::size(kTypes));
  return kAll;
}

std::optional<ElementType> findElementType(std::string_view name) {
  for (const TypeInfo& t : kTypes)
    if (t.name == name) return t.type;
  return std::nullopt;
}

Integer loadInteger(ElementType type, const std::byte* at) {
  switch (type) {
  case ElementType::U8: return loadAs<std::uint8_t>(at);
  case ElementType::S8: return loadAs<std::int8_t>(at);
  case ElementType::U16: return loadAs<std::uint16_t>(at);
  case ElementType::S16: return loadAs<std::int16_t>(at);
  case ElementType::U32: return loadAs<std::uint32_t>(at);
  case ElementType::S32: return loadAs<std::int32_t>(at);
  case ElementType::U64: return loadAs<std::uint64_t>(at);
  case ElementType::S64: return loadAs<std::int64_t>(at);
  default: ORIAS_UNREACHABLE("not an integer type");
  }
}

double loadFloat(ElementType type, const std::byte* at) {
  switch (type) {
  case ElementType::F16:
  case ElementType::BF16: return widen(loadAs<std::uint16_t>(at), info(type).exponentBits);
  case ElementType::F32: return static_cast<double>(loadAs<float>(at));
  case ElementType::F64: return loadAs<double>(at);
  default: ORIAS_UNREACHABLE("not a floating type");
  }
}

void storeInteger(ElementType type, Integer value, std::byte* at) {
  if (isFloat(type)) {
    // Directly from the integer, so that there is a single rounding.
    if (type == ElementType::F32) return storeAs(static_cast<float>(value), at);
    return storeFloat(type, static_cast<double>(value), at);
  }
  const auto low = static_cast<std::uint64_t>(value);
  std::memcpy(at, &low, elementBytes(type));
}

void storeFloat(ElementType type, double value, std::byte* at) {
  switch (type) {
  case ElementType::F16:
  case ElementType::BF16: return storeAs(narrow(value, info(type).exponentBits), at);
  case ElementType::F32: return storeAs(static_cast<float>(value), at);
  case ElementType::F64: return storeAs(value, at);
  default:
    ORIAS_CHECK(std::fabs(value) < 0x1p64, "the value does not fit into an integer");
    return storeInteger(type, static_cast<Integer>(value), at);
  }
}

std::string elementText(ElementType type, const std::byte* at) {
  if (isFloat(type)) {
    const double value = loadFloat(type, at);
    if (std::isnan(value)) return "nan";
    return type == ElementType::F64 ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
  }
  const Integer value = loadInteger(type, at);
  return isSigned(type) ? fmt::format("{}", static_cast<std::int64_t>(value))
                        : fmt::format("{}", static_cast<std::uint64_t>(value));
}

bool elementsAgree(ElementType type, const std::byte* got, const std::byte* wanted, const Tolerance& tolerance) {
  if (std::memcmp(got, wanted, elementBytes(type)) == 0) return true;
  const bool exact = tolerance.absolute == 0 && tolerance.relative == 0;
  if (!isFloat(type)) {
    if (exact) return false;
    const Integer difference = loadInteger(type, got) - loadInteger(type, wanted);
    const double distance = std::fabs(static_cast<double>(difference));
    const double size = std::fabs(static_cast<double>(loadInteger(type, wanted)));
    return distance <= std::max(tolerance.absolute, tolerance.relative * size);
  }
  const double a = loadFloat(type, got), b = loadFloat(type, wanted);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (exact || std::isinf(a) || std::isinf(b)) return a == b && !exact;
  return std::fabs(a - b) <= std::max(tolerance.absolute, tolerance.relative * std::fabs(b));
}

} // namespace orias::launch
