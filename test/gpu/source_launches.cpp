#include "support/check.h"
#include "test/gpu/compile.h"
#include "test/gpu/sources.h"
#include "tools/common/files.h"
#include "tools/gpu/tensor_maps.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace orias::gpu {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBudget = 500'000'000;
constexpr unsigned kRepetitions = 20;

/// Launches that hardware may end differently from our engines, and tensor maps that the driver does not create.
bool isDoubtful(const launch::Launch& launch) {
  if (launch.stops == "deadlock" || launch.stops == "memcheck") return true;
  return std::any_of(launch.arguments.begin(), launch.arguments.end(), [](const launch::Argument& argument) {
    return argument.bytes.size() == launch::TensorMap::kBytes && argument.pointers.size() == 1 &&
           !tensorMapOf(argument);
  });
}

std::string archOf(const std::string& ptx) {
  const std::size_t at = ptx.find(".target");
  return at != std::string::npos && ptx.substr(at, ptx.find('\n', at) - at).find("sm_90a") != std::string::npos
             ? "sm_90a"
             : "sm_90";
}

/// Whether the file contains the expected contents of some buffer.
bool saysExpected(const launch::Launch& launch) {
  return std::any_of(launch.buffers.begin(), launch.buffers.end(),
                     [](const launch::Buffer& buffer) { return buffer.expected.has_value(); });
}

/// The number of copies of a grid along z that fill a large GPU several times. 0 if a copy could behave differently
/// from the grid: the kernel reads its z coordinate, or blocks communicate.
unsigned gridCopiesOf(const launch::Launch& launch, const std::string& ptx) {
  for (const char* word :
       {"ctaid.z", "gridid", " atom.", "\tatom.", " red.", "\tred.", "multimem", ".volatile", ".acquire", ".relaxed",
        ".release", "cluster", "griddepcontrol", "fence.acq_rel", "membar.gl"})
    if (ptx.find(word) != std::string::npos) return 0;
  constexpr std::uint64_t kBlocks = 132 * 64, kMaxZ = 65'535;
  const std::uint64_t blocks = launch.grid.count();
  return static_cast<unsigned>(std::min((kBlocks + blocks - 1) / blocks, kMaxZ / launch.grid.z));
}

Case makeCase(const SourceOptions& options, const std::string& group, const fs::path& file, unsigned level,
              std::string& why) {
  Case c;
  c.launch = launch::readLaunchFile(file.string());
  c.name = file.stem().string();
  c.family = c.name;
  const std::string program = launch::programPath(c.launch, file.string());
  if (fs::path(program).extension() != ".ptx") throw Error("its program is not PTX");
  if (!c.launch.textures.empty()) throw Error("it has textures");
  if (!c.launch.multicasts.empty()) throw Error("it has multicast objects");
  c.text = fmt::format("{} of {}", c.launch.kernel, fs::path(program).filename().string());
  c.group = isDoubtful(c.launch) ? "doubtful" : level == 3 ? group : fmt::format("{}-O{}", group, level);
  c.repetitions = c.launch.stops.empty() && level == 3 ? kRepetitions : 0;
  const std::string ptx = tools::readWholeFile(program);
  // The interpreter does not contract products and sums. If it provides the expected results, the cubins must not
  // contract them either.
  const bool contracts = saysExpected(c.launch);
  if (c.repetitions != 0) c.gridCopies = gridCopiesOf(c.launch, ptx);
  addMemory(c, ptx, kBudget, why);
  if (!addCandidates(c, ptx, {archOf(ptx), level, contracts, options.withPtxas}, why)) throw Error(why);
  if (contracts && !agreesOnEmulator(c, kBudget, why)) c.memory.clear(); // the file's expectations stay
  return c;
}

} // namespace

void launchCases(const SourceOptions& options, const std::string& group, const std::string& folder, unsigned level,
                 const Sink& sink) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  inParallel(files.size(), options.threads, [&](std::size_t i) -> std::function<void()> {
    try {
      std::string why;
      Case c = makeCase(options, group, files[i], level, why);
      if (level != 3 && c.group == "doubtful") return nullptr; // use them only once
      return [&sink, c = std::move(c)]() mutable { sink.take(std::move(c)); };
    } catch (const std::exception& error) {
      return [&sink, &group, name = files[i].stem().string(), why = std::string(error.what())] {
        sink.leave(group, name, why);
      };
    }
  });
}

} // namespace orias::gpu
