#pragma once

#include "test/forms/run.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace orias::forms {

/// Counts the outcomes of the forms of each instruction, on each of several targets.
class Table {
 public:
  explicit Table(std::vector<std::string> targets) : targets_(std::move(targets)) {}
  /// `target`: the index of the target.
  void add(std::size_t target, const Statement& statement, const Verdict& verdict);
  /// A line for each target.
  std::string summary() const;
  /// Writes the Markdown table docs/coverage.md. Throws orias::Error if the file cannot be written.
  void write(const std::string& file) const;

 private:
  struct Counts {
    std::array<unsigned, 8> of_{};
    unsigned of(Outcome outcome) const { return of_[static_cast<std::size_t>(outcome)]; }
    unsigned forms() const;
    unsigned assembled() const;
  };
  struct Line {
    std::vector<Counts> counts; ///< by target
    std::string why;            ///< the first reason of a form that is not run
  };
  std::string summaryOf(std::size_t target) const;
  static std::string cellOf(const Line& line, std::size_t target);
  /// Groups of targets whose cells are equal in all lines.
  std::vector<std::vector<std::size_t>> columns() const;

  std::vector<std::string> targets_;
  std::map<std::pair<std::string, std::string>, Line> lines_; ///< by operation and first type
};

} // namespace orias::forms
