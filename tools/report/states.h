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

/// A change of a sequence: at `at` of the old one, `removed` elements are replaced by `added`. In ascending order;
/// positions refer to the old sequence.
struct Edit {
  std::uint32_t at = 0, removed = 0;
  std::vector<std::uint32_t> added;
  friend bool operator==(const Edit&, const Edit&) = default;
};

/// Finds a short list of edits, anchored at elements that occur once in both sequences.
std::vector<Edit> difference(const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after);

/// The states of one function after the phases.
class States {
 public:
  /// Instead of a phase: the PTX as it was read.
  static constexpr std::size_t kAsRead = SIZE_MAX;

  /// Records the function's PTX after a module phase. `phase` is an index into the report's list.
  void addPtx(std::size_t phase, std::string_view text, bool hasChanged);
  /// Records the function after a phase. If `hasChanged` is false, the function is not compared.
  void addOri(std::size_t phase, const ori::Function& function, bool hasChanged);
  /// The processor time of the phase last recorded with this index.
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
  /// A line: for an instruction, its id; for a block, -1 - its id; for PTX, kPtxRow.
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
