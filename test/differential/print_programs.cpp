#include "test/differential/generator/generator.h"

#include <fmt/core.h>

#include <cstdlib>
#include <vector>

// Prints a PTX file of generated programs: print_programs PROFILE FIRST-SEED COUNT

int main(int argc, char** argv) {
  using namespace orias;
  const generator::Profile* profile = argc == 4 ? generator::findProfile(argv[1]) : nullptr;
  if (!profile) {
    fmt::print(stderr, "usage: print_programs PROFILE FIRST-SEED COUNT\nprofiles:");
    for (const generator::Profile& known : generator::profiles())
      fmt::print(stderr, " {}", known.name);
    fmt::print(stderr, "\n");
    return 2;
  }
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10), count = std::strtoull(argv[3], nullptr, 10);
  std::vector<generator::Program> programs;
  for (std::uint64_t seed = first; seed < first + count; ++seed)
    programs.push_back(generator::generate(seed, *profile));
  fmt::print("{}", generator::moduleText(programs, profile->chip()));
  return 0;
}
