#pragma once

// Linear expressions: 32-bit additions as their terms, independent of association.

#include "phases/optimize/rewriter.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace orias::phases {

/// A value times a number.
struct Term {
  isa::Operand value; ///< without a sign
  std::uint32_t factor = 1;
};

/// The sum of its terms and a constant, modulo 2^32. Terms are in an order that depends only on their values, each
/// value is there once.
struct LinearForm {
  std::vector<Term> terms;
  std::uint32_t number = 0;

  void add(const Term& term);
  void add(const LinearForm& other, std::uint32_t factor);
  /// The terms as bytes: forms that differ in their numbers alone have the same key.
  std::string key() const;
};

/// Bytes that tell a value from all others.
std::string keyOfValue(const isa::Operand& value);

/// Knows the forms of registers of a function in SSA form. Definitions are to be shown before their uses.
class LinearForms {
 public:
  /// Longer sums are opaque values for their uses.
  static constexpr std::size_t kMostTerms = 6;

  explicit LinearForms(const Rewriter& rewriter) : rewriter_(rewriter) {}

  /// The linear form of the result, empty if it is not an addition or too long. Cached for later ones.
  std::optional<LinearForm> show(const ori::Instr& instr);
  /// The form of an operand: that of its definition, or the operand itself; nothing for what may change.
  std::optional<LinearForm> of(const isa::Operand& operand) const;

  /// Calls f(operand, factor) for each addend of the instruction; false if it is not an addition.
  template <typename F> bool forEachAddend(const ori::Instr& instr, F&& f) const {
    std::vector<std::pair<isa::Operand, std::uint32_t>> addends;
    if (!addendsOf(instr, addends)) return false;
    for (const auto& [operand, factor] : addends)
      f(operand, factor);
    return true;
  }

 private:
  bool addendsOf(const ori::Instr& instr, std::vector<std::pair<isa::Operand, std::uint32_t>>& addends) const;
  static std::uint64_t place(const isa::Operand& o) { return std::uint64_t{o.reg} << 8 | o.sub; }

  const Rewriter& rewriter_;
  std::unordered_map<std::uint64_t, LinearForm> forms_; // by component
};

} // namespace orias::phases
