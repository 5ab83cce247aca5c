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

Verdict judgeAssembly(const Result& result) {
  if (result.status == Status::Ok) return {};
  const std::size_t at = result.diagnostics.find("not supported yet");
  const std::string line = result.diagnostics.substr(0, result.diagnostics.find('\n'));
  return {at == std::string::npos ? Outcome::Fault : Outcome::Unsupported, line};
}

Verdict judgeKernel(const Statement& statement, std::string_view arch, std::uint64_t seed, bool ptxas) {
  const Kernel kernel = kernelFor(statement, arch, seed);
  Diagnostics diags(statement.opcode, kernel.text);
  const auto module = ptx::parse(kernel.text, diags);
  if (Verdict verdict = judgeForm(*module, diags); verdict.outcome != Outcome::Agrees) return verdict;

  Options options;
  options.arch = arch;
  options.contractFma = false;
  const Result result = assemble(kernel.text, options);
  if (Verdict verdict = judgeAssembly(result); verdict.outcome != Outcome::Agrees) return verdict;
  if (std::string_view why = whyNotAlone(statement); !why.empty()) return {Outcome::Assembled, std::string(why)};

  launch::Device wanted(kernel.launch), got(kernel.launch);
  if (Verdict verdict = judgeRun("interpreter", interp::run(*module, wanted)); verdict.outcome != Outcome::Agrees)
    return verdict;
  if (Verdict verdict = judgeRun("emulator", emu::run(emu::loadCubin(result.cubin, "k"), got));
      verdict.outcome != Outcome::Agrees)
    return verdict;
  if (Verdict verdict = judgeMemory("emulator", got, wanted); verdict.outcome != Outcome::Agrees || !ptxas)
    return verdict;

  const std::vector<std::byte> cubin = ptxasCubin(kernel.text, arch);
  if (cubin.empty()) return {Outcome::Fault, "ptxas refuses it"};
  launch::Device peers(kernel.launch);
  if (Verdict verdict = judgeRun("ptxas' cubin", emu::run(emu::loadCubin(cubin, "k"), peers));
      verdict.outcome != Outcome::Agrees)
    return verdict;
  return judgeMemory("ptxas' cubin", peers, wanted);
}

} // namespace

Verdict judge(const Statement& statement, std::string_view arch, std::uint64_t seed, bool ptxas) {
  try {
    return judgeKernel(statement, arch, seed, ptxas);
  } catch (const std::exception& error) {
    return {Outcome::Fault, error.what()};
  }
}

} // namespace orias::forms
