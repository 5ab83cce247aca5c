#include "test/differential/run_stage.h"

#include "frontend/check.h"
#include "frontend/parse.h"
#include "support/check.h"
#include "tools/emulator/emulator.h"
#include "tools/interpreter/interpreter.h"

#include <fmt/core.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace orias::differential {

namespace {

/// What an engine says about a run that did not end well: outcome Good when it did.
Compiled judge(const char* engine, const launch::RunResult& result) {
  if (result.completed) return {};
  const launch::Report report = result.reports.empty() ? launch::Report{} : result.reports.front();
  if (report.kind == "unsupported") return {Outcome::Unsupported, fmt::format("{}: {}", engine, report.where), {}};
  return {
      Outcome::Mismatch, fmt::format("{} stopped: {}: {} ({})", engine, report.kind, report.text, report.where), {}};
}

launch::RunOptions limits() {
  launch::RunOptions options;
  options.instructionBudget = 50'000'000;
  return options;
}

Compiled interpret(const generator::Program& program, launch::Device& device) {
  const std::string text = generator::moduleText({&program, 1});
  Diagnostics diagnostics(program.launch.name, text);
  const auto module = ptx::parse(text, diagnostics);
  ptx::check(*module, {}, diagnostics);
  if (diagnostics.hasErrors()) return {Outcome::Rejected, diagnostics.all().front().message, {}};
  return judge("interpreter", interp::run(*module, device, limits()));
}

Compiled emulate(const char* whose, std::span<const std::byte> cubin, launch::Device& device) {
  return judge(whose, emu::run(emu::loadCubin(cubin, device.launch.kernel), device, limits()));
}

/// The cubin that ptxas makes, with no multiplication and addition fused: the interpreter fuses none either.
std::vector<std::byte> ptxasCubin(const generator::Program& program) {
  const auto base = std::filesystem::temp_directory_path() / fmt::format("orias-differential-{}", ::getpid());
  const std::string ptx = base.string() + ".ptx", cubin = base.string() + ".cubin";
  std::ofstream(ptx) << generator::moduleText({&program, 1});
  const std::string command = fmt::format("ptxas -arch=sm_90 --fmad=false '{}' -o '{}' >/dev/null 2>&1", ptx, cubin);
  if (std::system(command.c_str()) != 0) throw Error("ptxas is not there, or rejects the program");
  std::ifstream in(cubin, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(ptx);
  std::filesystem::remove(cubin);
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

} // namespace

Compiled compareRuns(const generator::Program& program, std::span<const std::byte> cubin, Reference reference) {
  try {
    launch::Device wanted(program.launch), got(program.launch);
    Compiled bad = reference == Reference::Interpreter ? interpret(program, wanted)
                                                       : emulate("ptxas' cubin", ptxasCubin(program), wanted);
    if (bad.outcome == Outcome::Good) bad = emulate("our cubin", cubin, got);
    if (bad.outcome != Outcome::Good) return bad;

    const std::vector<launch::Mismatch> different = launch::compare(got, wanted);
    if (different.empty()) return {};
    const launch::Mismatch& first = different.front();
    return {Outcome::Mismatch,
            fmt::format("{}[{}] is {}, not {}; {} elements differ", first.buffer, first.index, first.got, first.wanted,
                        first.count),
            {}};
  } catch (const std::exception& error) {
    return {Outcome::Fault, error.what(), {}};
  }
}

} // namespace orias::differential
