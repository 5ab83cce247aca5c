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
  std::uint64_t attempts = 0; ///< how often the oracle may be asked; 0: as often as it takes
  /// Told of every pass that made the program smaller: its name, and how many instructions are left.
  std::function<void(const std::string& pass, std::size_t instructions)> progress;
};

struct Reduced {
  std::string ptx;
  launch::Launch launch;
  std::size_t instructions = 0;
  std::uint64_t attempts = 0;
};

/// Makes a failing program smaller until nothing that is known here makes it smaller. Every candidate that the oracle
/// sees is well formed, and reads only registers that were written. Throws orias::Error when the program has errors.
Reduced reduce(const std::string& ptx, const launch::Launch& launch, Oracle& oracle, const ReduceOptions& options = {});

/// The state of a reduction, which the passes (transforms.cpp) work on.
class Reducer {
 public:
  Reducer(const std::string& ptx, const launch::Launch& launch, Oracle& oracle, const ReduceOptions& options);

  const Source& source() const { return source_; }
  const std::vector<Facts>& facts() const { return facts_; }
  const launch::Launch& launch() const { return launch_; }
  /// The facts about a piece; null when it is no instruction.
  const Facts* factsOf(std::size_t piece) const;

  /// Takes the candidate when it is well formed, costs less and still fails.
  bool offer(Source candidate);
  /// The same with another launch, which is smaller than the one before.
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

/// Tries to do without each of `count` things, many at a time at first. `without(first, last)` tries without a range of
/// them and says whether that went well: then the things behind have moved up.
void minimise(std::size_t count, const std::function<bool(std::size_t first, std::size_t last)>& without);

} // namespace orias::reduce
