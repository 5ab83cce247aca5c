#include "test/forms/run.h"

#include "frontend/check.h"
#include "frontend/parse.h"
#include "orias/orias.h"
#include "support/check.h"
#include "test/forms/kernel.h"
#include "tools/emulator/emulator.h"
#include "tools/interpreter/interpreter.h"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <span>
#include <unistd.h>

namespace orias::forms {

namespace {

/// What the run says, when it did not end well.
Verdict judgeRun(std::string_view engine, const launch::RunResult& result) {
  if (result.completed) return {};
  const launch::Report report = result.reports.empty() ? launch::Report{} : result.reports.front();
  const Outcome outcome = report.kind == "unsupported" ? Outcome::NoEngine : Outcome::Differs;
  return {outcome, fmt::format("{}: {}: {} ({})", engine, report.kind, report.text, report.where)};
}

Verdict judgeMemory(std::string_view engine, const launch::Device& got, const launch::Device& wanted) {
  const std::vector<launch::Mismatch> different = launch::compare(got, wanted);
  if (different.empty()) return {};
  const launch::Mismatch& first = different.front();
  return {Outcome::Differs, fmt::format("{}: {}[{}] is {}, not {}; {} differ", engine, first.buffer, first.index,
                                        first.got, first.wanted, first.count)};
}

std::vector<std::byte> ptxasCubin(const std::string& text, std::string_view arch) {
  const auto base = std::filesystem::temp_directory_path() / fmt::format("orias-forms-{}", ::getpid());
  const std::string ptx = base.string() + ".ptx", cubin = base.string() + ".cubin";
  std::ofstream(ptx) << text;
  const std::string command = fmt::format("ptxas -arch={} --fmad=false '{}' -o '{}' >/dev/null 2>&1", arch, ptx, cubin);
  if (std::system(command.c_str()) != 0) return {};
  std::ifstream in(cubin, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(ptx);
  std::filesystem::remove(cubin);
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

/// Whether it is one of the target's forms; Agrees if so.
Verdict judgeForm(ptx::Module& module, Diagnostics& diags) {
  ptx::check(module, {}, diags);
  if (!diags.hasErrors()) return {};
  const std::string& message = diags.all().front().message;
  const bool isTarget =
      message.starts_with("Feature '") || message.find("not supported on .target '") != std::string::npos;
  return {isTarget ? Outcome::OtherTarget : Outcome::NoForm, message};
}

Verdict assembled(const Kernel& kernel, std::string_view arch, std::vector<std::byte>& cubin) {
  Options options;
  options.arch = arch;
  options.contractFma = false;
  Result result = assemble(kernel.text, options);
  cubin = std::move(result.cubin);
  if (result.status == Status::Ok) return {};
  const std::size_t at = result.diagnostics.find("not supported yet");
  const std::string line = result.diagnostics.substr(0, result.diagnostics.find('\n'));
  return {at == std::string::npos ? Outcome::Fault : Outcome::Unsupported, line};
}

/// Runs a cubin and compares the memory that it leaves.
Verdict judgeCubin(std::string_view whose, std::span<const std::byte> cubin, const launch::Launch& launch,
                   const launch::Device& wanted) {
  launch::Device got(launch);
  const Verdict verdict = judgeRun(whose, emu::run(emu::loadCubin(cubin, launch.kernel), got));
  return verdict.outcome == Outcome::Agrees ? judgeMemory(whose, got, wanted) : verdict;
}

Verdict judgeKernels(const Kernel& interpreted, const Kernel& emulated, const Settings& settings,
                     std::string_view whyNotRun) {
  Diagnostics diags(interpreted.launch.name, interpreted.text);
  const auto module = ptx::parse(interpreted.text, diags);
  if (Verdict verdict = judgeForm(*module, diags); verdict.outcome != Outcome::Agrees) return verdict;
  std::vector<std::byte> cubin;
  if (Verdict verdict = assembled(emulated, settings.arch, cubin); verdict.outcome != Outcome::Agrees) return verdict;
  if (!whyNotRun.empty()) return {Outcome::Assembled, std::string(whyNotRun)};

  launch::Device wanted(interpreted.launch);
  if (Verdict verdict = judgeRun("interpreter", interp::run(*module, wanted)); verdict.outcome != Outcome::Agrees)
    return verdict;
  const Verdict ours = judgeCubin("our cubin", cubin, emulated.launch, wanted);
  if (ours.outcome != Outcome::Agrees || !settings.ptxas) return ours;
  cubin = ptxasCubin(emulated.text, settings.arch);
  if (cubin.empty()) return {Outcome::Fault, "ptxas refuses it"};
  return judgeCubin("ptxas' cubin", cubin, emulated.launch, wanted);
}

} // namespace

Verdict judge(const Statement& statement, const Settings& settings) {
  const Kernel kernel = kernelFor(statement, settings.arch, settings.seed);
  return judge(kernel, kernel, settings, whyNotAlone(statement));
}

Verdict judge(const Kernel& interpreted, const Kernel& emulated, const Settings& settings, std::string_view whyNotRun) {
  try {
    return judgeKernels(interpreted, emulated, settings, whyNotRun);
  } catch (const std::exception& error) {
    return {Outcome::Fault, error.what()};
  }
}

} // namespace orias::forms
