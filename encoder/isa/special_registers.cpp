#include "encoder/isa/print.h"

#include <array>

namespace orias::isa {

namespace {

constexpr std::array<std::string_view, 256> kNames = [] {
  std::array<std::string_view, 256> names{};
#define ORIAS_SREG(number, name) names[number] = name;
#include "encoder/isa/special_registers.inc"
#undef ORIAS_SREG
  return names;
}();

} // namespace

std::string specialRegisterName(unsigned number) {
  if (number < kNames.size() && !kNames[number].empty()) return std::string(kNames[number]);
  return "SR" + std::to_string(number);
}

int specialRegisterNumber(std::string_view name) {
  for (unsigned i = 0; i < kNames.size(); ++i)
    if (name == (kNames[i].empty() ? std::string_view() : kNames[i]) && !name.empty()) return static_cast<int>(i);
  if (name.size() > 2 && name.substr(0, 2) == "SR") {
    int value = 0;
    for (const char c : name.substr(2)) {
      if (c < '0' || c > '9' || value > 255) return -1;
      value = value * 10 + (c - '0');
    }
    if (value < 256) return value;
  }
  return -1;
}

bool isWarpUniform(unsigned specialRegister) {
  // From the names in nvdisasm and the PTX manual's descriptions of the registers that are lowered to them.
  struct Interval {
    unsigned first, last;
  };
  constexpr Interval kUniform[] = {
      {2, 3},     // VIRTCFG, VIRTID: the number of warps, and which one this is
      {37, 39},   // CTAID
      {46, 55},   // the windows and sizes of shared and local memory
      {67, 67},   // VIRTUALSMID
      {136, 137}, // the block's rank in its cluster
      {255, 255}  // SRZ
  };
  for (const Interval& i : kUniform)
    if (specialRegister >= i.first && specialRegister <= i.last) return true;
  return false;
}

} // namespace orias::isa
