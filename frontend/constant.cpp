#include "frontend/constant.h"

#include <charconv>
#include <fmt/format.h>
#include <limits>
#include <string>

namespace orias::ptx {

namespace {

using Kind = Constant::Kind;

constexpr const char* kNoOperators = "a 0f constant takes no operators: it is an exact bit pattern";

/// As in C; a larger number binds tighter.
int precedence(ConstantOperator op) {
  switch (op) {
  case ConstantOperator::LogicalOr: return 1;
  case ConstantOperator::LogicalAnd: return 2;
  case ConstantOperator::Or: return 3;
  case ConstantOperator::Xor: return 4;
  case ConstantOperator::And: return 5;
  case ConstantOperator::Equal:
  case ConstantOperator::NotEqual: return 6;
  case ConstantOperator::Less:
  case ConstantOperator::Greater:
  case ConstantOperator::LessEqual:
  case ConstantOperator::GreaterEqual: return 7;
  case ConstantOperator::ShiftLeft:
  case ConstantOperator::ShiftRight: return 8;
  case ConstantOperator::Add:
  case ConstantOperator::Subtract: return 9;
  default: return 10;
  }
}

Constant signedValue(std::int64_t value) {
  return {Kind::Signed, static_cast<std::uint64_t>(value)};
}
Constant floatValue(double value) {
  return {Kind::Decimal, std::bit_cast<std::uint64_t>(value)};
}

} // namespace

Constant ConstantEvaluator::fail(SourceLoc loc, const char* message) {
  diags_.error(loc, message);
  return signedValue(1); // so that a following division reports nothing
}

void ConstantEvaluator::leadingPrefix(ConstantOperator op, SourceLoc loc) {
  prefixes_.push_back({op, loc});
  leading_ = true;
}

void ConstantEvaluator::dropLeadingPrefix() {
  if (leading_) prefixes_.pop_back();
  leading_ = false;
}

void ConstantEvaluator::enterTerm() {
  terms_.push_back(prefixes_.size() - (leading_ ? 1 : 0));
  leading_ = false;
}

void ConstantEvaluator::exitTerm() {
  const std::size_t first = terms_.back();
  terms_.pop_back();
  while (prefixes_.size() > first) {
    values_.back() = applyPrefix(prefixes_.back(), values_.back());
    prefixes_.pop_back();
  }
}

void ConstantEvaluator::exitTerms() {
  const TermList list = termLists_.back();
  termLists_.pop_back();
  const std::size_t count = binaries_.size() - list.binaries;
  if (count == 0) return;
  // Shunting-yard: the values are compacted in place, weaker operators wait.
  waiting_.clear();
  std::size_t top = list.values;
  const auto reduce = [&] {
    values_[top - 1] = applyBinary(waiting_.back(), values_[top - 1], values_[top]);
    waiting_.pop_back();
    --top;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const Operator op = binaries_[list.binaries + i];
    while (!waiting_.empty() && precedence(waiting_.back().op) >= precedence(op.op))
      reduce();
    waiting_.push_back(op);
    values_[++top] = values_[list.values + i + 1];
  }
  while (!waiting_.empty())
    reduce();
  values_.resize(list.values + 1);
  binaries_.resize(list.binaries);
}

void ConstantEvaluator::exitExpression() {
  const auto [first, loc] = expressions_.back();
  expressions_.pop_back();
  // condition, value, condition, value, …, value: the operator is right-associative.
  while (values_.size() - first > 1) {
    const std::size_t n = values_.size();
    if (!values_[n - 3].isInteger() || !values_[n - 2].isInteger() || !values_[n - 1].isInteger())
      values_[n - 3] = fail(loc, "the parts of a conditional constant are integers");
    else
      values_[n - 3] = values_[n - 3].bits != 0 ? values_[n - 2] : values_[n - 1];
    values_.resize(n - 2);
  }
}

Constant ConstantEvaluator::take() {
  const Constant value = values_.back();
  values_.pop_back();
  return value;
}

void ConstantEvaluator::reset() {
  values_.clear();
  prefixes_.clear();
  binaries_.clear();
  expressions_.clear();
  termLists_.clear();
  terms_.clear();
  leading_ = false;
}

Constant ConstantEvaluator::applyPrefix(Operator op, Constant value) {
  if (value.kind == Kind::Float32Bits) return fail(op.loc, kNoOperators);
  if (!value.isInteger()) {
    switch (op.op) {
    case ConstantOperator::Plus: return value;
    case ConstantOperator::Negate: return {value.kind, std::bit_cast<std::uint64_t>(-value.asDouble())};
    default: return fail(op.loc, "this operator needs an integer constant");
    }
  }
  switch (op.op) {
  case ConstantOperator::Plus: return value;
  case ConstantOperator::Negate: return {value.kind, 0 - value.bits};
  case ConstantOperator::Complement: return {value.kind, ~value.bits};
  case ConstantOperator::Not: return signedValue(value.bits == 0);
  case ConstantOperator::CastSigned: return {Kind::Signed, value.bits};
  case ConstantOperator::CastUnsigned: return {Kind::Unsigned, value.bits};
  default: return fail(op.loc, "a constant can be cast to .s64 or .u64 only");
  }
}

Constant ConstantEvaluator::applyBinary(Operator op, Constant a, Constant b) {
  if (a.isInteger() != b.isInteger())
    return fail(op.loc, "a constant expression mixes an integer and a floating-point operand");
  if (!a.isInteger()) {
    if (a.kind == Kind::Float32Bits || b.kind == Kind::Float32Bits) return fail(op.loc, kNoOperators);
    const double x = a.asDouble();
    const double y = b.asDouble();
    switch (op.op) {
    case ConstantOperator::Add: return floatValue(x + y);
    case ConstantOperator::Subtract: return floatValue(x - y);
    case ConstantOperator::Multiply: return floatValue(x * y);
    case ConstantOperator::Divide:
      if (y == 0) return fail(op.loc, "division by zero in a constant expression");
      return floatValue(x / y);
    case ConstantOperator::Equal: return signedValue(x == y);
    case ConstantOperator::NotEqual: return signedValue(x != y);
    case ConstantOperator::Less: return signedValue(x < y);
    case ConstantOperator::Greater: return signedValue(x > y);
    case ConstantOperator::LessEqual: return signedValue(x <= y);
    case ConstantOperator::GreaterEqual: return signedValue(x >= y);
    default: return fail(op.loc, "this operator needs integer constants");
    }
  }
  const bool isUnsigned = a.kind == Kind::Unsigned || b.kind == Kind::Unsigned;
  const Kind kind = isUnsigned ? Kind::Unsigned : Kind::Signed;
  const std::uint64_t x = a.bits;
  const std::uint64_t y = b.bits;
  const auto sx = static_cast<std::int64_t>(x);
  const auto sy = static_cast<std::int64_t>(y);
  const auto shift = static_cast<unsigned>(y);
  switch (op.op) {
  case ConstantOperator::Add: return {kind, x + y};
  case ConstantOperator::Subtract: return {kind, x - y};
  case ConstantOperator::Multiply: return {kind, x * y};
  case ConstantOperator::Divide:
  case ConstantOperator::Remainder: {
    if (y == 0) return fail(op.loc, "division by zero in a constant expression");
    const bool divide = op.op == ConstantOperator::Divide;
    if (isUnsigned) return {kind, divide ? x / y : x % y};
    if (sy == -1) return {kind, divide ? 0 - x : 0}; // the quotient of the smallest integer wraps
    return signedValue(divide ? sx / sy : sx % sy);
  }
  case ConstantOperator::ShiftLeft: return {a.kind, y < 64 ? x << shift : 0};
  case ConstantOperator::ShiftRight:
    if (a.kind == Kind::Unsigned) return {a.kind, y < 64 ? x >> shift : 0};
    return signedValue(y < 64 ? sx >> shift : (sx < 0 ? -1 : 0));
  case ConstantOperator::And: return {kind, x & y};
  case ConstantOperator::Or: return {kind, x | y};
  case ConstantOperator::Xor: return {kind, x ^ y};
  case ConstantOperator::LogicalAnd: return signedValue(x != 0 && y != 0);
  case ConstantOperator::LogicalOr: return signedValue(x != 0 || y != 0);
  case ConstantOperator::Equal: return signedValue(x == y);
  case ConstantOperator::NotEqual: return signedValue(x != y);
  case ConstantOperator::Less: return signedValue(isUnsigned ? x < y : sx < sy);
  case ConstantOperator::Greater: return signedValue(isUnsigned ? x > y : sx > sy);
  case ConstantOperator::LessEqual: return signedValue(isUnsigned ? x <= y : sx <= sy);
  case ConstantOperator::GreaterEqual: return signedValue(isUnsigned ? x >= y : sx >= sy);
  default: return fail(op.loc, "not an operator of constant expressions");
  }
}

Constant parseInteger(std::string_view text, SourceLoc loc, Diagnostics& diags) {
  std::string_view digits = text;
  bool isUnsigned = false;
  if (digits.ends_with('U')) {
    isUnsigned = true;
    digits.remove_suffix(1);
  }
  int base = 10;
  if (digits.size() > 1 && digits[0] == '0') {
    const char second = digits[1];
    base = second == 'x' || second == 'X' ? 16 : second == 'b' || second == 'B' ? 2 : 8;
    digits.remove_prefix(base == 8 ? 1 : 2);
  }
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error == std::errc::result_out_of_range)
    diags.error(loc, fmt::format("the constant {} does not fit in 64 bits", text.substr(0, 80)));
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) isUnsigned = true;
  return {isUnsigned ? Kind::Unsigned : Kind::Signed, value};
}

Constant parseDecimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // Overflow gives infinity, underflow zero. The sign of the exponent tells which.
    const std::size_t e = text.find_first_of("eE");
    const bool small =
        e == std::string_view::npos ? text.starts_with("0") || text.starts_with(".") : text[e + 1] == '-';
    value = small ? 0 : std::numeric_limits<double>::infinity();
  }
  return {Kind::Decimal, std::bit_cast<std::uint64_t>(value)};
}

Constant parseFloatBits(std::string_view text) {
  std::uint64_t bits = 0;
  std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  return {text.size() == 10 ? Kind::Float32Bits : Kind::Float64Bits, bits};
}

} // namespace orias::ptx
