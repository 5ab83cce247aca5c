#include "tools/gpu/driver.h"

#include "frontend/check.h"
#include "frontend/parse.h"
#include "orias/orias.h"
#include "tools/common/files.h"
#include "tools/emulator/emulator.h"
#include "tools/engines/engines.h"
#include "tools/gpu/child.h"
#include "tools/gpu/command_line.h"
#include "tools/gpu/verdict.h"
#include "tools/interpreter/interpreter.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace orias::gpu {

using tools::ExitStatus;

namespace {

constexpr std::string_view kProgram = "orias-gpu";
constexpr std::string_view kFaultNote =
    "internal error of orias-gpu; please report it with the launch file and the program";

/// The memory after the PTX interpreter; null if it does not complete, or if there is no PTX.
using Reference = std::unique_ptr<const launch::Device>;

/// A cubin to run, and its name in the table.
struct Candidate {
  std::string name;
  std::vector<std::byte> cubin;
};

std::vector<std::byte> bytesOf(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Runs the launch in the PTX interpreter. A failure is not an error here, because the launch file has expectations.
Reference interpreted(const launch::Launch& launch, const std::string& path, const std::string& text) {
  Diagnostics diagnostics(path, text);
  const auto module = ptx::parse(text, diagnostics);
  if (!diagnostics.hasErrors()) ptx::check(*module, {}, diagnostics);
  if (diagnostics.hasErrors()) throw Error(fmt::format("'{}' has errors:\n{}", path, diagnostics.render()));
  auto device = std::make_unique<launch::Device>(launch);
  return interp::run(*module, *device, {}).completed ? std::move(device) : nullptr;
}

Candidate assembled(const launch::Launch& launch, const std::string& path, const std::string& text, Options options) {
  options.entries = {launch.kernel};
  const Input input{path, text};
  Result result = assemble(std::span(&input, 1), options);
  if (result.status == Status::InternalFault) throw InternalError(result.diagnostics);
  if (result.status != Status::Ok) throw Error(fmt::format("'{}' has errors:\n{}", path, result.diagnostics));
  return {fmt::format("orias -O{}", options.optLevel), std::move(result.cubin)};
}

Candidate fromPtxas(const std::string& text) {
  engines::Compiled compiled = engines::assembleWithPtxas(text);
  if (!compiled.verdict.isGood()) throw Error(fmt::format("no cubin of ptxas: {}", compiled.verdict.reason));
  return {"ptxas", std::move(compiled.cubin)};
}

/// The columns of the table: launch, program, verdict, registers, bytes of local memory, median and least time.
void printRow(const std::string& launch, const std::string& program, const Verdict& verdict, const std::string& rest) {
  tools::print(stdout,
               fmt::format("{:<28} {:<18} {:<20} {}\n{}", launch, program, verdict.text, rest, verdict.details));
}

ExitStatus runCandidate(const Candidate& candidate, const launch::Launch& launch, const CommandLine& line,
                        const Reference& reference) {
  const Cuda cuda(line.library);
  launch::Device device(launch);
  const GpuRun run = runOnGpu(cuda, candidate.cubin, device, line.timing);
  const Verdict verdict = judge(device, run, reference.get());
  std::string rest = fmt::format("{:>4} {:>6}", run.registers, run.localBytes);
  if (!run.microseconds.empty()) rest += fmt::format(" {:>10.2f} {:>10.2f}", run.median(), run.microseconds.front());
  printRow(launch.name, candidate.name, verdict, rest);
  return verdict.good ? ExitStatus::Done : ExitStatus::InputErrors;
}

ExitStatus runLaunch(const std::string& file, const CommandLine& line) {
  const launch::Launch launch = launch::readLaunchFile(file);
  const std::string path = launch::programPath(launch, file);
  if (path.empty()) throw tools::UsageError(fmt::format("'{}' does not name a program", file));
  const std::string text = tools::readWholeFile(path);

  Reference reference;
  std::vector<Candidate> candidates;
  if (std::filesystem::path(path).extension() == ".ptx") {
    reference = interpreted(launch, path, text);
    candidates.push_back(assembled(launch, path, text, line.assembleOptions));
    if (line.withPtxas) candidates.push_back(fromPtxas(text));
  } else {
    candidates.push_back({launch.file, bytesOf(text)});
  }
  for (const std::string& cubin : line.cubins)
    candidates.push_back({std::filesystem::path(cubin).filename().string(), bytesOf(tools::readWholeFile(cubin))});

  // The emulator runs first, and its failures are reported; the GPU runs the cubin in any case.
  auto worst = ExitStatus::Done;
  const auto note = [&](ExitStatus status) { worst = std::max(worst, status); };
  for (const Candidate& candidate : candidates) {
    launch::Device device(launch);
    const launch::RunResult result = emu::run(emu::loadCubin(candidate.cubin, launch.kernel), device);
    const Verdict verdict = judge(device, result, reference.get());
    printRow(launch.name, candidate.name + ", emulated", verdict, "");
    if (!verdict.good) note(ExitStatus::InputErrors);
  }
  for (const Candidate& candidate : candidates)
    note(static_cast<ExitStatus>(inChild([&] {
      return static_cast<int>(
          tools::runProgram(kProgram, kFaultNote, [&] { return runCandidate(candidate, launch, line, reference); }));
    })));
  return worst;
}

/// In a separate process, because an opened driver does not survive a fork.
ExitStatus probe(const std::string& library) {
  return static_cast<ExitStatus>(inChild([&] {
    return static_cast<int>(tools::runProgram(kProgram, kFaultNote, [&] {
      try {
        tools::print(stdout, Cuda(library).describe() + "\n");
      } catch (const NoGpu& why) {
        tools::print(stdout, fmt::format("orias-gpu: skipped: {}\n", why.what()));
        return ExitStatus::Skipped;
      }
      return ExitStatus::Done;
    }));
  }));
}

ExitStatus run(std::span<const std::string> words) {
  const CommandLine line = parseCommandLine(words);
  if (line.help) {
    tools::print(stdout, helpText());
    return ExitStatus::Done;
  }
  if (const ExitStatus status = probe(line.library); status != ExitStatus::Done) return status;
  tools::print(stdout, fmt::format("{:<28} {:<18} {:<20} {:>4} {:>6} {:>10} {:>10}\n", "launch", "program", "results",
                                   "regs", "local", "median us", "least us"));
  auto worst = ExitStatus::Done;
  for (const std::string& file : line.launchFiles)
    worst = std::max(worst, tools::runProgram(kProgram, kFaultNote, [&] { return runLaunch(file, line); }));
  return worst;
}

} // namespace

ExitStatus runDriver(std::span<const std::string> words) {
  return tools::runProgram(kProgram, kFaultNote, [&] { return run(words); });
}

} // namespace orias::gpu
