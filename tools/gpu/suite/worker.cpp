#include "tools/gpu/suite/worker.h"

#include "support/check.h"
#include "tools/gpu/cuda.h"
#include "tools/gpu/gpu_run.h"
#include "tools/gpu/verdict.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace orias::gpu {

namespace {

using Seconds = std::chrono::duration<double>;

/// The first character of a line gives its kind.
constexpr char kReady = 'r', kNoGpu = 'n', kDone = 'd', kSpent = 's';

/// Cycles of one step. Each thread has stored the cycles between two reads of the clock without and with the steps
/// between them.
std::optional<double> measuredCycles(const Case& c, const launch::Device& device) {
  if (c.cycles < 0 || !c.probe) return std::nullopt;
  const std::span<const std::byte> bytes = device.bufferBytes(static_cast<std::size_t>(c.cycles));
  std::optional<double> least;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint32_t empty = 0, steps = 0;
    std::memcpy(&empty, bytes.data() + at, 4);
    std::memcpy(&steps, bytes.data() + at + 4, 4);
    const double cycles = (static_cast<double>(steps) - static_cast<double>(empty)) / c.probe->steps;
    if (!least || cycles < *least) least = cycles;
  }
  return least;
}

/// FNV-1a over all buffers except the measured cycles: tells whether two cubins left the same memory.
std::string hashOf(const Case& c, const launch::Device& device) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < c.launch.buffers.size(); ++i) {
    if (static_cast<int>(i) == c.cycles) continue;
    for (const std::byte b : device.bufferBytes(i))
      hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

/// The side of the process.
class Runner {
 public:
  Runner(const Plan& plan, int answers, bool withCopies) : plan_(plan), answers_(answers), withCopies_(withCopies) {}

  void serve(const std::string& library, int commands) {
    try {
      const Cuda cuda(library);
      say(kReady, cuda.describe());
      std::uint64_t item = 0;
      while (read(commands, &item, sizeof item) == static_cast<ssize_t>(sizeof item))
        if (!runItem(cuda, plan_.items.at(item))) break;
    } catch (const std::exception& error) {
      say(kNoGpu, error.what());
    }
  }

 private:
  /// False if the process cannot run any more items.
  bool runItem(const Cuda& cuda, const Item& item) {
    const auto start = Worker::Clock::now();
    Result result;
    result.group = item.group;
    result.name = item.name;
    result.family = item.family;
    result.candidate = item.candidateName;
    bool isSpent = false;
    try {
      const Case& c = caseOf(item);
      result.probe = c.probe;
      isSpent = !runCase(cuda, c, c.candidates.at(item.candidate), result);
      if (result.outcome != Outcome::Right) result.program = c.text;
    } catch (const std::exception& error) {
      result.outcome = Outcome::Refused;
      result.text = error.what();
      // After any failure, checks whether the process can still run the next item.
      isSpent = cuda.cuCtxSynchronize() != 0;
    }
    result.seconds = Seconds(Worker::Clock::now() - start).count();
    say(isSpent ? kSpent : kDone, toLine(result));
    return !isSpent;
  }

  bool runCase(const Cuda& cuda, const Case& c, const Candidate& candidate, Result& result) const {
    launch::Device device(c.launch);
    std::optional<launch::Device> reference = referenceOf(c);
    const GpuRun run =
        runOnGpu(cuda, candidate.cubin, device,
                 {.warmUps = 2, .repetitions = c.repetitions, .gridCopies = withCopies_ ? c.gridCopies : 0});
    if (reference && c.cycles >= 0) {
      const launch::Allocation& cycles = device.global.allocations()[static_cast<std::size_t>(c.cycles)];
      std::memcpy(reference->global.at(cycles.address, cycles.size), device.global.at(cycles.address, cycles.size),
                  cycles.size);
    }
    const Verdict verdict = judge(device, run, reference ? &*reference : nullptr);
    result.text = verdict.text;
    result.details = verdict.details;
    result.registers = run.registers;
    result.localBytes = run.localBytes;
    result.outcome = verdict.good ? Outcome::Right : run.result.completed ? Outcome::Wrong : Outcome::Fault;
    if (!run.microseconds.empty()) {
      result.median = run.median();
      result.least = run.microseconds.front();
    }
    if (!run.copiesMicroseconds.empty()) result.copiesLeast = run.copiesMicroseconds.front();
    if (run.result.completed) {
      result.cycles = measuredCycles(c, device);
      if (!verdict.good) result.memory = hashOf(c, device);
    }
    return run.result.completed && run.copiesFault.empty();
  }

  const Case& caseOf(const Item& item) {
    if (batch_ != item.batch) {
      cases_ = readCases(plan_.batches.at(item.batch));
      batch_ = item.batch;
    }
    return cases_.at(item.number);
  }

  void say(char what, std::string text) const {
    std::replace(text.begin(), text.end(), '\n', ' '); // JSON has none, messages may
    text.insert(text.begin(), what);
    text += '\n';
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t count = write(answers_, text.data() + at, text.size() - at);
      if (count <= 0) _exit(1); // the reader has gone
      at += static_cast<std::size_t>(count);
    }
  }

  const Plan& plan_;
  int answers_;
  bool withCopies_;
  std::size_t batch_ = ~std::size_t{0};
  std::vector<Case> cases_;
};

} // namespace

Worker::Worker(const Plan& plan, const std::string& library, bool withCopies) {
  int commands[2], answers[2];
  if (pipe(commands) != 0 || pipe(answers) != 0) throw Error("cannot create a pipe");
  std::fflush(nullptr); // otherwise both processes would write it
  process_ = fork();
  if (process_ < 0) throw Error("cannot create a process");
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL); // killed together with the program
    close(commands[1]);
    close(answers[0]);
    Runner(plan, answers[1], withCopies).serve(library, commands[0]);
    _exit(0); // without the destructors of the other process
  }
  close(commands[0]);
  close(answers[1]);
  commands_ = commands[1];
  answers_ = answers[0];
}

Worker::~Worker() {
  close(commands_);
  close(answers_);
  kill(process_, SIGKILL);
  // A process with a hanging kernel may take a while to end. It is not waited for: the next one can start.
  constexpr int kTries = 20;
  for (int i = 0; i < kTries && waitpid(process_, nullptr, WNOHANG) == 0; ++i)
    usleep(10'000);
}

void Worker::run(std::size_t item) {
  const std::uint64_t number = item;
  // wait() detects a process that has ended.
  [[maybe_unused]] const ssize_t count = write(commands_, &number, sizeof number);
}

Worker::Answer Worker::wait(Clock::time_point until) {
  for (;;) {
    if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
      const char what = pending_[0];
      const std::string text = pending_.substr(1, end - 1);
      pending_.erase(0, end + 1);
      switch (what) {
      case kReady: return {Answer::Kind::Ready, text, {}, false};
      case kNoGpu: return {Answer::Kind::NoGpu, text, {}, true};
      default: return {Answer::Kind::Done, {}, fromLine(text), what == kSpent};
      }
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return {};
    pollfd poller{answers_, POLLIN, 0};
    const int ready = poll(&poller, 1, static_cast<int>(std::min<long long>(left, 1'000'000)));
    if (ready < 0 && errno != EINTR) throw Error("cannot wait for a process");
    if (ready <= 0) continue;
    char bytes[4096];
    const ssize_t count = read(answers_, bytes, sizeof bytes);
    if (count <= 0) return {Answer::Kind::Dead, {}, {}, true};
    pending_.append(bytes, static_cast<std::size_t>(count));
  }
}

} // namespace orias::gpu
