#pragma once

#include "tools/launch/element.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

// Formulas of launch files: "2*x[i] + y[i]", "sum(k, 0, 16, a[i/16*16+k] * b[k*16 + i%16])".
//
// Integers are exact to 128 bits and are truncated to the element's width at the end (or by u32(...) and similar
// functions). Reals are doubles, and f32(...) rounds. Operators and their precedence are C's; README.md lists the
// functions.

namespace orias::launch {

/// A value in a formula.
struct Number {
  bool isReal = false;
  Integer integer = 0;
  double real = 0;

  static Number of(Integer value) { return {false, value, 0}; }
  static Number of(double value) { return {true, 0, value}; }
  double asReal() const { return isReal ? real : static_cast<double>(integer); }
};

/// A name that a formula may use: the content of a buffer (`name[index]`), or one value (`name`).
struct FormulaName {
  std::string_view name;
  ElementType type = ElementType::U32;
  std::span<const std::byte> bytes;
  bool isArray = true;
};

/// A formula, parsed once and evaluated for each element.
class Formula {
 public:
  /// Reads the text. `names` must outlive this object. Throws orias::Error with the column.
  Formula(std::string_view text, std::span<const FormulaName> names);
  ~Formula();
  Formula(Formula&&) noexcept;
  Formula(const Formula&) = delete;
  Formula& operator=(const Formula&) = delete;

  /// The value for element `i`. Throws orias::Error for a division by zero, an index outside of a buffer, and sums that
  /// take too long.
  Number evaluate(std::uint64_t i);

 private:
  struct Tree;
  std::unique_ptr<Tree> tree_;
};

} // namespace orias::launch
