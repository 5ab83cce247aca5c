#pragma once

#include "tools/lab/measure.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace orias::lab {

/// One run of a soak: a command with a seed.
struct SoakRun {
  std::uint64_t seed = 0;
  std::string state;   ///< `done`, `failed` or `out of time`
  double seconds = 0;  ///< wall-clock time
  std::string message; ///< the end of the output of a failed run
};

/// The results, in one SQLite file; README.md has the schema. Each result is written atomically, so an interrupted
/// sweep continues where it stopped. Methods throw orias::Error with SQLite's message.
class Store {
 public:
  /// Opens or creates a store. A read-only store must exist.
  enum class Mode : std::uint8_t { ReadWrite, ReadOnly };
  explicit Store(const std::string& path, Mode mode = Mode::ReadWrite);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The result of a job, by jobId(); nothing if it is not done yet.
  std::optional<Measurement> find(const std::string& id);
  void add(const std::string& id, const Job& job, std::string_view version, const Measurement& found);
  /// Executes `changes` as one transaction, which is rolled back if it throws. Transactions may nest. The disk is
  /// synchronized once; this dominates the time when many results are added.
  void together(const std::function<void()>& changes);
  /// Records that a plan consists of these jobs, in this order; replaces its earlier jobs.
  void setPlan(const std::string& plan, std::span<const std::string> ids);

  void addSoakRun(const std::string& command, const SoakRun& run);
  /// The seeds that a command was run with.
  std::set<std::uint64_t> soakedSeeds(const std::string& command);

  /// The rows of a query: texts, or nothing for NULL. The query must not change the store.
  struct Table {
    std::vector<std::string> columns;
    std::vector<std::vector<std::optional<std::string>>> rows;
    std::vector<std::vector<bool>> isNumber; ///< by row and column
  };
  Table query(const std::string& sql);

 private:
  class Statement;
  void execute(const char* sql);

  sqlite3* database_ = nullptr;
};

} // namespace orias::lab
