#include "tools/lab/job_files.h"

#include "support/check.h"
#include "tools/common/files.h"
#include "tools/lab/job_processes.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>

namespace orias::lab {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr unsigned kMegabytesOfParent = 256; ///< for the process that monitors the job
constexpr std::size_t kMaxTasks = 1000;      ///< of a job array: Slurm's limit is 1,000 unless MaxArraySize is set

/// Each task of the job array processes a share of the lines of `list`. Slurm's own limits are slightly above ours,
/// because exceeding ours still gives a result.
std::string slurmScript(const Plan& plan, const std::string& program, std::size_t jobs) {
  const std::size_t tasks = std::min(jobs, kMaxTasks), most = (jobs + tasks - 1) / tasks;
  return fmt::format(R"sh(#!/bin/sh
#SBATCH --job-name={0}
#SBATCH --array=0-{1}
#SBATCH --ntasks=1
#SBATCH --mem={2}M
#SBATCH --time={3}
#SBATCH --output=/dev/null
#SBATCH --requeue
awk -v task="$SLURM_ARRAY_TASK_ID" 'NR % {5} == task' list | while read -r id; do
  '{4}' do-job "jobs/$id.json" -o "results/$id.json" </dev/null
done
)sh",
                     plan.name, tasks - 1, plan.limits.megabytes + kMegabytesOfParent,
                     most * plan.limits.seconds / 60 + 2, program, tasks);
}

std::string submitScript(const std::string& program) {
  return fmt::format(R"sh(#!/bin/sh
# Submits the jobs, and a merge of the results after them. May be submitted again: results that are there stay.
set -e
cd "$(dirname "$0")"
array=$(sbatch --parsable jobs.sh)
sbatch --job-name=merge --dependency=afterany:"$array" --ntasks=1 --output=merge.txt --wrap "'{}' merge . --store=results.db"
)sh",
                     program);
}

std::string ninjaFile(const std::string& program, const std::vector<std::string>& ids) {
  std::string text = fmt::format("rule job\n  command = '{0}' do-job $in -o $out\n"
                                 "rule merge\n  command = '{0}' merge . --store=results.db\n",
                                 program);
  std::string results;
  for (const std::string& id : ids) {
    text += fmt::format("build results/{0}.json: job jobs/{0}.json\n", id);
    results += fmt::format(" results/{}.json", id);
  }
  return text + fmt::format("build results.db: merge{}\ndefault results.db\n", results);
}

std::string fileOf(const fs::path& folder, const char* kind, const std::string& id) {
  return (folder / kind / (id + ".json")).string();
}

} // namespace

std::size_t writeJobFiles(const Plan& plan, const std::string& folder, Engine engine, const std::string& program) {
  const fs::path root(folder);
  fs::create_directories(root / "jobs");
  fs::create_directories(root / "results");
  const std::vector<Job> expanded = expand(plan);
  const Versions versions(expanded);
  std::vector<std::string> ids;
  std::set<std::string> seen;
  for (const Job& job : expanded) {
    std::string id = jobId(job, versions.of(job));
    if (!seen.insert(id).second) continue;
    tools::writeWholeFile(fileOf(root, "jobs", id), writeJob(job));
    ids.push_back(std::move(id));
  }
  const json file = {
      {"plan", plan.name}, {"versions", {{"orias", versions.orias}, {"ptxas", versions.ptxas}}}, {"jobs", ids}};
  tools::writeWholeFile((root / "plan.json").string(), file.dump(1));
  if (engine == Engine::Ninja) {
    tools::writeWholeFile((root / "build.ninja").string(), ninjaFile(program, ids));
    return ids.size();
  }
  std::string list;
  for (const std::string& id : ids)
    list += id + "\n";
  tools::writeWholeFile((root / "list").string(), list);
  tools::writeWholeFile((root / "jobs.sh").string(), slurmScript(plan, program, ids.size()));
  tools::writeWholeFile((root / "submit.sh").string(), submitScript(program));
  return ids.size();
}

void doJobFile(const std::string& program, const std::string& jobFile, const std::string& resultFile) {
  if (fs::exists(resultFile)) return;
  const Job job = parseJob(tools::readWholeFile(jobFile));
  Measurement result;
  const JobProcesses::Done keep = [&](std::size_t, const Measurement& found) { result = found; };
  JobProcesses processes(program, 1);
  processes.start(0, job, keep);
  processes.finish(keep);
  const json file = {{"version", versionOf(job.assembler)}, {"result", json::parse(writeMeasurement(result))}};
  tools::writeWholeFile(resultFile, file.dump());
}

Merged mergeResults(const std::string& folder, Store& store) {
  const fs::path root(folder);
  const json plan = json::parse(tools::readWholeFile((root / "plan.json").string()), nullptr, false);
  if (plan.is_discarded() || !plan.is_object() || !plan.contains("jobs") || !plan.contains("versions"))
    throw Error(fmt::format("'{}' has no plan of jobs", folder));
  const auto ids = plan.at("jobs").get<std::vector<std::string>>();
  Merged merged;
  store.together([&] {
    for (const std::string& id : ids) {
      if (store.find(id)) {
        ++merged.known;
        continue;
      }
      const std::string path = fileOf(root, "results", id);
      if (!fs::exists(path)) {
        merged.missing.push_back(id);
        continue;
      }
      const json file = json::parse(tools::readWholeFile(path), nullptr, false);
      const Job job = parseJob(tools::readWholeFile(fileOf(root, "jobs", id)));
      const std::string version = plan.at("versions").at(std::string(assemblerName(job.assembler)));
      if (file.is_discarded() || !file.contains("version") || !file.contains("result")) {
        merged.missing.push_back(id + ": not readable");
      } else if (file.at("version") != version) {
        merged.missing.push_back(id + ": of other programs");
      } else {
        store.add(id, job, version, parseMeasurement(file.at("result").dump()));
        ++merged.added;
      }
    }
    store.setPlan(plan.at("plan"), ids);
  });
  return merged;
}

} // namespace orias::lab
