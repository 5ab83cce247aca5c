#include "ptx_test.h"

#include <doctest/doctest.h>

#include <array>
#include <sstream>

using namespace orias;
using namespace orias::ptx;

// Which targets run on which chips, and the required versions, as in ptxas 13.0 (observed for each pair, with an empty
// kernel).

namespace {

constexpr std::array kArchs{
    Arch{75, 0},    Arch{80, 0},    Arch{86, 0},  Arch{87, 0},    Arch{88, 0},    Arch{89, 0},
    Arch{90, 0},    Arch{90, 'a'},  Arch{100, 0}, Arch{100, 'a'}, Arch{100, 'f'}, Arch{103, 0},
    Arch{103, 'a'}, Arch{103, 'f'}, Arch{110, 0}, Arch{110, 'a'}, Arch{110, 'f'}, Arch{120, 0},
    Arch{120, 'a'}, Arch{120, 'f'}, Arch{121, 0}, Arch{121, 'a'}, Arch{121, 'f'},
};

bool accepted(std::string_view version, Arch target, Arch arch) {
  Parsed p(".version " + std::string(version) + "\n.target " + archName(target) + "\n.entry k() { ret; }");
  return p.checked({arch}).errors().empty();
}

/// The chips that accept the code of a target, in the order of kArchs.
std::string chipsFor(Arch target) {
  std::string found;
  for (Arch arch : kArchs)
    if (accepted("9.0", target, arch)) found += (found.empty() ? "" : " ") + archName(arch).substr(3);
  return found;
}

} // namespace

TEST_CASE("code for a target without a suffix runs on all later chips") {
  const std::string all =
      "75 80 86 87 88 89 90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f";
  for (Arch target : kArchs)
    if (!target.suffix) CHECK(chipsFor(target) == all.substr(all.find(archName(target).substr(3))));
}

TEST_CASE("code for a target with 'a' runs on that chip only") {
  for (Arch target : kArchs)
    if (target.suffix == 'a') CHECK(chipsFor(target) == archName(target).substr(3));
}

TEST_CASE("code for a target with 'f' runs on the later chips of its family") {
  CHECK(chipsFor({100, 'f'}) == "100 100a 100f 103 103a 103f");
  CHECK(chipsFor({103, 'f'}) == "103 103a 103f");
  CHECK(chipsFor({110, 'f'}) == "110 110a 110f");
  CHECK(chipsFor({120, 'f'}) == "120 120a 120f 121 121a 121f");
  CHECK(chipsFor({121, 'f'}) == "121 121a 121f");
}

TEST_CASE("the first PTX version of each target") {
  std::istringstream versions(
      "6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0");
  std::array<std::string, kArchs.size()> first;
  for (std::string version; versions >> version;)
    for (std::size_t i = 0; i < kArchs.size(); ++i)
      if (first[i].empty() && accepted(version, kArchs[i], kArchs[i])) first[i] = version;
  CHECK(first == std::array<std::string, kArchs.size()>{"6.3", "7.0", "7.1", "7.4", "7.3", "7.8", "7.8", "8.0",
                                                        "8.6", "8.6", "8.8", "8.8", "8.8", "8.8", "9.0", "9.0",
                                                        "9.0", "8.7", "8.7", "8.8", "8.8", "8.8", "8.8"});
}
