// c_api_threads CALLS [THREADS [FILE.ptx...]]: calls the C interface from several threads at the same time, half of the
// calls with randomly malformed PTX. Each file must always give the same cubin, in each thread, and no call may end
// with an internal error. Run it under a thread sanitizer (README.md). SIGINT ends the run early. Exit status 1: a
// difference.
#include "test/fuzz/mutate.h"
#include "tools/c_api/orias_c.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using orias::fuzz::Sample;
using Result = std::unique_ptr<orias_result, decltype(&orias_result_free)>;

std::atomic<bool> isInterrupted{false}; ///< set by SIGINT

struct Outcome {
  orias_status status;
  Result result;
};

Outcome assemble(const Sample& ptx, const char* level) {
  const std::array<const char*, 2> options = {"-arch=sm_90", level};
  orias_result* result = nullptr;
  const orias_status status =
      orias_assemble(reinterpret_cast<const char*>(ptx.data()), ptx.size(), options.data(), options.size(), &result);
  return {status, Result(result, orias_result_free)};
}

std::string cubinOf(const Outcome& outcome) {
  std::size_t bytes = 0;
  const void* cubin = orias_result_cubin(outcome.result.get(), &bytes);
  return cubin ? std::string(static_cast<const char*>(cubin), bytes) : std::string();
}

} // namespace

int main(int argc, char** argv) {
  const unsigned long calls = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1000;
  const unsigned long threadCount = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 8;
  std::vector<Sample> seeds;
  for (int i = 3; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    if (!file) return std::fprintf(stderr, "cannot read '%s'\n", argv[i]), 2;
    seeds.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (seeds.empty()) return std::fprintf(stderr, "no PTX file\n"), 2;
  constexpr std::array<const char*, 3> kLevels = {"-O0", "-O1", "-O3"};
  std::vector<std::string> expected;
  for (const Sample& seed : seeds)
    for (const char* level : kLevels)
      expected.push_back(cubinOf(assemble(seed, level)));

  std::signal(SIGINT, [](int) { isInterrupted = true; });
  std::atomic<unsigned long> next{0}, good{0}, refused{0}, wrong{0};
  std::vector<std::thread> threads;
  for (unsigned long t = 0; t < threadCount; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (unsigned long call = next++; call < calls && !isInterrupted; call = next++) {
        const std::size_t seed = random() % seeds.size(), level = random() % kLevels.size();
        const bool isWhole = call % 2 == 0;
        const Sample ptx = isWhole ? seeds[seed] : orias::fuzz::mutate(seeds, random);
        const Outcome outcome = assemble(ptx, kLevels[level]);
        const bool isAsExpected =
            isWhole ? outcome.status == ORIAS_OK && cubinOf(outcome) == expected[seed * kLevels.size() + level]
                    : outcome.status == ORIAS_OK || outcome.status == ORIAS_INPUT_ERRORS;
        if (!isAsExpected && ++wrong <= 3) {
          const char* text =
              outcome.result ? orias_result_text(outcome.result.get(), ORIAS_TEXT_DIAGNOSTICS, nullptr) : "";
          std::fprintf(stderr, "status %d at %s:\n%s\n%.*s\n", outcome.status, kLevels[level], text,
                       static_cast<int>(ptx.size()), reinterpret_cast<const char*>(ptx.data()));
        }
        ++(outcome.status == ORIAS_OK ? good : refused);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  std::printf("%lu calls from %lu threads: %lu assembled, %lu refused, %lu wrong\n", good + refused, threadCount,
              good.load(), refused.load(), wrong.load());
  return wrong != 0;
}
