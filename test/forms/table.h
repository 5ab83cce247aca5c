#pragma once

#include "test/forms/run.h"

#include <array>
#include <map>
#include <string>

namespace orias::forms {

/// Counts what became of the forms of each instruction.
class Table {
 public:
  void add(const Statement& statement, const Verdict& verdict);
  std::string summary() const;
  /// Writes the Markdown table that docs/coverage.md is. Throws orias::Error if the file cannot be written.
  void write(const std::string& file) const;

 private:
  struct Line {
    std::array<unsigned, 8> counts{};
    std::string why; ///< the first reason of a form that is not run
    unsigned of(Outcome outcome) const { return counts[static_cast<std::size_t>(outcome)]; }
    unsigned forms() const;
    unsigned assembled() const;
  };
  std::map<std::pair<std::string, std::string>, Line> lines_; ///< by operation and first type
};

} // namespace orias::forms
