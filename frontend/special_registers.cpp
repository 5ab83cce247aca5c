#include "frontend/special_registers.h"

#include "support/check.h"

#include <iterator>

namespace orias::ptx {

namespace {

constexpr SpecialRegisterInfo kInfo[] = {
#define ORIAS_SPECIAL_REGISTER(id, name, count, type, vector, major, minor, sm)                                        \
  {name, count, Type::type, vector, major, minor, sm},
#include "frontend/special_registers.def"
#undef ORIAS_SPECIAL_REGISTER
};

constexpr SpecialRegister kFirst[] = {
#define ORIAS_SPECIAL_REGISTER(id, name, count, type, vector, major, minor, sm) SpecialRegister::id,
#include "frontend/special_registers.def"
#undef ORIAS_SPECIAL_REGISTER
};

/// The number in `text`, if it is below `count` and written without leading zeros.
std::optional<unsigned> memberNumber(std::string_view text, unsigned count) {
  if (text.empty() || text.size() > 2 || (text.size() == 2 && text[0] == '0')) return std::nullopt;
  unsigned number = 0;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<unsigned>(c - '0');
  }
  if (number >= count) return std::nullopt;
  return number;
}

} // namespace

const SpecialRegisterInfo& specialRegisterInfo(SpecialRegister reg) {
  for (std::size_t i = 0; i < std::size(kFirst); ++i) {
    if (static_cast<unsigned>(reg) - static_cast<unsigned>(kFirst[i]) < kInfo[i].count) return kInfo[i];
  }
  ORIAS_UNREACHABLE("no such special register");
}

std::optional<SpecialRegister> findSpecialRegister(std::string_view name) {
  if (name.size() < 3 || name[0] != '%') return std::nullopt;
  for (std::size_t i = 0; i < std::size(kInfo); ++i) {
    const SpecialRegisterInfo& info = kInfo[i];
    if (info.count == 1) {
      if (name == info.name) return kFirst[i];
      continue;
    }
    std::string_view prefix = info.name;
    std::string_view rest = name;
    if (kFirst[i] == SpecialRegister::Pm64) { // the only family with its number in the middle: %pm0_64
      if (!name.ends_with("_64")) continue;
      rest.remove_suffix(3);
      prefix = "%pm";
    }
    if (!rest.starts_with(prefix)) continue;
    if (auto number = memberNumber(rest.substr(prefix.size()), info.count))
      return static_cast<SpecialRegister>(static_cast<unsigned>(kFirst[i]) + *number);
  }
  return std::nullopt;
}

} // namespace orias::ptx
