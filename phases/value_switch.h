#pragma once

#include "ori/analysis/cfg.h"
#include "ori/function.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace orias::phases {

/// Words from `first` to `last`, as unsigned numbers.
struct WordRange {
  std::uint32_t first, last;
  friend bool operator==(const WordRange&, const WordRange&) = default;
};

/// The test that a block ends with: whether a word is one of some known ones.
struct WordTest {
  ori::Block* block;
  ori::Instr* compare;
  isa::Operand value;
  std::vector<WordRange> numbers; ///< in order; the block goes to `target` for them
  ori::BlockId target, rest;      ///< where else
};

/// The test at the end of a block, when only its branch reads it and nothing writes the word behind the comparison.
std::optional<WordTest> wordTestAt(const ori::Function& function, ori::Block* block);

/// Tests of one word, each made when others have decided nothing: where it leads.
struct ValueSwitch {
  ori::Block* head = nullptr;
  isa::Operand value;
  std::vector<ori::BlockId> blocks;                       ///< with the tests, the head first
  std::map<ori::BlockId, std::vector<WordRange>> targets; ///< which words lead where; together all words
};

/// The tests that begin with `head`. Its other blocks hold nothing but a test, and are come to from one place.
std::optional<ValueSwitch> valueSwitchAt(const ori::Cfg& cfg, ori::Block* head);

} // namespace orias::phases
