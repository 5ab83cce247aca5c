#include "tools/reduce/oracle.h"

#include "support/check.h"
#include "tools/common/files.h"
#include "tools/launch/write.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

namespace orias::reduce {

using engines::Outcome;
using engines::Verdict;

namespace {

/// The words of a reason up to the first number, because registers, addresses and lines change when a program gets
/// smaller.
std::string withoutNumbers(const std::string& reason) {
  std::size_t end = 0;
  while (end < reason.size() && !std::isdigit(static_cast<unsigned char>(reason[end])))
    ++end;
  return reason.substr(0, end);
}

template <typename Float, typename Bits> bool areNans(std::span<const std::byte> a, std::span<const std::byte> b) {
  const auto isNan = [](std::span<const std::byte> bytes) {
    Bits bits;
    std::memcpy(&bits, bytes.data(), sizeof bits);
    return std::isnan(std::bit_cast<Float>(bits));
  };
  return isNan(a) && isNan(b);
}

/// Returns whether some bytes differ that are not two NaNs. The bits of a NaN depend on the engine, and code that
/// canonicalizes them is deleted early when a program gets smaller.
bool differ(std::span<const std::byte> got, std::span<const std::byte> wanted) {
  for (std::size_t at = 0; at < wanted.size(); at += 4) {
    const std::size_t size = std::min<std::size_t>(4, wanted.size() - at);
    if (std::memcmp(got.data() + at, wanted.data() + at, size) == 0) continue;
    const std::size_t pair = at / 8 * 8;
    const bool isNan =
        (size == 4 && areNans<float, std::uint32_t>(got.subspan(at, 4), wanted.subspan(at, 4))) ||
        (pair + 8 <= wanted.size() && areNans<double, std::uint64_t>(got.subspan(pair, 8), wanted.subspan(pair, 8)));
    if (!isNan) return true;
  }
  return false;
}

bool buffersDiffer(const launch::Device& got, const launch::Device& wanted) {
  for (std::size_t i = 0; i < wanted.launch.buffers.size(); ++i)
    if (differ(got.bufferBytes(i), wanted.bufferBytes(i))) return true;
  return false;
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
    options.memcheck = options.racecheck = true;
    return engines::interpret(ptx, device, options);
  }
  const engines::Compiled compiled = engine == Engine::Ours
                                         ? engines::assemble(ptx, trial_.options)
                                         : engines::assembleWithPtxas(ptx, "-arch=" + trial_.options.arch);
  return compiled.verdict.isGood() ? engines::emulate(compiled.cubin, device, options) : compiled.verdict;
}

std::string EngineOracle::failure(const std::string& ptx, const launch::Launch& launch) const {
  launch::Device wanted(launch, trial_.reference == Engine::Interpreter), got(launch);
  const Verdict reference = run(trial_.reference, ptx, wanted);
  if (!reference.isGood()) return {};
  Verdict verdict = run(trial_.subject, ptx, got);
  if (verdict.isGood() && buffersDiffer(got, wanted)) verdict.outcome = Outcome::Mismatch;
  if (verdict.isGood()) return {};
  // The interpreter's checkers tell whether the program is meaningful. As the reference it has already done so.
  if (trial_.reference != Engine::Interpreter && trial_.subject != Engine::Interpreter) {
    launch::Device checked(launch, true);
    if (run(Engine::Interpreter, ptx, checked).outcome == Outcome::Rejected) return {};
  }
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
