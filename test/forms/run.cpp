#include "test/forms/run.h"

#include "frontend/check.h"
#include "frontend/parse.h"
#include "support/check.h"
#include "test/forms/kernel.h"
#include "tools/engines/engines.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <span>

namespace orias::forms {

namespace {

/// The verdict on a form from the verdict of engine `who` on its kernel, which has passed our checks.
Verdict judgeRun(std::string_view who, const engines::Verdict& verdict) {
  const auto named = [&](Outcome outcome) { return Verdict{outcome, fmt::format("{}: {}", who, verdict.reason)}; };
  switch (verdict.outcome) {
  case engines::Outcome::Good: return {};
  case engines::Outcome::Unsupported: return named(Outcome::NoEngine);
  case engines::Outcome::Rejected:
  case engines::Outcome::Mismatch: return named(Outcome::Differs);
  case engines::Outcome::Fault:
  case engines::Outcome::Count: break;
  }
  return named(Outcome::Fault);
}

/// Line `number` of a text, from 1.
std::string_view lineOf(std::string_view text, std::uint32_t number) {
  for (; number > 1 && !text.empty(); --number)
    text.remove_prefix(std::min(text.size(), text.find('\n') + 1));
  return text.substr(0, text.find('\n'));
}

/// Checks whether the target has the form; Agrees if so.
Verdict judgeForm(const Kernel& kernel, ptx::Module& module, Diagnostics& diags) {
  ptx::check(module, {}, diags);
  if (!diags.hasErrors()) return {};
  const std::string& message = diags.all().front().message;
  const bool isTarget =
      message.starts_with("Feature '") || message.find("not supported on .target '") != std::string::npos;
  if (isTarget) return {Outcome::OtherTarget, message};
  const std::string_view line = lineOf(kernel.text, diags.all().front().loc.line);
  if (line.find(kernel.statement) == std::string_view::npos)
    return {Outcome::Fault, fmt::format("around it: {}: {}", line, message)};
  return {Outcome::NoForm, message};
}

/// The verdict on a form from the assembly of its kernel by orias.
Verdict judgeAssembly(const engines::Verdict& verdict) {
  if (verdict.isGood()) return {};
  return {verdict.outcome == engines::Outcome::Unsupported ? Outcome::Unsupported : Outcome::Fault, verdict.reason};
}

/// Writes a cubin under the next free number.
void keep(std::span<const std::byte> cubin, const std::string& folder) {
  static unsigned number = 0;
  std::filesystem::create_directories(folder);
  const std::string file = fmt::format("{}/{}.cubin", folder, number++);
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(cubin.data()), static_cast<std::streamsize>(cubin.size()));
  if (!out.flush()) throw Error("cannot write " + file);
}

/// The verdict on a run of a launch that must stop: it must have stopped in the way that the launch requires.
engines::Verdict asWanted(const launch::Launch& launch, engines::Verdict run) {
  if (launch.stops.empty()) return run;
  if (run.outcome == engines::Outcome::Rejected && run.reason.starts_with(launch.stops + ":")) return {};
  if (run.isGood()) return {engines::Outcome::Rejected, "the run goes to its end"};
  return run;
}

/// Limits that are sufficient for every kernel here. A copy with too few bytes is waited for until they are exceeded.
launch::RunOptions runOptions() {
  launch::RunOptions options;
  options.instructionBudget = 5'000'000;
  return options;
}

/// Runs a cubin and compares its memory at the end.
Verdict judgeCubin(std::string_view whose, std::span<const std::byte> cubin, const launch::Launch& launch,
                   const launch::Device& wanted) {
  launch::Device got(launch);
  const engines::Verdict run = asWanted(launch, engines::emulate(cubin, got, runOptions()));
  // If a run stops, the positions of other threads are undefined.
  if (!launch.stops.empty()) return judgeRun(whose, run);
  return judgeRun(whose, run.isGood() ? engines::compare(got, wanted) : run);
}

Verdict judgeKernels(const Kernel& interpreted, const Kernel& emulated, const Settings& settings,
                     std::string_view whyNotRun) {
  Diagnostics diags(interpreted.launch.name, interpreted.text);
  const auto module = ptx::parse(interpreted.text, diags);
  if (Verdict verdict = judgeForm(interpreted, *module, diags); verdict.outcome != Outcome::Agrees) return verdict;

  Options options;
  options.arch = settings.arch;
  options.contractFma = false;
  const engines::Compiled ours = engines::assemble(emulated.text, options);
  if (Verdict verdict = judgeAssembly(ours.verdict); verdict.outcome != Outcome::Agrees) return verdict;
  if (!settings.cubins.empty()) keep(ours.cubin, settings.cubins);
  if (!whyNotRun.empty()) return {Outcome::Assembled, std::string(whyNotRun)};

  launch::Device wanted(interpreted.launch);
  const engines::Verdict interpretation =
      asWanted(interpreted.launch, engines::interpret(interpreted.text, wanted, runOptions()));
  if (!interpretation.isGood()) return judgeRun("interpreter", interpretation);
  Verdict verdict = judgeCubin("our cubin", ours.cubin, emulated.launch, wanted);
  if (verdict.outcome != Outcome::Agrees || !settings.ptxas) return verdict;

  const engines::Compiled theirs =
      engines::assembleWithPtxas(emulated.text, fmt::format("-arch={} --fmad=false", settings.arch));
  if (!theirs.verdict.isGood()) return {Outcome::Fault, "ptxas: " + theirs.verdict.reason};
  return judgeCubin("ptxas' cubin", theirs.cubin, emulated.launch, wanted);
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
