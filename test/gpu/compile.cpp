#include "test/gpu/compile.h"

#include "tools/engines/engines.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <future>

namespace orias::gpu {

bool addCandidates(Case& c, std::string_view ptx, const CompileOptions& options, std::string& why) {
  Options ours;
  ours.arch = options.arch;
  ours.optLevel = options.level;
  ours.contractFma = options.contractFma;
  ours.entries = {c.launch.kernel};
  engines::Compiled compiled = engines::assemble(ptx, ours);
  if (!compiled.verdict.isGood()) {
    why = compiled.verdict.reason;
    return false;
  }
  c.candidates.push_back({fmt::format("orias -O{}", options.level), std::move(compiled.cubin)});
  if (!options.withPtxas) return true;
  compiled = engines::assembleWithPtxas(
      ptx, fmt::format("-arch={} -O{}{}", options.arch, options.level, options.contractFma ? "" : " --fmad=false"));
  if (compiled.verdict.isGood())
    c.candidates.push_back({fmt::format("ptxas -O{}", options.level), std::move(compiled.cubin)});
  return true;
}

std::string ptxasVersion() {
  const char* folder = std::getenv("ORIAS_PEERS_DIR");
  const std::string command =
      fmt::format("PATH='{}':\"$PATH\" ptxas --version 2>/dev/null", folder ? folder : "/nonexistent");
  std::FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return "";
  std::string text;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), pipe))
    text += line.data();
  if (pclose(pipe) != 0) return "";
  const std::size_t at = text.find("V1");
  return "ptxas " + (at == std::string::npos ? std::string("?") : text.substr(at, text.find('\n', at) - at));
}

bool addMemory(Case& c, std::string_view ptx, std::uint64_t budget, std::string& why) {
  launch::RunOptions options;
  options.instructionBudget = budget;
  const launch::Device before(c.launch);
  launch::Device device(c.launch);
  const engines::Verdict verdict = engines::interpret(ptx, device, options);
  if (!c.launch.stops.empty()) {
    if (verdict.outcome == engines::Outcome::Rejected && verdict.reason.starts_with(c.launch.stops + ":")) return true;
    why = verdict.isGood() ? "the interpreter runs to the end" : verdict.reason;
    return false;
  }
  if (!verdict.isGood()) {
    why = verdict.reason;
    return false;
  }
  for (std::size_t i = 0; i < c.launch.buffers.size(); ++i) {
    const std::span<const std::byte> bytes = device.bufferBytes(i);
    const bool isUnchanged = std::ranges::equal(bytes, before.bufferBytes(i));
    c.memory.emplace_back(bytes.begin(), isUnchanged ? bytes.begin() : bytes.end());
  }
  return true;
}

bool agreesOnEmulator(const Case& c, std::uint64_t budget, std::string& why) {
  launch::RunOptions options;
  options.instructionBudget = budget;
  launch::Device device(c.launch);
  const engines::Verdict verdict = engines::emulate(c.candidates.front().cubin, device, options);
  if (!c.launch.stops.empty()) return true;
  why = verdict.reason;
  if (!verdict.isGood()) return false;
  const std::optional<launch::Device> wanted = referenceOf(c);
  if (!wanted) return true;
  const engines::Verdict same = engines::compare(device, *wanted);
  why = same.reason;
  return same.isGood();
}

void inParallel(std::size_t count, unsigned threads, const std::function<std::function<void()>(std::size_t)>& make) {
  // Each thread takes the next number. Results are processed in order, in windows.
  constexpr std::size_t kWindow = 64;
  for (std::size_t first = 0; first < count; first += kWindow) {
    const std::size_t size = std::min(kWindow, count - first);
    std::vector<std::function<void()>> taken(size);
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < size; i = next++)
        taken[i] = make(first + i);
    };
    std::vector<std::future<void>> others;
    for (unsigned t = 1; t < threads; ++t)
      others.push_back(std::async(std::launch::async, work));
    work();
    for (std::future<void>& other : others)
      other.get();
    for (const std::function<void()>& take : taken)
      if (take) take();
  }
}

} // namespace orias::gpu
