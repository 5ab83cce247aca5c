#include "tools/orias/option_table.h"

#include "support/nearest.h"

#include <algorithm>

namespace orias::driver {

namespace {

using enum Takes;
using enum Effect;

constexpr OptionSpec kTable[] = {
#define ORIAS_OPTION(id, ours, longName, shortName, takes, effect, valueText, help)                                    \
  {Option::id, ours, longName, shortName, takes, effect, valueText, help},
#include "tools/orias/options.def"
};

} // namespace

std::span<const OptionSpec> optionTable() {
  return kTable;
}

const OptionSpec& spec(Option id) {
  return kTable[static_cast<std::size_t>(id)];
}

const OptionSpec* findOption(std::string_view name) {
  if (name.empty()) return nullptr;
  for (const OptionSpec& option : kTable)
    if (option.longName == name || option.shortName == name) return &option;
  return nullptr;
}

std::string nearestOption(std::string_view name) {
  // Up to a third of the letters may be wrong; a prefix of an option counts as near.
  unsigned best = static_cast<unsigned>(name.size() / 3) + 1;
  std::string found;
  auto consider = [&](std::string_view candidate, std::string_view dashes) {
    if (candidate.size() < 2) return; // one letter is near to every short name
    unsigned distance = editDistance(name, candidate);
    if (name.size() >= 3 && candidate.starts_with(name)) distance = std::min(distance, 1U);
    if (distance < best) {
      best = distance;
      found = std::string(dashes) + std::string(candidate);
    }
  };
  for (const OptionSpec& option : kTable) {
    consider(option.longName, "--");
    consider(option.shortName, "-");
  }
  return found;
}

} // namespace orias::driver
