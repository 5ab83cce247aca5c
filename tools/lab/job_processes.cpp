#include "tools/lab/job_processes.h"

#include "support/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace orias::lab {

namespace {
using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxMessage = 2000;
} // namespace

/// A running job: its process, and its output so far.
struct JobProcesses::Process {
  pid_t pid = -1;
  int output = -1;
  std::size_t number = 0;
  Limits limits;
  Clock::time_point end;
  std::string said;
  bool isLate = false;

  ~Process() {
    if (pid > 0) {
      kill(-pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
    if (output >= 0) close(output);
  }

  /// The result, once the process has closed its output.
  Measurement result() {
    int status = 0;
    waitpid(pid, &status, 0);
    pid = -1;
    Measurement failed;
    if (isLate) {
      failed.state = State::OutOfTime;
      failed.message = fmt::format("more than {} s", limits.seconds);
      return failed;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return parseMeasurement(said);
    failed.message = WIFSIGNALED(status)
                         ? fmt::format("killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)))
                         : fmt::format("exit status {}", WEXITSTATUS(status));
    return failed;
  }
};

JobProcesses::JobProcesses(std::string program, unsigned atOnce)
    : program_(std::move(program)), atOnce_(std::max(atOnce, 1u)) {
  std::signal(SIGPIPE, SIG_IGN);
}

JobProcesses::~JobProcesses() = default;

void JobProcesses::start(std::size_t number, const Job& job, const Done& done) {
  while (running_.size() >= atOnce_)
    waitForOne(done);
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC) != 0) throw Error(fmt::format("no pipe: {}", std::strerror(errno)));
  if (pipe2(out, O_CLOEXEC) != 0) {
    close(in[0]);
    close(in[1]);
    throw Error(fmt::format("no pipe: {}", std::strerror(errno)));
  }
  auto process = std::make_unique<Process>();
  process->number = number;
  process->limits = job.limits;
  process->output = out[0];
  process->end = Clock::now() + std::chrono::seconds(job.limits.seconds);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP); // so that ptxas is killed together with the job
  std::string command = "run-job";
  char* const arguments[] = {program_.data(), command.data(), nullptr};
  const int failure = posix_spawn(&process->pid, program_.c_str(), &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(in[0]);
  close(out[1]);
  if (failure != 0) {
    close(in[1]);
    throw Error(fmt::format("'{}' cannot be started: {}", program_, std::strerror(failure)));
  }
  const rlim_t bytes = rlim_t{job.limits.megabytes} << 20;
  const rlimit memory{bytes, bytes};
  prlimit(process->pid, RLIMIT_AS, &memory, nullptr);
  // A job fits in the pipe buffer, so this does not block. If the process has died, its status tells.
  const std::string text = writeJob(job);
  [[maybe_unused]] const ssize_t written = write(in[1], text.data(), text.size());
  close(in[1]);
  running_.push_back(std::move(process));
}

void JobProcesses::finish(const Done& done) {
  while (!running_.empty())
    waitForOne(done);
}

void JobProcesses::waitForOne(const Done& done) {
  for (;;) {
    std::vector<pollfd> waits;
    Clock::time_point next = Clock::time_point::max();
    for (const auto& process : running_) {
      waits.push_back({process->output, POLLIN, 0});
      if (!process->isLate) next = std::min(next, process->end);
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count() + 1;
    poll(waits.data(), waits.size(), static_cast<int>(std::clamp<long long>(left, 0, 1 << 20)));
    const Clock::time_point now = Clock::now();
    for (std::size_t i = 0; i < running_.size(); ++i) {
      Process& process = *running_[i];
      if (!process.isLate && process.end <= now) {
        process.isLate = true;
        kill(-process.pid, SIGKILL);
      }
      if ((waits[i].revents & (POLLIN | POLLHUP)) == 0) continue;
      char bytes[65536];
      const ssize_t count = read(process.output, bytes, sizeof bytes);
      if (count > 0) {
        process.said.append(bytes, static_cast<std::size_t>(count));
        continue;
      }
      if (count < 0 && errno == EINTR) continue;
      Measurement found = process.result();
      if (found.message.size() > kMaxMessage) found.message.resize(kMaxMessage);
      const std::size_t number = process.number;
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      done(number, found);
      return;
    }
  }
}

} // namespace orias::lab
