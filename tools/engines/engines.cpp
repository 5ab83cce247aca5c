#include "tools/engines/engines.h"

#include "encoder/isa/target.h"
#include "frontend/check.h"
#include "frontend/parse.h"
#include "orias/orias.h"
#include "support/check.h"
#include "tools/emulator/emulator.h"
#include "tools/interpreter/interpreter.h"

#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <sstream>

namespace orias::engines {

namespace {

/// The text of the first error: for "file:3:7: error: not supported yet: brx.idx" it is "not supported yet: brx.idx".
std::string firstError(const std::string& diagnostics) {
  for (const char* mark : {"fault: ", "error: "}) {
    const std::size_t at = diagnostics.find(mark);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + std::string(mark).size();
    return diagnostics.substr(begin, diagnostics.find('\n', begin) - begin);
  }
  return diagnostics.substr(0, diagnostics.find('\n'));
}

/// The name of the instruction, for counting: "kernel+0x120 @P0 R2UR P1, URZ, R2" gives "R2UR", "file.ptx:12:3 fns.b32
/// %r1" gives "fns.b32", "kernel+0x40 0x000fe400080e0406000000063f0472a5" (an unknown word) gives "opcode 0x2a5".
std::string instructionName(const std::string& where) {
  std::istringstream words(where);
  std::string place, word;
  words >> place >> word;
  if (word.starts_with('@')) words >> word;
  if (!word.starts_with("0x")) return word.empty() ? where : word;
  constexpr unsigned kOpcodeMask = 0xfff;
  return fmt::format("opcode {:#05x}", std::strtoull(word.c_str(), nullptr, 16) & kOpcodeMask);
}

Verdict judge(const launch::RunResult& result) {
  if (result.completed && result.reports.empty()) return {}; // findings of a checker are failures, too
  const launch::Report report = result.reports.empty() ? launch::Report{} : result.reports.front();
  if (report.kind == "unsupported") // the thread is left out
    return {Outcome::Unsupported, fmt::format("{}: {}", instructionName(report.where),
                                              report.text.substr(0, report.text.find(" in block (")))};
  return {Outcome::Rejected, fmt::format("{}: {} ({})", report.kind, report.text, report.where)};
}

} // namespace

const char* outcomeName(Outcome outcome) {
  switch (outcome) {
  case Outcome::Good: return "good";
  case Outcome::Unsupported: return "not supported";
  case Outcome::Rejected: return "rejected";
  case Outcome::Mismatch: return "mismatch";
  case Outcome::Fault: return "internal fault";
  case Outcome::Count: break;
  }
  return "";
}

Verdict interpret(std::string_view ptx, launch::Device& device, const launch::RunOptions& options) {
  try {
    Diagnostics diagnostics(device.launch.name, ptx);
    const auto module = ptx::parse(ptx, diagnostics);
    if (!diagnostics.hasErrors()) ptx::check(*module, {}, diagnostics);
    if (diagnostics.hasErrors()) return {Outcome::Rejected, firstError(diagnostics.render())};
    return judge(interp::run(*module, device, options));
  } catch (const std::exception& error) {
    return {Outcome::Fault, error.what()};
  }
}

std::string archOf(const ptx::Module& module) {
  const std::string usual = Options().arch;
  const ptx::Arch arch = module.target.arch;
  const bool isUsual = arch.suffix == 0 && arch.number <= isa::Target::parse(usual)->target->smVersion();
  return isUsual ? usual : ptx::archName(arch);
}

std::string archOf(std::string_view ptx) {
  Diagnostics diagnostics("", ptx);
  const auto module = ptx::parse(ptx, diagnostics);
  return module ? archOf(*module) : Options().arch;
}

Compiled assemble(std::string_view ptx, const Options& options) {
  Compiled compiled;
  const Input input{"input.ptx", ptx};
  Result result = orias::assemble({&input, 1}, options);
  compiled.cubin = std::move(result.cubin);
  if (result.status == Status::Ok) return compiled;
  std::string reason = firstError(result.diagnostics);
  const bool isUnsupported = reason.starts_with("not supported yet");
  const Outcome outcome = result.status == Status::InternalFault ? Outcome::Fault
                          : isUnsupported                        ? Outcome::Unsupported
                                                                 : Outcome::Rejected;
  compiled.verdict = {outcome, std::move(reason)};
  return compiled;
}

Verdict emulate(std::span<const std::byte> cubin, launch::Device& device, const launch::RunOptions& options,
                launch::RunResult* result) {
  try {
    launch::RunResult run = emu::run(emu::loadCubin(cubin, device.launch.kernel), device, options);
    const Verdict verdict = judge(run);
    if (result) *result = std::move(run);
    return verdict;
  } catch (const std::exception& error) {
    return {Outcome::Fault, error.what()};
  }
}

Verdict compare(const launch::Device& got, const launch::Device& wanted) {
  const std::vector<launch::Mismatch> different = launch::compare(got, wanted);
  if (different.empty()) return {};
  const launch::Mismatch& first = different.front();
  return {Outcome::Mismatch, fmt::format("{}[{}] is {}, not {}; {} elements differ", first.buffer, first.index,
                                         first.got, first.wanted, first.count)};
}

} // namespace orias::engines
