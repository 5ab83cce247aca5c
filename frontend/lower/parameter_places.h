#pragma once

#include <array>
#include <cstdint>

namespace orias::ptx {

/// Locations of parameters in the function ABI. Parameters are in registers R4 to R15, each in the lowest free run with
/// the alignment of the parameter, so a later parameter may fill a gap. A parameter that does not fit is entirely on
/// the stack, after the earlier ones. Values narrower than 32 bits use a whole word with unspecified upper bits.
/// Structures are bytes in memory order. A result of up to 12 words is in the registers from R4 on; for a larger one
/// the caller passes an address. Observed: code of ptxas 13.0 for sm_90, for calls with gaps, structures and more than
/// 12 words.
class ParameterPlaces {
 public:
  static constexpr std::uint32_t kRegisters = 12;

  struct Place {
    bool onStack = false;
    std::uint32_t at = 0; ///< register number, 0 for R4; or bytes from the stack pointer at the call
  };

  /// `bytes` and `alignment` are those of the parameter's declaration.
  Place next(std::uint64_t bytes, std::uint32_t alignment) {
    const auto words = static_cast<std::uint32_t>((bytes + 3) / 4);
    const std::uint32_t step = alignment >= 16 ? 4 : alignment >= 8 ? 2 : 1;
    for (std::uint32_t first = 0; first + words <= kRegisters; first += step) {
      bool isFree = true;
      for (std::uint32_t w = first; w < first + words; ++w)
        isFree &= !taken_[w];
      if (!isFree) continue;
      for (std::uint32_t w = first; w < first + words; ++w)
        taken_[w] = true;
      return {false, first};
    }
    const std::uint32_t granule = alignment > 4 ? alignment : 4;
    const std::uint32_t at = (stackBytes_ + granule - 1) / granule * granule;
    stackBytes_ = at + 4 * words;
    return {true, at};
  }

  std::uint32_t stackBytes() const { return stackBytes_; }

 private:
  std::array<bool, kRegisters> taken_{};
  std::uint32_t stackBytes_ = 0;
};

} // namespace orias::ptx
