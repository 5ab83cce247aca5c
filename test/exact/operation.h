#pragma once

#include "encoder/isa/isa.h"
#include "encoder/isa/mods.h"

#include <cstdint>
#include <string_view>
#include <utility>

namespace orias::exact {

/// Arguments as bits of the operation's type; only quotients and remainders use the second.
using Case = std::pair<std::uint64_t, std::uint64_t>;

/// A macro of one type, without its rounding.
struct Operation {
  std::string_view name; ///< as in PTX: "div.f32"
  isa::Op op;
  isa::MacroType type;

  bool isFloat() const { return type == isa::MacroType::F32 || type == isa::MacroType::F64; }
  bool isSigned() const;
  unsigned bits() const;
  unsigned arguments() const { return op == isa::Op::FRCP || op == isa::Op::FSQRT || op == isa::Op::FRSQRT ? 1 : 2; }
};

/// The operation of that name; null if there is none.
const Operation* findOperation(std::string_view name);

/// Whether the result is defined: it is not for an integer quotient that does not fit.
bool isDefined(const Operation& operation, const Case& arguments);
/// The result according to PTX; with `ftz`, subnormal arguments and results are zeros. For the approximate reciprocal
/// root it is the rounded value.
std::uint64_t exactResult(const Operation& operation, const Case& arguments, isa::MacroKind rounding, bool ftz);
/// Whether a result is acceptable: the same bits (any NaN for NaN), or within two units for an approximation.
bool isRight(const Operation& operation, std::uint64_t got, std::uint64_t expected);

} // namespace orias::exact
