#pragma once

#include "tools/lab/plan.h"
#include "tools/lab/store.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace orias::lab {

/// The system that runs the jobs of a folder.
enum class Engine : std::uint8_t { Ninja, Slurm };

/// Writes a plan's jobs to a folder, for a program that distributes work over machines which share the folder:
/// `jobs/ID.json`, `plan.json` with the jobs in order, and `build.ninja`, or `jobs.sh` (a job array) with `submit.sh`,
/// which also submits the merge. Results are written to `results/ID.json`. Inputs have absolute paths. `program` is the
/// path of orias-lab on the machines. Returns the number of jobs. Throws orias::Error.
std::size_t writeJobFiles(const Plan& plan, const std::string& folder, Engine engine, const std::string& program);

/// Executes the job of a file in a separate process, and writes the result atomically. An existing result is kept.
void doJobFile(const std::string& program, const std::string& jobFile, const std::string& resultFile);

/// The outcome of a merge.
struct Merged {
  std::size_t added = 0; ///< results that the store did not have
  std::size_t known = 0; ///< results that were already in the store
  std::vector<std::string>
      missing; ///< jobs without a result, with the reason if a file exists: "ID", "ID: not readable"
};

/// Merges the results of a folder into a store. It may be repeated at any time, while jobs still run.
Merged mergeResults(const std::string& folder, Store& store);

} // namespace orias::lab
