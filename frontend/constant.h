#pragma once

#include "support/diagnostics.h"

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

namespace orias::ptx {

/// The value of a constant expression (manual: "Constants"): integers have 64 bits and are signed or unsigned, floats
/// are of double precision; `0f…` keeps its 32 bits and accepts no operators.
struct Constant {
  enum class Kind : std::uint8_t { Signed, Unsigned, Decimal, Float32Bits, Float64Bits };
  Kind kind = Kind::Signed;
  std::uint64_t bits = 0; ///< the integer; the bits of the double; the 32 bits of a Float32Bits

  bool isInteger() const { return kind == Kind::Signed || kind == Kind::Unsigned; }
  double asDouble() const {
    return kind == Kind::Float32Bits ? std::bit_cast<float>(static_cast<std::uint32_t>(bits))
                                     : std::bit_cast<double>(bits);
  }
};

enum class ConstantOperator : std::uint8_t {
  // Binary.
  LogicalOr,
  LogicalAnd,
  Or,
  Xor,
  And,
  Equal,
  NotEqual,
  Less,
  Greater,
  LessEqual,
  GreaterEqual,
  ShiftLeft,
  ShiftRight,
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  // Prefix.
  Negate,
  Plus,
  Complement,
  Not,
  CastSigned,
  CastUnsigned,
  CastUnsupported,
};

/// Evaluates constant expressions while the parser reads them. The calls follow the rules of the grammar: an expression
/// is a chain of terms lists between `?` and `:`, a terms list is terms between binary operators, a term is a literal
/// or an expression in parentheses after prefixes.
class ConstantEvaluator {
 public:
  explicit ConstantEvaluator(Diagnostics& diags) : diags_(diags) {}

  /// A prefix of the next expression that applies to its first term.
  void leadingPrefix(ConstantOperator op, SourceLoc loc);
  void enterExpression(SourceLoc loc) { expressions_.push_back({values_.size(), loc}); }
  void exitExpression();
  void enterTerms() { termLists_.push_back({values_.size(), binaries_.size()}); }
  void exitTerms();
  void enterTerm();
  void exitTerm();
  void literal(Constant value) { values_.push_back(value); }
  void prefix(ConstantOperator op, SourceLoc loc) { prefixes_.push_back({op, loc}); }
  void binary(ConstantOperator op, SourceLoc loc) { binaries_.push_back({op, loc}); }

  /// Removes a leading prefix: it is not followed by an expression.
  void dropLeadingPrefix();

  /// The number of values not yet consumed.
  std::size_t size() const { return values_.size(); }
  /// Returns and removes the value of the last completed expression.
  Constant take();
  /// Discards everything, after a syntax error.
  void reset();

 private:
  struct Operator {
    ConstantOperator op;
    SourceLoc loc;
  };
  struct Expression {
    std::size_t values; ///< where its values begin
    SourceLoc loc;
  };
  struct TermList {
    std::size_t values;
    std::size_t binaries;
  };

  Constant applyPrefix(Operator op, Constant value);
  Constant applyBinary(Operator op, Constant a, Constant b);
  Constant fail(SourceLoc loc, const char* message);

  Diagnostics& diags_;
  std::vector<Constant> values_;
  std::vector<Operator> prefixes_;
  std::vector<Operator> binaries_;
  std::vector<Expression> expressions_;
  std::vector<TermList> termLists_;
  std::vector<std::size_t> terms_; ///< start of the prefixes of each open term
  std::vector<Operator> waiting_;  ///< exitTerms: operators of weaker precedence
  bool leading_ = false;
};

/// The value of an INT token (`0x1F`, `0b1`, `017`, `12U`). An error if it does not fit in 64 bits.
Constant parseInteger(std::string_view text, SourceLoc loc, Diagnostics& diags);
/// The value of a FLOAT token, rounded to double precision.
Constant parseDecimal(std::string_view text);
/// The value of an F32 or F64 token.
Constant parseFloatBits(std::string_view text);

} // namespace orias::ptx
