#pragma once

#include "ori/analysis/cfg.h"
#include "ori/analysis/components.h"
#include "phases/optimize/rewriter.h"
#include "phases/optimize/word_key.h"
#include "support/arena.h"

#include <array>
#include <utility>
#include <vector>

namespace orias::phases {

/// Which values of a function in SSA form are equal whenever both exist, including around loops: for example two
/// counters with equal initial values and equal steps. Initially all values are assumed equal; they are then
/// partitioned by their definitions until nothing changes (Alpern, Wegman, Zadeck: Detecting Equality of Variables in
/// Programs; in reverse post-order with a table as in Simpson: Value-Driven Redundancy Elimination, 4.2). A snapshot.
class Congruence {
 public:
  Congruence(const Rewriter& rewriter, const ori::Cfg& cfg) : rewriter_(rewriter), cfg_(cfg), parts_(cfg.function()) {}

  /// False if it needs more than `maxRounds` iterations: nothing is known then.
  bool compute(std::int64_t maxRounds);

  const ori::Components& components() const { return parts_; }
  /// Equal components have the same number: the first of them, as a component. kNoId for unreachable code.
  ori::CompId numberOf(ori::CompId part) const { return numbers_[part]; }

 private:
  bool visit(const ori::Instr& instr);
  bool set(ori::CompId part, ori::CompId number);
  bool appendValue(KeyWords& key, const isa::Operand& operand) const;
  void makeKeyOfPhi(const ori::Instr& phi);
  void makeKeyOfOther(const ori::Instr& instr);
  bool isPlainCopy(const ori::Instr& instr) const;

  const Rewriter& rewriter_;
  const ori::Cfg& cfg_;
  const ori::Components parts_;
  std::vector<ori::CompId> numbers_;
  Arena keys_;
  WordKeyMap<const ori::Instr*> first_;                    // in this iteration, by the definition of the value
  KeyWords key_;                                           // of the current instruction
  std::array<KeyWords, 3> unordered_;                      // its sources whose order does not matter
  std::vector<std::pair<ori::BlockId, KeyWords>> sources_; // of the current phi
  std::vector<ori::CompId> leaders_;
};

} // namespace orias::phases
