#pragma once

// The text of a function after each phase, kept as differences.

#include "ori/analysis/liveness.h"
#include "ori/function.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace orias::report {

/// What became of a sequence: at `at` of the old one, `removed` elements go and `added` come. In ascending order;
/// places are those of the old sequence.
struct Edit {
  std::uint32_t at = 0, removed = 0;
  std::vector<std::uint32_t> added;
  friend bool operator==(const Edit&, const Edit&) = default;
};

/// Finds a short list of edits. Elements that both sequences have once hold the rest together.
std::vector<Edit> difference(const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after);

/// The states of one function on its way through the phases.
class States {
 public:
  /// In place of a phase: the PTX as it was read.
  static constexpr std::size_t kAsRead = SIZE_MAX;

  /// Notes what a phase of modules has made of the function's PTX. `phase` is an index into the report's list.
  void addPtx(std::size_t phase, std::string_view text, bool hasChanged);
  /// Notes the function behind a phase. A phase that `hasChanged` nothing is taken at its word.
  void addOri(std::size_t phase, const ori::Function& function, bool hasChanged);
  /// The processor time of the phase that was noted last with this index.
  void setTime(std::size_t phase, double milliseconds);

  bool empty() const { return states_.empty(); }
  /// "states", "rows" and "blocks" of the report's schema.
  nlohmann::ordered_json json() const;

 private:
  struct State {
    std::size_t phase = 0;
    bool isOri = false, hasChanged = false;
    unsigned added = 0, removed = 0;
    std::size_t instructions = 0;
    ori::FileCounts peak{};
    double milliseconds = 0;
    std::vector<Edit> edits;
  };
  /// A line: of an instruction, with its id; of a block, with -1 - its id; of PTX, with kPtxRow.
  static constexpr std::int64_t kPtxRow = INT64_MIN;
  struct Row {
    std::int64_t id = 0;
    std::uint32_t line = 0, loc = 0;
    std::string text;
  };
  struct BlockRow {
    std::uint32_t row = 0;
    unsigned depth = 0;
    std::vector<ori::BlockId> successors;
  };

  std::uint32_t rowOf(std::int64_t id, std::uint32_t line, std::uint32_t loc, std::string text);
  std::uint32_t rowOf(const ori::Function& function, const ori::Block& block);
  void add(State state, std::vector<std::uint32_t> rows);

  std::vector<State> states_;
  std::vector<std::uint32_t> now_; ///< the rows of the last state
  std::vector<Row> rows_;
  std::vector<BlockRow> blocks_;
  std::unordered_map<std::string, std::uint32_t> known_;
};

} // namespace orias::report
