#include "tools/orias-run/driver.h"

#include "tools/common/files.h"
#include "tools/orias-run/command_line.h"
#include "tools/orias-run/engine.h"
#include "tools/orias-run/progress.h"
#include "tools/orias-run/report.h"

#include <chrono>
#include <filesystem>
#include <fmt/format.h>

namespace orias::run {

using tools::ExitStatus;

namespace {

constexpr std::string_view kProgram = "orias-run";
constexpr std::string_view kFaultNote =
    "internal error of orias-run; please report it with the launch file and the program";

/// The file to run: from the command line, or from the launch.
std::string programOf(const CommandLine& line, const launch::Launch& launch) {
  if (!line.program.empty()) return line.program;
  std::string path = launch::programPath(launch, line.launchFile);
  if (path.empty())
    throw tools::UsageError(
        fmt::format("'{}' does not name a program; give one as the second argument", line.launchFile));
  return path;
}

ExitStatus run(std::span<const std::string> words) {
  const CommandLine line = parseCommandLine(words);
  if (line.help) {
    tools::print(stdout, helpText());
    return ExitStatus::Done;
  }
  const launch::Launch launch = launch::readLaunchFile(line.launchFile);
  const auto engine =
      makeEngine(programOf(line, launch), launch.kernel, line.assemble ? &line.assembleOptions : nullptr);

  if (line.run.timing && !engine->canTime())
    throw tools::UsageError("--timing needs control words: name a .cubin, or use --assemble");
  if (line.run.fullMachine && !engine->canTime())
    throw tools::UsageError("--full-machine needs control words: name a .cubin, or use --assemble");

  Outcome outcome;
  launch::Device device(launch, line.run.memcheck);
  launch::RunOptions options = line.run;
  std::optional<ProgressLine> progress;
  if (line.progress || ProgressLine::isTerminal()) options.progress = &progress.emplace(launch);
  const auto start = std::chrono::steady_clock::now();
  outcome.result = engine->run(device, options);
  progress.reset();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // The memory after an incomplete run is meaningless.
  if (outcome.result.completed) outcome.wrong = launch::checkExpected(device);
  outcome.endedAsExpected = launch::endedAsExpected(launch, outcome.result);

  if (!line.compareWith.empty()) {
    outcome.compared = true;
    launch::Device other(launch, line.run.memcheck);
    const auto otherEngine = makeEngine(line.compareWith, launch.kernel, nullptr);
    launch::RunOptions otherOptions = line.run;
    otherOptions.timing &= otherEngine->canTime();
    const launch::RunResult second = otherEngine->run(other, otherOptions);
    for (launch::Report report : second.reports) {
      report.where = fmt::format("{}: {}", line.compareWith, report.where);
      outcome.result.reports.push_back(std::move(report));
    }
    if (outcome.result.completed && second.completed) outcome.different = launch::compare(device, other);
  }

  if (!line.json) tools::print(stdout, outcome.result.printed);
  if (line.traceFile && *line.traceFile == "-") tools::print(stdout, outcome.result.trace);
  if (line.traceFile && *line.traceFile != "-")
    tools::writeWholeFile(*line.traceFile, std::string_view(outcome.result.trace));
  tools::print(stdout, line.json ? renderJson(outcome, device) : renderText(outcome, device));
  return outcome.good() ? ExitStatus::Done : ExitStatus::InputErrors;
}

} // namespace

ExitStatus runDriver(std::span<const std::string> words) {
  return tools::runProgram(kProgram, kFaultNote, [&] { return run(words); });
}

} // namespace orias::run
