#pragma once

#include "tools/lab/plan.h"
#include "tools/lab/store.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace orias::lab {

/// What runs the jobs of a folder.
enum class Engine : std::uint8_t { Ninja, Slurm };

/// Writes a plan's jobs to a folder, for a program that spreads work over machines which share the folder:
/// `jobs/ID.json`, `plan.json` with the jobs in their order, and `build.ninja`, or `jobs.sh` (a job array) with
/// `submit.sh`, which also submits the merge. Results go to `results/ID.json`. Inputs are named by absolute paths.
/// `program` is the path of orias-lab on the machines. Returns how many jobs there are. Throws orias::Error.
std::size_t writeJobFiles(const Plan& plan, const std::string& folder, Engine engine, const std::string& program);

/// Does the job in a file, in a process of its own, and writes the result whole. A result that is there stays.
void doJobFile(const std::string& program, const std::string& jobFile, const std::string& resultFile);

/// What a merge found.
struct Merged {
  std::size_t added = 0; ///< results that the store did not have
  std::size_t known = 0; ///< that it had
  std::vector<std::string>
      missing; ///< jobs without a result, with the reason if a file is there: "ID", "ID: not readable"
};

/// Puts the results of a folder into a store. May be done again, at any time, while jobs still run.
Merged mergeResults(const std::string& folder, Store& store);

} // namespace orias::lab
