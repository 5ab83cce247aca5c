#include "tools/reduce/driver.h"

#include "support/check.h"
#include "tools/common/files.h"
#include "tools/common/program.h"
#include "tools/launch/write.h"
#include "tools/reduce/command_line.h"
#include "tools/reduce/reducer.h"

#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace orias::reduce {

namespace {

using tools::ExitStatus;

std::unique_ptr<Oracle> makeOracle(const CommandLine& line, const std::string& text, const launch::Launch& launch) {
  if (!line.command.empty()) {
    auto oracle = std::make_unique<CommandOracle>(line.command);
    if (!oracle->fails(text, launch)) throw Error("the command says that the program does not fail");
    return oracle;
  }
  Trial trial = line.trial;
  trial.options.arch = line.arch.empty() ? engines::archOf(text) : line.arch;
  auto oracle = std::make_unique<EngineOracle>(trial);
  const std::string& failure = oracle->aim(text, launch);
  if (failure.empty()) throw Error("the program does not fail, or is invalid (see --help)");
  tools::print(stderr, fmt::format("looking for: {}\n", failure));
  return oracle;
}

ExitStatus run(std::span<const std::string> words) {
  const CommandLine line = parseCommandLine(words);
  if (line.help) {
    tools::print(stdout, line.helpText);
    return ExitStatus::Done;
  }
  const launch::Launch launch = launch::readLaunchFile(line.launch);
  const std::string text = Source(tools::readWholeFile(line.input)).text();
  const auto oracle = makeOracle(line, text, launch);
  ReduceOptions options;
  options.attempts = line.attempts;
  options.progress = [](const std::string& pass, std::size_t instructions) {
    tools::print(stderr, fmt::format("{:4} instructions: {}\n", instructions, pass));
  };
  Reduced reduced = reduce(text, launch, *oracle, options);
  tools::writeWholeFile(line.output, reduced.ptx);
  reduced.launch.file = std::filesystem::path(line.output).filename().string();
  const std::string launchFile = std::filesystem::path(line.output).replace_extension(".json").string();
  tools::writeWholeFile(launchFile, launch::writeLaunch(reduced.launch));
  tools::print(stdout, fmt::format("{}: {} instructions, after {} candidates; launch file {}\n", line.output,
                                   reduced.instructions, reduced.attempts, launchFile));
  return ExitStatus::Done;
}

} // namespace

int runDriver(std::span<const std::string> words) {
  return static_cast<int>(tools::runProgram("orias-reduce",
                                            "internal error of orias-reduce; please report it with the input files",
                                            [&] { return run(words); }));
}

} // namespace orias::reduce
