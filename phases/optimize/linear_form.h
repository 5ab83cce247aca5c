#pragma once

// Linear expressions: 32-bit additions as their terms, independent of association.

#include "phases/optimize/rewriter.h"
#include "phases/optimize/word_key.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace orias::phases {

/// A value times a constant.
struct Term {
  isa::Operand value; ///< without a sign
  std::uint32_t factor = 1;
  friend bool operator==(const Term&, const Term&) = default;
};

using Terms = std::vector<Term>;

struct TermsHash {
  std::size_t operator()(const Terms& terms) const {
    std::uint64_t hash = terms.size();
    for (const Term& term : terms)
      hash = mixHash(mixHash(hash, term.value), term.factor);
    return hash;
  }
};

/// The sum of its terms and a constant, modulo 2^32. The order of the terms depends only on their values, and each
/// value occurs once: forms that differ only in their constants have equal terms.
struct LinearForm {
  Terms terms;
  std::uint32_t number = 0;

  void add(const Term& term);
  void add(const LinearForm& other, std::uint32_t factor);
};

/// The forms of registers of a function in SSA form. show() must see definitions before their uses.
class LinearForms {
 public:
  /// Longer sums are opaque values to their uses.
  static constexpr std::size_t kMaxTerms = 6;

  explicit LinearForms(const Rewriter& rewriter) : rewriter_(rewriter) {}

  /// The linear form of the result; nothing if it is not an addition or too long. Cached for later calls.
  std::optional<LinearForm> show(const ori::Instr& instr);
  /// The form of an operand: that of its definition, or the operand itself; nothing if its value may change.
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
