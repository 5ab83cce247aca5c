// orias-gpu with the test driver (fake/fake_cuda.cpp): all steps of a launch that are possible without a GPU.

#include "tools/common/files.h"
#include "tools/gpu/command_line.h"
#include "tools/gpu/cuda.h"
#include "tools/gpu/driver.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <unistd.h>

using namespace orias;
using tools::ExitStatus;

namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .u32 counter = 42;
.visible .entry addOne(.param .u64 data, .param .u32 n) {
  .reg .b64 %rd<3>; .reg .b32 %r<6>; .reg .pred %p;
  ld.param.u64 %rd0, [data]; ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;
  setp.ge.u32 %p, %r4, %r0; @%p ret;
  mad.wide.u32 %rd1, %r4, 4, %rd0; ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, 1; st.global.u32 [%rd1], %r5; ret;
}
.visible .entry count() { .reg .b32 %r; atom.global.add.u32 %r, [counter], 1; ret; }
.visible .entry missing(.param .u64 data) {
  .reg .b64 %rd; ld.param.u64 %rd, [data]; st.global.u32 [%rd], 1; ret;
}
.visible .entry stop() { trap; ret; }
)";

/// A folder with the module and a launch of it, and the driver for orias-gpu.
class Fixture {
 public:
  Fixture() : folder_(fs::temp_directory_path() / fmt::format("orias-gpu-test-{}", getpid())) {
    fs::create_directories(folder_);
    tools::writeWholeFile(path("m.ptx"), std::string_view(kModule));
    setenv("FAKE_CUDA_LOG", path("log").c_str(), 1);
    setenv("FAKE_CUDA_DEVICES", "1", 1);
  }
  ~Fixture() { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  ExitStatus run(const std::string& kernelAndRest, std::vector<std::string> words = {}) {
    tools::writeWholeFile(path("l.json"),
                          R"({"file": "m.ptx", "grid": 2, "block": 4, "kernel": )" + kernelAndRest + "}");
    words.insert(words.begin(), {"--library", ORIAS_FAKE_CUDA, path("l.json")});
    return gpu::runDriver(words);
  }
  /// How many logged driver calls have this text.
  std::size_t calls(const std::string& text) const {
    std::istringstream lines(tools::readWholeFile(path("log")));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);)
      count += line == text;
    return count;
  }

 private:
  fs::path folder_;
};

constexpr const char* kAddOne = R"("addOne", "dynamicShared": 60000,
  "buffers": [{"name": "data", "type": "u32", "count": 8, "init": "i", "expected": "i < 7 ? i + 1 : i"}],
  "arguments": [{"buffer": "data"}, {"type": "u32", "value": 7}])";

} // namespace

TEST_CASE("a launch runs, is compared and timed") {
  Fixture f;
  CHECK(f.run(kAddOne, {"--repeat", "5", "--warm-up", "2"}) == ExitStatus::Done);
  CHECK(f.calls("cuLaunchKernelEx addOne 2 1 1 4 1 1 60000") == 8);
  CHECK(f.calls("cuFuncSetAttribute 8 60000") == 1);
  CHECK(f.calls("cuMemAlloc 8704") == 1); // 32 bytes between guards
}

TEST_CASE("threads have a stack for calls and alloca") {
  Fixture f;
  CHECK(f.run(kAddOne, {"--repeat", "0"}) == ExitStatus::Done);
  CHECK(f.calls("cuCtxSetLimit 0 8192") == 2); // one for the heading, one in the process of the cubin
}

TEST_CASE("a launch in clusters") {
  Fixture f;
  CHECK(f.run(R"("count", "cluster": [2, 1])", {"--repeat", "0"}) == ExitStatus::Done);
  CHECK(f.calls("cuLaunchKernelEx count 2 1 1 4 1 1 0 4 2 1 1") == 1);
  CHECK(f.calls("cuFuncSetAttribute 14 1") == 0);
}

TEST_CASE("the results of a kernel that does nothing are wrong") {
  Fixture f;
  const std::string launch = R"("missing", "buffers": [{"name": "data", "type": "u32", "count": 1, "init": 0%}],
                                "arguments": [{"buffer": "data"}])";
  const std::size_t at = launch.find('%');
  CHECK(f.run(std::string(launch).replace(at, 1, R"(, "expected": 1)")) == ExitStatus::InputErrors);
  // There is no expectation in the file, but the interpreter has another result.
  CHECK(f.run(std::string(launch).replace(at, 1, "")) == ExitStatus::InputErrors);
}

TEST_CASE("variables of the module are fetched") {
  Fixture f;
  const std::string launch = R"("count", "variables": [{"name": "counter", "type": "u32", "expected": %}])";
  const auto expecting = [&](const char* value) { return std::string(launch).replace(launch.find('%'), 1, value); };
  // The fake driver counts once; a block of four threads and a grid of two count eight times.
  CHECK(f.run(expecting("50"), {"--repeat", "0"}) == ExitStatus::InputErrors);
  CHECK(f.calls("cuLaunchKernelEx count 2 1 1 4 1 1 0") == 1);
}

TEST_CASE("a kernel that traps, wanted or not") {
  Fixture f;
  CHECK(f.run(R"("stop", "stops": "trap")") == ExitStatus::Done);
  CHECK(f.run(R"("stop")") == ExitStatus::InputErrors);
  CHECK(f.calls("cuLaunchKernelEx stop 2 1 1 4 1 1 0") == 2);
  // The fault does not affect other processes.
  CHECK(f.run(kAddOne, {"--repeat", "0"}) == ExitStatus::Done);
}

TEST_CASE("another cubin runs beside ours") {
  Fixture f;
  tools::writeWholeFile(f.path("bad.cubin"), std::string_view("no cubin"));
  CHECK(f.run(kAddOne, {"--cubin", f.path("bad.cubin")}) == ExitStatus::InputErrors);
}

TEST_CASE("without a driver or a device the program skips") {
  Fixture f;
  setenv("FAKE_CUDA_DEVICES", "0", 1);
  CHECK(f.run(kAddOne) == ExitStatus::Skipped);
  CHECK_THROWS_AS(gpu::Cuda("libdoes-not-exist.so"), gpu::NoGpu);
  CHECK(gpu::runDriver(std::vector<std::string>{"--library=libdoes-not-exist.so", "x.json"}) == ExitStatus::Skipped);
}

TEST_CASE("the command line") {
  const auto parse = [](std::vector<std::string> words) { return gpu::parseCommandLine(words); };
  CHECK(parse({"a.json", "b.json", "--ptxas"}).withPtxas);
  CHECK(parse({"a.json", "-O1"}).assembleOptions.optLevel == 1);
  CHECK_THROWS_AS(parse({}), tools::UsageError);
  CHECK_THROWS_AS(parse({"a.json", "-O9"}), tools::UsageError);
  CHECK_THROWS_AS(parse({"a.json", "b.json", "--cubin=x"}), tools::UsageError);
  CHECK(gpu::runDriver(std::vector<std::string>{"--nonsense"}) == ExitStatus::UsageErrors);
}
