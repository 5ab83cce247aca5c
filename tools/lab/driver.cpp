#include "tools/lab/driver.h"

#include "tools/common/files.h"
#include "tools/lab/command_line.h"
#include "tools/lab/export_query.h"
#include "tools/lab/soak.h"
#include "tools/lab/sweep.h"
#include "tools/lab/sweep_page.h"
#include "tools/launch/launch.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <limits>
#include <thread>
#include <unistd.h>

namespace orias::lab {

using tools::ExitStatus;

namespace {

constexpr std::string_view kProgram = "orias-lab";
constexpr std::string_view kFaultNote = "internal error of orias-lab; please report it with the plan and its inputs";

/// Shows the progress of a sweep, once a second: in place on a terminal.
class ProgressLine {
 public:
  void tell(const SweepProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    const bool isLast = progress.done == progress.all;
    if (isShown_ && !isLast && now - last_ < std::chrono::seconds(1)) return;
    last_ = now;
    const bool isTerminal = isatty(fileno(stderr)) != 0;
    tools::print(stderr, fmt::format("{}{} of {} jobs done, {} failed{}{}", isTerminal && isShown_ ? "\r\033[K" : "",
                                     progress.done, progress.all, progress.failed,
                                     isLast || !isShown_ ? "" : fmt::format(", {:.0f} s left", progress.secondsLeft),
                                     isTerminal && !isLast ? "" : "\n"));
    isShown_ = true;
  }

 private:
  bool isShown_ = false;
  std::chrono::steady_clock::time_point last_;
};

unsigned processesOf(const CommandLine& line) {
  return line.atOnce != 0 ? line.atOnce : std::max(std::thread::hardware_concurrency(), 1u);
}

void writeOutput(const CommandLine& line, const std::string& text) {
  if (line.output == "-")
    tools::print(stdout, text);
  else
    tools::writeWholeFile(line.output, std::string_view(text));
}

ExitStatus runSweep(const std::string& program, const CommandLine& line) {
  const Plan plan = readPlan(line.input);
  Store store(line.storePath);
  ProgressLine shown;
  const SweepOptions options{program, processesOf(line), line.storePath + ".failed",
                             [&](const SweepProgress& progress) { shown.tell(progress); }};
  const SweepProgress end = sweep(plan, store, options);
  if (end.failed == 0) return ExitStatus::Done;
  tools::print(stderr, fmt::format("{} jobs failed; their inputs and messages are in '{}'\n", end.failed,
                                   options.failureFolder));
  return ExitStatus::InputErrors;
}

ExitStatus runTune(const std::string& program, const CommandLine& line) {
  const launch::Launch launch = launch::readLaunchFile(line.input);
  TuneOptions options;
  options.job.launchFile = line.input;
  options.job.ptxFile = launch::programPath(launch, line.input);
  if (!options.job.ptxFile.ends_with(".ptx"))
    throw tools::UsageError(fmt::format("'{}' launches no .ptx file", line.input));
  options.job.chip = line.chip;
  options.kernel = launch.kernel;
  options.objective = line.objective;
  options.seconds = line.seconds;
  options.mostJobs = line.mostJobs;
  options.seed = line.seed;
  options.knobs = line.knobs;
  options.options = line.options;
  options.program = program;
  options.atOnce = processesOf(line);
  options.tell = [](std::string_view text) { tools::print(stderr, fmt::format("{}\n", text)); };
  Store store(line.storePath);
  const Tuned tuned = tune(options, store);
  tools::print(stderr, fmt::format("{}: {:.1f} -> {:.1f} ({:.3f}) with {} settings, {} launches\n", options.kernel,
                                   tuned.before, tuned.after, tuned.after / tuned.before, tuned.settings, tuned.jobs));
  for (const KnobGain& gain : tuned.gains)
    tools::print(stderr, fmt::format("  {:<40} {:.1f} without it\n", gain.setting, gain.without));
  writeOutput(line, knobFile(tuned, options));
  return ExitStatus::Done;
}

ExitStatus runMerge(const CommandLine& line) {
  Store store(line.storePath);
  const Merged merged = mergeResults(line.input, store);
  tools::print(stdout, fmt::format("{} results added, {} known, {} missing\n", merged.added, merged.known,
                                   merged.missing.size()));
  for (const std::string& job : merged.missing)
    tools::print(stdout, fmt::format("missing: {}\n", job));
  return merged.missing.empty() ? ExitStatus::Done : ExitStatus::InputErrors;
}

ExitStatus runSoak(const CommandLine& line) {
  Store store(line.storePath);
  SoakOptions options;
  options.command = line.input;
  options.firstSeed = line.seed;
  options.seconds = line.mostJobs != 0 ? std::numeric_limits<int>::max() : line.seconds;
  options.mostRuns = line.mostJobs;
  options.atOnce = processesOf(line);
  options.tell = [](const SoakRun& run) {
    if (run.state != "done") tools::print(stdout, fmt::format("seed {}: {}\n", run.seed, run.state));
  };
  const Soaked all = soak(options, store);
  tools::print(stdout, fmt::format("{} runs, {} failed; {} were known\n", all.runs, all.failed, all.known));
  return all.failed == 0 ? ExitStatus::Done : ExitStatus::InputErrors;
}

ExitStatus run(const std::string& program, std::span<const std::string> words) {
  const CommandLine line = parseCommandLine(words);
  switch (line.command) {
  case CommandLine::Command::Help: tools::print(stdout, helpText()); return ExitStatus::Done;
  case CommandLine::Command::Sweep: return runSweep(program, line);
  case CommandLine::Command::Tune: return runTune(program, line);
  case CommandLine::Command::Query:
  case CommandLine::Command::Export: {
    Store store(line.storePath, Store::Mode::ReadOnly);
    const bool isExport = line.command == CommandLine::Command::Export;
    writeOutput(line, render(store.query(isExport ? kExportQuery : line.input), line.format));
    return ExitStatus::Done;
  }
  case CommandLine::Command::Report: {
    Store store(line.input, Store::Mode::ReadOnly);
    const std::string name = std::filesystem::path(line.input).filename().string();
    writeOutput(line, sweepPage(store, name, line.format == TableFormat::Json));
    return ExitStatus::Done;
  }
  case CommandLine::Command::Diff: writeOutput(line, diff(line.diff)); return ExitStatus::Done;
  case CommandLine::Command::Jobs: {
    const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::size_t jobs = writeJobFiles(readPlan(line.input), line.output, line.engine, self);
    tools::print(stderr, fmt::format("{} jobs in '{}'; {}\n", jobs, line.output,
                                     line.engine == Engine::Ninja ? "run ninja -k 0 there" : "run submit.sh there"));
    return ExitStatus::Done;
  }
  case CommandLine::Command::Merge: return runMerge(line);
  case CommandLine::Command::Soak: return runSoak(line);
  case CommandLine::Command::DoJob: doJobFile(program, line.input, line.output); return ExitStatus::Done;
  case CommandLine::Command::RunJob: {
    const Measurement found = measure(parseJob(tools::readWholeFile("-")));
    tools::print(stdout, writeMeasurement(found));
    return ExitStatus::Done;
  }
  }
  return ExitStatus::InternalFault;
}

} // namespace

ExitStatus runDriver(const std::string& program, std::span<const std::string> words) {
  return tools::runProgram(kProgram, kFaultNote, [&] { return run(program, words); });
}

} // namespace orias::lab
