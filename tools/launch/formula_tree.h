#pragma once

#include "tools/launch/formula.h"

#include <cstddef>
#include <string_view>
#include <vector>

// The interface between formula_parse.cpp and formula.cpp.

namespace orias::launch {

enum class FormulaOp : std::uint8_t {
  Constant,
  Variable, ///< `slot`: 0 is the element's index `i`, the others are counters of the enclosing sums
  Scalar,   ///< `name`
  Element,  ///< `name` and the index
  Negate,
  Not,
  Complement,
  Multiply,
  Divide,
  Remainder,
  Add,
  Subtract,
  ShiftLeft,
  ShiftRight,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  BitAnd,
  BitXor,
  BitOr,
  And,
  Or,
  Select,  ///< condition, then, else
  Convert, ///< to `type`
  Min,
  Max,
  Absolute,
  CountOnes, ///< of the low 64 bits
  Function,  ///< `function`
  Sum,       ///< from, to, term; the counter is in `slot`
  Least,
  Most,
};

struct FormulaFunction;

struct FormulaNode {
  FormulaOp op = FormulaOp::Constant;
  Number constant;
  std::size_t slot = 0;
  std::size_t name = 0;
  ElementType type = ElementType::U32;
  const FormulaFunction* function = nullptr;
  std::vector<FormulaNode> operands;
};

/// A function of reals.
struct FormulaFunction {
  std::string_view name;
  unsigned operands;
  double (*call)(double, double, double);
};

/// Reads a formula; throws orias::Error with the column.
FormulaNode parseFormula(std::string_view text, std::span<const FormulaName> names);

} // namespace orias::launch
