#include "tools/reduce/oracle.h"

#include "support/check.h"
#include "tools/common/files.h"
#include "tools/launch/write.h"

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>

namespace orias::reduce {

using engines::Outcome;
using engines::Verdict;

namespace {

/// The words of a reason up to the first number: registers, addresses and lines change when a program gets smaller.
std::string withoutNumbers(const std::string& reason) {
  std::size_t end = 0;
  while (end < reason.size() && !std::isdigit(static_cast<unsigned char>(reason[end])))
    ++end;
  return reason.substr(0, end);
}

void replaceAll(std::string& text, std::string_view what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

} // namespace

Verdict EngineOracle::run(Engine engine, const std::string& ptx, launch::Device& device) const {
  launch::RunOptions options;
  options.instructionBudget = trial_.budget;
  if (engine == Engine::Interpreter) {
    options.memcheck = true;
    return engines::interpret(ptx, device, options);
  }
  const engines::Compiled compiled =
      engine == Engine::Ours ? engines::assemble(ptx, trial_.options) : engines::assembleWithPtxas(ptx);
  return compiled.verdict.isGood() ? engines::emulate(compiled.cubin, device, options) : compiled.verdict;
}

/// Asks the emulator about the code that is nearest to the program.
bool EngineOracle::hasRace(const std::string& ptx, const launch::Launch& launch) const {
  if (launch.block.count() * launch.grid.count() == 1) return false;
  Options plain;
  plain.optLevel = 0;
  const engines::Compiled compiled = engines::assemble(ptx, plain);
  if (!compiled.verdict.isGood()) return false;
  launch::RunOptions options;
  options.instructionBudget = trial_.budget;
  options.racecheck = true;
  launch::Device device(launch);
  return engines::emulate(compiled.cubin, device, options).reason.starts_with("racecheck");
}

std::string EngineOracle::failure(const std::string& ptx, const launch::Launch& launch) const {
  launch::Device wanted(launch, trial_.reference == Engine::Interpreter), got(launch);
  const Verdict reference = run(trial_.reference, ptx, wanted);
  if (!reference.isGood()) return {};
  Verdict verdict = run(trial_.subject, ptx, got);
  if (verdict.isGood()) verdict = engines::compare(got, wanted);
  if (verdict.isGood() || hasRace(ptx, launch)) return {};
  if (verdict.outcome == Outcome::Mismatch) return outcomeName(Outcome::Mismatch);
  return fmt::format("{}: {}", outcomeName(verdict.outcome), withoutNumbers(verdict.reason));
}

const std::string& EngineOracle::aim(const std::string& ptx, const launch::Launch& launch) {
  return wanted_ = failure(ptx, launch);
}

bool EngineOracle::fails(const std::string& ptx, const launch::Launch& launch) {
  return failure(ptx, launch) == wanted_;
}

CommandOracle::CommandOracle(std::string command) : command_(std::move(command)) {
  std::string pattern = (std::filesystem::temp_directory_path() / "orias-reduce-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw Error(fmt::format("cannot make the folder '{}'", pattern));
  folder_ = pattern;
  replaceAll(command_, "{}", folder_ + "/input.ptx");
  replaceAll(command_, "{launch}", folder_ + "/input.json");
}

CommandOracle::~CommandOracle() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool CommandOracle::fails(const std::string& ptx, const launch::Launch& launch) {
  tools::writeWholeFile(folder_ + "/input.ptx", ptx);
  launch::Launch here = launch;
  here.file = "input.ptx";
  tools::writeWholeFile(folder_ + "/input.json", launch::writeLaunch(here));
  return std::system(command_.c_str()) == 0;
}

} // namespace orias::reduce
