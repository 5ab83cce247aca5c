#pragma once

#include "encoder/isa/operand.h"
#include "ori/analysis/convergence.h"

#include <cstdint>

namespace orias::regalloc {

// How code that is not ours is called (observed: what ptxas puts where around CALL.ABS, and what it keeps in registers
// across it, on sm_90).

inline constexpr std::uint32_t kFirstArgument = 4; ///< the words of arguments and results, from R4 on
inline constexpr std::uint32_t kMostArguments = 10;
inline constexpr std::uint32_t kCalleeAddress = 14; ///< ours to choose: behind the arguments
inline constexpr std::uint32_t kReturnAddress = 20;
/// What a function that calls has at least: the highest register that a call names is R21.
inline constexpr std::uint32_t kRegistersOfCalls = 22;

/// Does a register keep its value when something is called?
constexpr bool survivesCall(isa::File file, std::uint32_t reg) {
  switch (file) {
  case isa::File::R: return !(reg == 0 || (reg >= 3 && reg < 16) || reg == kReturnAddress || reg == kReturnAddress + 1);
  case isa::File::UR: return reg >= 36;
  case isa::File::B: return reg >= ori::kBarriersOfCallees;
  case isa::File::P:
  case isa::File::UP: return false;
  }
  return false;
}

} // namespace orias::regalloc
