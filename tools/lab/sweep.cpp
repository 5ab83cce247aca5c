#include "tools/lab/sweep.h"

#include "tools/common/files.h"
#include "tools/lab/job_processes.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <map>

namespace orias::lab {

namespace fs = std::filesystem;

namespace {

/// Inputs, command line and message of a job that failed.
void keepFailure(const fs::path& folder, const Job& job, const Measurement& found) {
  fs::create_directories(folder);
  const auto copy = [&](const std::string& file) {
    if (!file.empty()) fs::copy_file(file, folder / fs::path(file).filename(), fs::copy_options::overwrite_existing);
  };
  copy(job.ptxFile);
  copy(job.launchFile);
  Job there = job;
  there.ptxFile = fs::path(job.ptxFile).filename().string();
  tools::writeWholeFile((folder / "command").string(), commandOf(there) + "\n");
  tools::writeWholeFile((folder / "message").string(), fmt::format("{}: {}\n", stateName(found.state), found.message));
}

} // namespace

SweepProgress sweep(const Plan& plan, Store& store, const SweepOptions& options) {
  using Clock = std::chrono::steady_clock;
  const std::vector<Job> jobs = expand(plan);
  const Versions versions(jobs);
  std::vector<std::string> ids;
  std::map<std::string, std::size_t> waiting; // the first job of each id without a result
  SweepProgress progress;
  progress.all = jobs.size();
  std::vector<std::size_t> jobsOf(jobs.size(), 0); // number of jobs that share the result of this one
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ids.push_back(jobId(jobs[i], versions.of(jobs[i])));
    if (const auto known = store.find(ids[i])) {
      ++progress.done;
      progress.failed += known->state != State::Done;
      continue;
    }
    ++jobsOf[waiting.try_emplace(ids[i], i).first->second];
  }
  store.setPlan(plan.name, ids);
  const std::size_t known = progress.done;
  const Clock::time_point start = Clock::now();
  const auto tell = [&] {
    const std::size_t now = progress.done - known;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    progress.secondsLeft =
        now == 0 ? 0 : seconds / static_cast<double>(now) * static_cast<double>(progress.all - progress.done);
    if (options.progress) options.progress(progress);
  };
  tell();
  const JobProcesses::Done done = [&](std::size_t i, const Measurement& found) {
    store.add(ids[i], jobs[i], versions.of(jobs[i]), found);
    progress.done += jobsOf[i];
    if (found.state != State::Done) {
      progress.failed += jobsOf[i];
      if (!options.failureFolder.empty()) keepFailure(fs::path(options.failureFolder) / ids[i], jobs[i], found);
    }
    tell();
  };
  JobProcesses processes(options.program, options.atOnce);
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobsOf[i] != 0) processes.start(i, jobs[i], done);
  processes.finish(done);
  return progress;
}

} // namespace orias::lab
