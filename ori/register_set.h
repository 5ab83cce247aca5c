#pragma once

#include "encoder/isa/operand.h"

#include <array>
#include <bitset>
#include <cstdint>

namespace orias::ori {

/// Physical registers of all files.
class RegisterSet {
 public:
  void add(isa::File file, std::uint32_t reg) { of(file).set(reg); }
  bool contains(isa::File file, std::uint32_t reg) const { return files_[static_cast<std::size_t>(file)][reg]; }
  RegisterSet& operator|=(const RegisterSet& other) {
    for (std::size_t f = 0; f < files_.size(); ++f)
      files_[f] |= other.files_[f];
    return *this;
  }
  friend bool operator==(const RegisterSet&, const RegisterSet&) = default;

 private:
  std::bitset<256>& of(isa::File file) { return files_[static_cast<std::size_t>(file)]; }

  std::array<std::bitset<256>, isa::kFileCount> files_{};
};

} // namespace orias::ori
