#include "test/differential/generator/generator.h"
#include "test/gpu/compile.h"
#include "test/gpu/sources.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::gpu {

void randomCases(const SourceOptions& options, unsigned count, unsigned level, const Sink& sink) {
  constexpr std::uint64_t kBudget = 50'000'000;
  constexpr std::uint64_t kFirstSeed = 500'000; // above those of the tests
  const auto profiles = generator::profiles();
  inParallel(count * profiles.size(), options.threads, [&](std::size_t i) -> std::function<void()> {
    const generator::Profile& profile = profiles[i % profiles.size()];
    const std::uint64_t seed = kFirstSeed + i / profiles.size();
    generator::Program program = generator::generate(seed, profile);
    const std::string ptx = generator::moduleText({&program, 1}, "sm_90");
    Case c;
    c.group = level == 3 ? "random" : fmt::format("random-O{}", level);
    c.name = fmt::format("{}:{}", profile.name, seed);
    c.family = c.name;
    c.text = fmt::format("print_programs {} {} 1", profile.name, seed);
    c.launch = std::move(program.launch);
    std::string why;
    if (!addMemory(c, ptx, kBudget, why) || !addCandidates(c, ptx, {"sm_90", level, true, options.withPtxas}, why))
      return [&sink, group = c.group, name = c.name, why] { sink.leave(group, name, why); };
    return [&sink, c = std::move(c)]() mutable { sink.take(std::move(c)); };
  });
}

} // namespace orias::gpu
