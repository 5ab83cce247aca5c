#pragma once

#include "tools/lab/job.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orias::lab {

/// A knob and the values that a plan gives it.
struct KnobValues {
  std::string name;
  std::vector<std::string> values;
};

/// How the values of several knobs are combined.
enum class Search : std::uint8_t {
  OneAtATime, ///< each value of each knob, the others at their defaults
  Grid,       ///< each combination
  Random      ///< `count` combinations, by `seed`
};

/// What to measure: each kernel, for each chip, with each option set and each setting of the knobs. plan.schema.json
/// describes the file.
struct Plan {
  std::string name;
  /// PTX file, and launch file, which may be empty: absolute, without "..".
  std::vector<std::pair<std::string, std::string>> kernels;
  std::vector<std::string> chips;
  std::vector<std::vector<std::string>> options;
  std::vector<std::vector<std::string>> settings; ///< of knobs, given explicitly
  std::vector<KnobValues> knobs;
  Search search = Search::OneAtATime;
  unsigned count = 0;
  std::uint64_t seed = 1;
  std::vector<std::string> leftOut;                         ///< phases that are disabled, one in each job
  std::vector<std::pair<std::string, std::string>> swapped; ///< pairs of phases to exchange, one pair in each job
  bool withPtxas = false;
  Limits limits;
};

/// Reads a plan. Files and globs in it are relative to its folder. Throws orias::Error with the location
/// ("knobs.values"), also for knobs and phases that do not exist and globs without a match.
Plan readPlan(const std::string& path);
Plan parsePlan(std::string_view json, const std::string& path);

/// The jobs of a plan, in its order, each once: first the defaults, then the settings, then the phases left out.
std::vector<Job> expand(const Plan& plan);

/// The settings of knobs in a plan, the defaults (no setting) first.
std::vector<std::vector<std::string>> knobSettings(const Plan& plan);

} // namespace orias::lab
