#include "test/exact/operation.h"

#include "support/ieee.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace orias::exact {

namespace {

using isa::MacroType;
using isa::Op;

constexpr Operation kOperations[] = {
    {"div.f64", Op::FDIV, MacroType::F64},   {"rcp.f64", Op::FRCP, MacroType::F64},
    {"sqrt.f64", Op::FSQRT, MacroType::F64}, {"rsqrt.f64", Op::FRSQRT, MacroType::F64},
    {"div.f32", Op::FDIV, MacroType::F32},   {"rcp.f32", Op::FRCP, MacroType::F32},
    {"sqrt.f32", Op::FSQRT, MacroType::F32}, {"div.u16", Op::IDIV, MacroType::U16},
    {"div.s16", Op::IDIV, MacroType::S16},   {"div.u32", Op::IDIV, MacroType::U32},
    {"div.s32", Op::IDIV, MacroType::S32},   {"div.u64", Op::IDIV, MacroType::U64},
    {"div.s64", Op::IDIV, MacroType::S64},   {"rem.u16", Op::IREM, MacroType::U16},
    {"rem.s16", Op::IREM, MacroType::S16},   {"rem.u32", Op::IREM, MacroType::U32},
    {"rem.s32", Op::IREM, MacroType::S32},   {"rem.u64", Op::IREM, MacroType::U64},
    {"rem.s64", Op::IREM, MacroType::S64},
};

ieee::Format formatOf(const Operation& operation) {
  return operation.type == MacroType::F32 ? ieee::Format::F32 : ieee::Format::F64;
}

/// The value of the low bits as an integer.
std::int64_t signedValue(const Operation& operation, std::uint64_t bits) {
  const unsigned unused = 64 - operation.bits();
  return static_cast<std::int64_t>(bits << unused) >> unused;
}

} // namespace

bool Operation::isSigned() const {
  return type == MacroType::S16 || type == MacroType::S32 || type == MacroType::S64;
}

unsigned Operation::bits() const {
  switch (type) {
  case MacroType::U16:
  case MacroType::S16: return 16;
  case MacroType::U64:
  case MacroType::S64:
  case MacroType::F64: return 64;
  default: return 32;
  }
}

const Operation* findOperation(std::string_view name) {
  const auto* found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                   [&](const Operation& operation) { return operation.name == name; });
  return found == std::end(kOperations) ? nullptr : found;
}

bool isDefined(const Operation& operation, const Case& arguments) {
  if (operation.isFloat()) return true;
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - operation.bits());
  const std::uint64_t least = std::uint64_t{1} << (operation.bits() - 1);
  return !(operation.isSigned() && (arguments.first & mask) == least && (arguments.second & mask) == mask);
}

std::uint64_t exactResult(const Operation& operation, const Case& arguments, isa::MacroKind rounding, bool ftz) {
  const std::uint64_t mask = ~std::uint64_t{0} >> (64 - operation.bits());
  if (!operation.isFloat()) {
    if ((arguments.second & mask) == 0) return mask; // machine-specific in PTX
    const bool wantsQuotient = operation.op == Op::IDIV;
    if (operation.isSigned()) {
      const std::int64_t a = signedValue(operation, arguments.first), b = signedValue(operation, arguments.second);
      return static_cast<std::uint64_t>(wantsQuotient ? a / b : a % b) & mask;
    }
    const std::uint64_t a = arguments.first & mask, b = arguments.second & mask;
    return wantsQuotient ? a / b : a % b;
  }
  const ieee::Format format = formatOf(operation);
  auto flushed = [&](std::uint64_t x) { return ftz ? ieee::flush(format, x) : x; };
  const std::uint64_t one = format == ieee::Format::F32 ? ieee::bitsOf(1.0f) : ieee::bitsOf(1.0);
  const std::uint64_t a = flushed(arguments.first), b = flushed(arguments.second);
  if (operation.op == Op::FRSQRT) return ieee::div(format, one, ieee::sqrt(format, a));
  const auto direction = static_cast<ieee::Rounding>(rounding);
  const auto quotient = [&](std::uint64_t x, std::uint64_t y) -> std::uint64_t {
    if (!ftz) return ieee::div(format, x, y, direction);
    return ieee::bitsOf(ieee::divFlushed(ieee::floatOf(x), ieee::floatOf(y), direction));
  };
  switch (operation.op) {
  case Op::FDIV: return quotient(a, b);
  case Op::FRCP: return quotient(one, a);
  default: return flushed(ieee::sqrt(format, a, direction));
  }
}

bool isRight(const Operation& operation, std::uint64_t got, std::uint64_t expected) {
  if (got == expected) return true;
  if (!operation.isFloat()) return false;
  const ieee::Format format = formatOf(operation);
  if (ieee::isNan(format, expected)) return ieee::isNan(format, got);
  if (operation.op != Op::FRSQRT || std::isinf(ieee::doubleOf(expected))) return false;
  return got - expected + 2 <= 4;
}

} // namespace orias::exact
