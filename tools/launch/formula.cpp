#include "tools/launch/formula.h"

#include "support/check.h"
#include "tools/launch/formula_tree.h"

#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace orias::launch {

struct Formula::Tree {
  std::string text;
  std::span<const FormulaName> names;
  FormulaNode root;
  std::vector<Integer> variables; ///< `i`, then the counters of the sums
  std::uint64_t steps = 0;

  [[noreturn]] void fail(const std::string& message) const {
    throw Error(fmt::format("formula \"{}\", element {}: {}", text, static_cast<std::int64_t>(variables[0]), message));
  }

  Number value(const FormulaNode& node);
  Number over(const FormulaNode& node);
  Number element(const FormulaNode& node);
  Number converted(ElementType type, const Number& from) const;
  Number arithmetic(FormulaOp op, const Number& a, const Number& b) const;
  Number bitwise(FormulaOp op, const Number& a, const Number& b) const;

  Integer integer(const FormulaNode& node) {
    const Number number = value(node);
    if (number.isReal) fail("expected an integer, got a real; convert it by u32(...), s64(...), ...");
    return number.integer;
  }
  bool truth(const FormulaNode& node) {
    const Number number = value(node);
    return number.isReal ? number.real != 0 : number.integer != 0;
  }
};

namespace {

constexpr std::uint64_t kMaxSteps = 500'000'000;

bool less(const Number& a, const Number& b) {
  return a.isReal || b.isReal ? a.asReal() < b.asReal() : a.integer < b.integer;
}
bool equal(const Number& a, const Number& b) {
  return a.isReal || b.isReal ? a.asReal() == b.asReal() : a.integer == b.integer;
}

/// Sums and products wrap as in hardware; in a signed type this would be undefined.
__extension__ using Wide = unsigned __int128;
Integer wrap(Wide value) {
  return static_cast<Integer>(value);
}

Number load(ElementType type, const std::byte* at) {
  return isFloat(type) ? Number::of(loadFloat(type, at)) : Number::of(loadInteger(type, at));
}

} // namespace

Number Formula::Tree::value(const FormulaNode& node) {
  if (++steps > kMaxSteps) fail("the formula needs too many steps");
  const auto operand = [&](std::size_t i) { return value(node.operands[i]); };
  const auto yesNo = [](bool holds) { return Number::of(Integer{holds}); };
  switch (node.op) {
  case FormulaOp::Constant: return node.constant;
  case FormulaOp::Variable: return Number::of(variables[node.slot]);
  case FormulaOp::Scalar: return load(names[node.name].type, names[node.name].bytes.data());
  case FormulaOp::Element: return element(node);
  case FormulaOp::Negate: {
    const Number a = operand(0);
    return a.isReal ? Number::of(-a.real) : Number::of(wrap(-static_cast<Wide>(a.integer)));
  }
  case FormulaOp::Not: return yesNo(!truth(node.operands[0]));
  case FormulaOp::Complement: return Number::of(~integer(node.operands[0]));
  case FormulaOp::Multiply:
  case FormulaOp::Divide:
  case FormulaOp::Remainder:
  case FormulaOp::Add:
  case FormulaOp::Subtract: return arithmetic(node.op, operand(0), operand(1));
  case FormulaOp::ShiftLeft:
  case FormulaOp::ShiftRight:
  case FormulaOp::BitAnd:
  case FormulaOp::BitXor:
  case FormulaOp::BitOr:
    return bitwise(node.op, Number::of(integer(node.operands[0])), Number::of(integer(node.operands[1])));
  case FormulaOp::Less: return yesNo(less(operand(0), operand(1)));
  case FormulaOp::Greater: return yesNo(less(operand(1), operand(0)));
  case FormulaOp::LessEqual: {
    const Number a = operand(0), b = operand(1);
    return yesNo(less(a, b) || equal(a, b));
  }
  case FormulaOp::GreaterEqual: {
    const Number a = operand(0), b = operand(1);
    return yesNo(less(b, a) || equal(a, b));
  }
  case FormulaOp::Equal: return yesNo(equal(operand(0), operand(1)));
  case FormulaOp::NotEqual: return yesNo(!equal(operand(0), operand(1)));
  case FormulaOp::And: return yesNo(truth(node.operands[0]) && truth(node.operands[1]));
  case FormulaOp::Or: return yesNo(truth(node.operands[0]) || truth(node.operands[1]));
  case FormulaOp::Select: return operand(truth(node.operands[0]) ? 1 : 2);
  case FormulaOp::Convert: return converted(node.type, operand(0));
  case FormulaOp::Min:
  case FormulaOp::Max: {
    const Number a = operand(0), b = operand(1);
    return less(b, a) == (node.op == FormulaOp::Min) ? b : a;
  }
  case FormulaOp::Absolute: {
    const Number a = operand(0);
    if (a.isReal) return Number::of(std::fabs(a.real));
    return a.integer < 0 ? Number::of(wrap(-static_cast<Wide>(a.integer))) : a;
  }
  case FormulaOp::CountOnes:
    return Number::of(Integer{std::popcount(static_cast<std::uint64_t>(integer(node.operands[0])))});
  case FormulaOp::Function: {
    double arguments[3] = {};
    for (std::size_t k = 0; k < node.operands.size(); ++k)
      arguments[k] = operand(k).asReal();
    return Number::of(node.function->call(arguments[0], arguments[1], arguments[2]));
  }
  case FormulaOp::Sum:
  case FormulaOp::Least:
  case FormulaOp::Most: return over(node);
  }
  ORIAS_UNREACHABLE("an operation of a formula");
}

/// sum, least and most over a range.
Number Formula::Tree::over(const FormulaNode& node) {
  const Integer from = integer(node.operands[0]), to = integer(node.operands[1]);
  Number total = Number::of(Integer{0});
  variables.push_back(from);
  for (Integer k = from; k < to; ++k) {
    variables[node.slot] = k;
    const Number term = value(node.operands[2]);
    if (node.op == FormulaOp::Sum)
      total = arithmetic(FormulaOp::Add, total, term);
    else if (k == from || (node.op == FormulaOp::Least ? less(term, total) : less(total, term)))
      total = term;
  }
  variables.pop_back();
  return total;
}

Number Formula::Tree::element(const FormulaNode& node) {
  const FormulaName& array = names[node.name];
  const std::size_t width = elementBytes(array.type);
  const Integer index = integer(node.operands[0]);
  if (index < 0 || index >= static_cast<Integer>(array.bytes.size() / width))
    fail(fmt::format("{}[{}] is outside the buffer of {} elements", array.name, static_cast<std::int64_t>(index),
                     array.bytes.size() / width));
  return load(array.type, array.bytes.data() + static_cast<std::size_t>(index) * width);
}

Number Formula::Tree::converted(ElementType type, const Number& from) const {
  std::byte bytes[8] = {};
  if (!from.isReal)
    storeInteger(type, from.integer, bytes);
  else if (!isFloat(type) && !(std::fabs(from.real) < 0x1p63))
    fail(fmt::format("{} does not fit into an integer", from.real));
  else
    storeFloat(type, from.real, bytes);
  return load(type, bytes);
}

Number Formula::Tree::arithmetic(FormulaOp op, const Number& a, const Number& b) const {
  if (a.isReal || b.isReal) {
    const double x = a.asReal(), y = b.asReal();
    switch (op) {
    case FormulaOp::Multiply: return Number::of(x * y);
    case FormulaOp::Divide: return Number::of(x / y);
    case FormulaOp::Remainder: return Number::of(std::fmod(x, y));
    case FormulaOp::Add: return Number::of(x + y);
    default: return Number::of(x - y);
    }
  }
  const Wide x = static_cast<Wide>(a.integer), y = static_cast<Wide>(b.integer);
  switch (op) {
  case FormulaOp::Multiply: return Number::of(wrap(x * y));
  case FormulaOp::Add: return Number::of(wrap(x + y));
  case FormulaOp::Subtract: return Number::of(wrap(x - y));
  default: break;
  }
  if (b.integer == 0) fail("division by zero");
  if (b.integer == -1) return op == FormulaOp::Divide ? Number::of(wrap(-x)) : Number::of(Integer{0});
  return Number::of(op == FormulaOp::Divide ? a.integer / b.integer : a.integer % b.integer);
}

Number Formula::Tree::bitwise(FormulaOp op, const Number& a, const Number& b) const {
  switch (op) {
  case FormulaOp::BitAnd: return Number::of(a.integer & b.integer);
  case FormulaOp::BitXor: return Number::of(a.integer ^ b.integer);
  case FormulaOp::BitOr: return Number::of(a.integer | b.integer);
  default: break;
  }
  if (b.integer < 0 || b.integer > 127) fail("a shift by less than 0 or more than 127");
  const int by = static_cast<int>(b.integer);
  return Number::of(op == FormulaOp::ShiftLeft ? wrap(static_cast<Wide>(a.integer) << by) : a.integer >> by);
}

Formula::Formula(std::string_view text, std::span<const FormulaName> names) : tree_(std::make_unique<Tree>()) {
  tree_->text = text;
  tree_->names = names;
  tree_->root = parseFormula(tree_->text, names);
  tree_->variables = {0};
}

Formula::~Formula() = default;
Formula::Formula(Formula&&) noexcept = default;

Number Formula::evaluate(std::uint64_t i) {
  tree_->variables.assign(1, static_cast<Integer>(i));
  return tree_->value(tree_->root);
}

} // namespace orias::launch
