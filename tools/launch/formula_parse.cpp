#include "support/check.h"
#include "support/nearest.h"
#include "tools/launch/formula_tree.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

namespace orias::launch {

namespace {

constexpr unsigned kMaxDepth = 100;

constexpr FormulaFunction kFunctions[] = {
    {"sqrt", 1, [](double a, double, double) { return std::sqrt(a); }},
    {"exp", 1, [](double a, double, double) { return std::exp(a); }},
    {"exp2", 1, [](double a, double, double) { return std::exp2(a); }},
    {"log", 1, [](double a, double, double) { return std::log(a); }},
    {"log2", 1, [](double a, double, double) { return std::log2(a); }},
    {"sin", 1, [](double a, double, double) { return std::sin(a); }},
    {"cos", 1, [](double a, double, double) { return std::cos(a); }},
    {"tanh", 1, [](double a, double, double) { return std::tanh(a); }},
    {"floor", 1, [](double a, double, double) { return std::floor(a); }},
    {"ceil", 1, [](double a, double, double) { return std::ceil(a); }},
    {"trunc", 1, [](double a, double, double) { return std::trunc(a); }},
    {"rint", 1, [](double a, double, double) { return std::nearbyint(a); }},
    {"pow", 2, [](double a, double b, double) { return std::pow(a, b); }},
    {"fma", 3, [](double a, double b, double c) { return std::fma(a, b, c); }},
    {"fmaf", 3,
     [](double a, double b, double c) {
       return static_cast<double>(std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)));
     }},
};

struct Operator {
  std::string_view text;
  FormulaOp op;
  int precedence; ///< higher binds tighter
};

/// Longer spellings first.
constexpr Operator kOperators[] = {
    {"<<", FormulaOp::ShiftLeft, 8},    {">>", FormulaOp::ShiftRight, 8}, {"<=", FormulaOp::LessEqual, 7},
    {">=", FormulaOp::GreaterEqual, 7}, {"==", FormulaOp::Equal, 6},      {"!=", FormulaOp::NotEqual, 6},
    {"&&", FormulaOp::And, 2},          {"||", FormulaOp::Or, 1},         {"*", FormulaOp::Multiply, 10},
    {"/", FormulaOp::Divide, 10},       {"%", FormulaOp::Remainder, 10},  {"+", FormulaOp::Add, 9},
    {"-", FormulaOp::Subtract, 9},      {"<", FormulaOp::Less, 7},        {">", FormulaOp::Greater, 7},
    {"&", FormulaOp::BitAnd, 5},        {"^", FormulaOp::BitXor, 4},      {"|", FormulaOp::BitOr, 3},
};

/// Functions that preserve the kind of number.
struct ExactFunction {
  std::string_view name;
  unsigned operands;
  FormulaOp op;
};

constexpr ExactFunction kExactFunctions[] = {{"min", 2, FormulaOp::Min},
                                             {"max", 2, FormulaOp::Max},
                                             {"abs", 1, FormulaOp::Absolute},
                                             {"popc", 1, FormulaOp::CountOnes}};

template <typename Row, std::size_t n> const Row* findByName(const Row (&table)[n], std::string_view name) {
  const auto* found = std::find_if(table, table + n, [&](const Row& row) { return row.name == name; });
  return found == table + n ? nullptr : found;
}

class Parser {
 public:
  Parser(std::string_view text, std::span<const FormulaName> names) : text_(text), names_(names) {}

  FormulaNode whole() {
    FormulaNode node = conditional();
    if (at_ < text_.size()) fail("expected an operator");
    return node;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { fail(message, at_); }
  [[noreturn]] void fail(const std::string& message, std::size_t at) const {
    throw Error(fmt::format("formula \"{}\", column {}: {}", text_, at + 1, message));
  }

  void skipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }
  bool take(std::string_view word) {
    skipSpaces();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    skipSpaces();
    return true;
  }
  void expect(std::string_view word) {
    if (!take(word)) fail(fmt::format("expected '{}'", word));
  }

  FormulaNode conditional() {
    if (++depth_ > kMaxDepth) fail("nested too deeply");
    FormulaNode condition = binary(1);
    if (take("?")) {
      FormulaNode yes = conditional();
      expect(":");
      FormulaNode no = conditional();
      condition = make(FormulaOp::Select, std::move(condition), std::move(yes), std::move(no));
    }
    --depth_;
    return condition;
  }

  FormulaNode binary(int lowest) {
    FormulaNode left = unary();
    while (true) {
      skipSpaces();
      const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                       [&](const Operator& o) { return text_.substr(at_, o.text.size()) == o.text; });
      if (found == std::end(kOperators) || found->precedence < lowest) return left;
      at_ += found->text.size();
      FormulaNode right = binary(found->precedence + 1);
      left = make(found->op, std::move(left), std::move(right));
    }
  }

  FormulaNode unary() {
    if (++depth_ > kMaxDepth) fail("nested too deeply");
    FormulaNode node;
    if (take("-"))
      node = make(FormulaOp::Negate, unary());
    else if (take("~"))
      node = make(FormulaOp::Complement, unary());
    else if (take("!"))
      node = make(FormulaOp::Not, unary());
    else
      node = primary();
    --depth_;
    return node;
  }

  FormulaNode primary() {
    if (take("(")) {
      FormulaNode node = conditional();
      expect(")");
      return node;
    }
    if (at_ >= text_.size()) fail("expected a value");
    const unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (std::isdigit(c) || c == '.') return number();
    if (std::isalpha(c) || c == '_') return named();
    fail("expected a value");
  }

  FormulaNode number() {
    // strtod requires a terminating zero; 64 characters are more than any number needs.
    const std::string rest(text_.substr(at_, 64));
    char* end = nullptr;
    const bool hex = rest.size() > 1 && rest[0] == '0' && (rest[1] == 'x' || rest[1] == 'X');
    const std::size_t digits = rest.find_first_not_of("0123456789");
    FormulaNode node;
    if (hex || digits == std::string::npos || std::string_view(".eE").find(rest[digits]) == std::string_view::npos) {
      node.constant = Number::of(static_cast<Integer>(std::strtoull(rest.c_str(), &end, hex ? 16 : 10)));
    } else {
      node.constant = Number::of(std::strtod(rest.c_str(), &end));
    }
    at_ += static_cast<std::size_t>(end - rest.c_str());
    return node;
  }

  std::string_view word() {
    skipSpaces();
    const std::size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_'))
      ++at_;
    return text_.substr(from, at_ - from);
  }

  FormulaNode named() {
    const std::size_t from = at_;
    const std::string_view name = word();
    if (take("(")) return call(name, from);
    FormulaNode node;
    for (std::size_t i = variables_.size(); i-- > 0;)
      if (variables_[i] == name) {
        node.op = FormulaOp::Variable;
        node.slot = i;
        return node;
      }
    const auto found = std::find_if(names_.begin(), names_.end(), [&](const auto& n) { return n.name == name; });
    if (found == names_.end()) unknown("value", name, from);
    node.name = static_cast<std::size_t>(found - names_.begin());
    node.op = found->isArray ? FormulaOp::Element : FormulaOp::Scalar;
    if (found->isArray) {
      expect("[");
      node.operands.push_back(conditional());
      expect("]");
    }
    return node;
  }

  [[noreturn]] void unknown(std::string_view what, std::string_view name, std::size_t at) const {
    NearestName nearest(name);
    for (const FormulaName& n : names_)
      nearest.offer(n.name);
    for (const FormulaFunction& f : kFunctions)
      nearest.offer(f.name);
    for (const ExactFunction& f : kExactFunctions)
      nearest.offer(f.name);
    const std::string hint = nearest.best().empty() ? "" : fmt::format("; did you mean '{}'?", nearest.best());
    fail(fmt::format("unknown {} '{}'{}", what, name, hint), at);
  }

  FormulaNode call(std::string_view name, std::size_t from) {
    FormulaNode node;
    if (name == "sum" || name == "least" || name == "most") {
      node.op = name == "sum" ? FormulaOp::Sum : name == "least" ? FormulaOp::Least : FormulaOp::Most;
      const std::string_view variable = word();
      if (variable.empty()) fail("expected the name of the loop variable");
      node.slot = variables_.size();
      expect(",");
      node.operands.push_back(conditional());
      expect(",");
      node.operands.push_back(conditional());
      expect(",");
      variables_.push_back(variable);
      node.operands.push_back(conditional());
      variables_.pop_back();
      expect(")");
      return node;
    }
    std::size_t wanted = 1;
    if (const auto type = findElementType(name)) {
      node.op = FormulaOp::Convert;
      node.type = *type;
    } else if (const ExactFunction* exact = findByName(kExactFunctions, name)) {
      node.op = exact->op;
      wanted = exact->operands;
    } else if (const FormulaFunction* function = findByName(kFunctions, name)) {
      node.op = FormulaOp::Function;
      node.function = function;
      wanted = function->operands;
    } else {
      unknown("function", name, from);
    }
    do
      node.operands.push_back(conditional());
    while (take(","));
    expect(")");
    if (node.operands.size() != wanted) fail(fmt::format("'{}' takes {} operands", name, wanted), from);
    return node;
  }

  template <typename... Nodes> static FormulaNode make(FormulaOp op, Nodes... operands) {
    FormulaNode node;
    node.op = op;
    (node.operands.push_back(std::move(operands)), ...);
    return node;
  }

  std::string_view text_;
  std::span<const FormulaName> names_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  std::vector<std::string_view> variables_ = {"i"};
};

} // namespace

FormulaNode parseFormula(std::string_view text, std::span<const FormulaName> names) {
  return Parser(text, names).whole();
}

} // namespace orias::launch
