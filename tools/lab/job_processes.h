#pragma once

#include "tools/lab/measure.h"

#include <functional>
#include <memory>

namespace orias::lab {

/// Executes jobs in separate processes, several at a time: a job that crashes, hangs or takes too much memory does not
/// affect the others.
class JobProcesses {
 public:
  /// Called when a job has ended.
  using Done = std::function<void(std::size_t job, const Measurement&)>;

  /// `program` is called as "program run-job", with the job on its standard input; the result is on its standard
  /// output.
  JobProcesses(std::string program, unsigned atOnce);
  ~JobProcesses(); ///< kills running jobs
  JobProcesses(const JobProcesses&) = delete;
  JobProcesses& operator=(const JobProcesses&) = delete;

  /// Starts a job, after waiting for a free slot. Also calls `done` for jobs that have ended.
  void start(std::size_t number, const Job& job, const Done& done);
  /// Waits for all jobs.
  void finish(const Done& done);

 private:
  struct Process;
  void waitForOne(const Done& done);

  std::string program_;
  unsigned atOnce_;
  std::vector<std::unique_ptr<Process>> running_;
};

} // namespace orias::lab
