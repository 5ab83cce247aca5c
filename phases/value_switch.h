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

/// The test at the end of a block: whether a 32-bit value is one of some constants.
struct WordTest {
  ori::Block* block;
  ori::Instr* compare;
  isa::Operand value;
  std::vector<WordRange> numbers; ///< sorted; the block branches to `target` for them
  ori::BlockId target, rest;      ///< the successor for all others
};

/// The test at the end of a block, if only its branch uses it and the value is not redefined after the comparison.
std::optional<WordTest> wordTestAt(const ori::Function& function, ori::Block* block);

/// A chain of tests of one value and their targets.
struct ValueSwitch {
  ori::Block* head = nullptr;
  isa::Operand value;
  std::vector<ori::BlockId> blocks;                       ///< with the tests, the head first
  std::map<ori::BlockId, std::vector<WordRange>> targets; ///< the values of each target; together all values
};

/// The tests that begin with `head`. Its other blocks contain only a test and have one predecessor.
std::optional<ValueSwitch> valueSwitchAt(const ori::Cfg& cfg, ori::Block* head);

} // namespace orias::phases
