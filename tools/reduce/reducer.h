#pragma once

#include "tools/launch/launch.h"
#include "tools/reduce/analysis.h"
#include "tools/reduce/oracle.h"
#include "tools/reduce/source.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace orias::reduce {

struct ReduceOptions {
  std::uint64_t attempts = 0; ///< maximum number of oracle calls; 0: no limit
  /// Called after every pass that made the program smaller: its name, and the number of remaining instructions.
  std::function<void(const std::string& pass, std::size_t instructions)> progress;
};

struct Reduced {
  std::string ptx;
  launch::Launch launch;
  std::size_t instructions = 0;
  std::uint64_t attempts = 0;
};

/// Makes a failing program smaller until no pass makes it smaller. Every candidate for the oracle is well formed and
/// reads only registers that were written. Throws orias::Error if the program has errors.
Reduced reduce(const std::string& ptx, const launch::Launch& launch, Oracle& oracle, const ReduceOptions& options = {});

/// The state of a reduction, on which the passes (transforms.cpp) operate.
class Reducer {
 public:
  Reducer(const std::string& ptx, const launch::Launch& launch, Oracle& oracle, const ReduceOptions& options);

  const Source& source() const { return source_; }
  const std::vector<Facts>& facts() const { return facts_; }
  const launch::Launch& launch() const { return launch_; }
  /// The facts about a piece; null if it is not an instruction.
  const Facts* factsOf(std::size_t piece) const;

  /// Accepts the candidate if it is well formed, has a lower cost and still fails.
  bool offer(Source candidate);
  /// Likewise with another, smaller launch.
  bool offer(Source candidate, launch::Launch launch);

  Reduced run();

 private:
  bool accept(Source&& candidate, launch::Launch&& launch);

  Oracle& oracle_;
  const ReduceOptions& options_;
  Source source_;
  launch::Launch launch_;
  std::vector<Facts> facts_;
  std::uint64_t attempts_ = 0;
};

/// Tries to remove each of `count` items, starting with large ranges. `without(first, last)` tries to remove a range
/// and returns whether it succeeded; later items have then moved up.
void minimise(std::size_t count, const std::function<bool(std::size_t first, std::size_t last)>& without);

} // namespace orias::reduce
