#pragma once

#include "regalloc/webs.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace orias::regalloc {

/// An arithmetic instruction that reads three different registers. Registers with even and odd numbers are in different
/// banks, and each bank supplies two of them at a time: a third one from the same bank takes a further cycle (Jia et
/// al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking", section 3.4).
struct ThreeReads {
  std::array<std::uint32_t, 3> webs;
  std::array<std::uint8_t, 3> offsets; ///< of the registers in the webs
  double weight;                       ///< by weightOf
};

/// The instructions with three reads, and where each web takes part in them.
class BankConflicts {
 public:
  BankConflicts(const ori::Function& function, const Webs& webs);

  std::span<const ThreeReads> all() const { return all_; }
  /// The weight of the instructions that read from one bank only, among those that read one of the given webs. An
  /// instruction that reads several of them counts several times.
  double weightOf(std::span<const std::uint32_t> webs, const std::vector<std::uint32_t>& slotOf) const;
  static bool isConflict(const ThreeReads& reads, const std::vector<std::uint32_t>& slotOf) {
    const auto bank = [&](std::size_t i) { return (slotOf[reads.webs[i]] + reads.offsets[i]) & 1; };
    return bank(0) == bank(1) && bank(0) == bank(2);
  }

 private:
  std::vector<ThreeReads> all_;
  std::vector<std::vector<std::uint32_t>> ofWeb_; ///< indices in all_
};

} // namespace orias::regalloc
