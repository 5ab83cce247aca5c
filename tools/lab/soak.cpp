#include "tools/lab/soak.h"

#include "support/check.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace orias::lab {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kSeed = "{seed}";
// The end of the output of a run is kept, because it has the failure.
constexpr std::size_t kMaxMessage = 4000;
// Exit status of timeout(1) after the time limit.
constexpr int kTimeoutStatus = 124;

std::string withSeed(std::string command, std::uint64_t seed) {
  const std::string number = std::to_string(seed);
  for (std::size_t at = 0; (at = command.find(kSeed, at)) != std::string::npos; at += number.size())
    command.replace(at, kSeed.size(), number);
  return command;
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

SoakRun runOnce(const SoakOptions& options, std::uint64_t seed) {
  const Clock::time_point begin = Clock::now();
  const std::string line = fmt::format("exec timeout --kill-after=5 {} sh -c {} 2>&1 </dev/null", options.secondsPerRun,
                                       quoted(withSeed(options.command, seed)));
  std::FILE* pipe = popen(line.c_str(), "re");
  if (!pipe) throw Error("cannot start a process");
  SoakRun run{seed, "done", 0, {}};
  std::array<char, 4096> bytes;
  while (const std::size_t count = std::fread(bytes.data(), 1, bytes.size(), pipe)) {
    run.message.append(bytes.data(), count);
    if (run.message.size() > 2 * kMaxMessage) run.message.erase(0, run.message.size() - kMaxMessage);
  }
  const int status = pclose(pipe);
  if (run.message.size() > kMaxMessage) run.message.erase(0, run.message.size() - kMaxMessage);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kTimeoutStatus)
    run.state = "out of time";
  else if (status != 0)
    run.state = "failed";
  else
    run.message.clear(); // needed only after a failure
  run.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return run;
}

} // namespace

Soaked soak(const SoakOptions& options, Store& store) {
  if (options.command.find(kSeed) == std::string::npos)
    throw Error(fmt::format("the command has no {}: all runs would be identical", kSeed));
  const std::set<std::uint64_t> known = store.soakedSeeds(options.command);
  const auto end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));

  Soaked all;
  all.known = known.size();
  std::mutex mutex; // guards everything below
  std::uint64_t next = options.firstSeed;
  std::size_t started = 0;
  std::exception_ptr fault;
  auto worker = [&] {
    for (;;) {
      std::uint64_t seed = 0;
      {
        const std::lock_guard lock(mutex);
        if (fault || Clock::now() >= end || (options.mostRuns != 0 && started == options.mostRuns)) return;
        while (known.contains(next))
          ++next;
        seed = next++;
        ++started;
      }
      try {
        const SoakRun run = runOnce(options, seed);
        const std::lock_guard lock(mutex);
        store.addSoakRun(options.command, run);
        ++all.runs;
        all.failed += run.state != "done";
        if (options.tell) options.tell(run);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!fault) fault = std::current_exception();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < options.atOnce; ++i)
    threads.emplace_back(worker);
  for (std::thread& thread : threads)
    thread.join();
  if (fault) std::rethrow_exception(fault);
  return all;
}

} // namespace orias::lab
