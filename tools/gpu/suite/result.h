#pragma once

#include "tools/gpu/suite/plan.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace orias::gpu {

/// The outcome of an item on the device.
enum class Outcome : std::uint8_t {
  Right,
  Wrong,   ///< the memory is different, including bytes outside the buffers
  Fault,   ///< the kernel faulted unexpectedly
  Hung,    ///< the time limit passed
  Refused, ///< the driver refuses the cubin or the launch
  Crashed, ///< the process died
  Skipped, ///< not run: too many of its family have faulted or hung
};
inline constexpr std::size_t kOutcomes = 7;
const char* outcomeName(Outcome outcome);

struct Result {
  std::string group, name, family, candidate;
  Outcome outcome = Outcome::Right;
  std::string text, details; ///< the verdict, and the differences
  std::string program;       ///< Case::text, if the outcome is not Right
  unsigned registers = 0, localBytes = 0;
  double median = 0, least = 0; ///< microseconds; 0: not timed
  double copiesLeast = 0;       ///< microseconds of a launch with Case::gridCopies; 0: not timed
  std::optional<double> cycles; ///< of one step of a probe
  std::optional<Probe> probe;
  std::string memory; ///< a hash of the buffers after the run; empty: it did not complete
  double seconds = 0; ///< for the item, with loading and copying

  std::string id() const { return group + "/" + name + "/" + candidate; }
  /// Whether it needs attention: not a probe that tries fewer cycles than the table has.
  bool isAlarm() const;
};

std::string toLine(const Result& result); ///< JSON, without a line end
Result fromLine(const std::string& line); ///< throws orias::Error

/// The results on disk: one line each, written immediately. Existing results are kept.
class ResultFile {
 public:
  explicit ResultFile(std::string path);
  void add(const Result& result);
  const std::vector<Result>& all() const { return results_; }
  bool has(const std::string& id) const { return known_.count(id) != 0; }

 private:
  std::string path_;
  std::vector<Result> results_;
  std::map<std::string, std::size_t> known_; ///< by id: index into results_
};

} // namespace orias::gpu
