#pragma once

#include "encoder/isa/operand.h"
#include "ori/analysis/convergence.h"

#include <cstdint>

namespace orias::ori {

// The ABI of separately compiled code (observed: the registers that ptxas uses around CALL.ABS, and those that it
// preserves across it, on sm_90).

/// The kinds of callees.
enum class Convention : std::uint8_t {
  System,   ///< functions of the driver (vprintf, malloc): they change few registers
  Function, ///< functions of the program
  Pointer   ///< any function through a pointer, where the arguments leave no register for the address
};

inline constexpr std::uint32_t kStackPointer = 1; ///< R1; grows down, unchanged after a call
/// R2 keeps the frame's address where the stack pointer moves (observed); callees preserve it.
inline constexpr std::uint32_t kFramePointer = 2;
inline constexpr std::uint32_t kFirstArgument = 4; ///< the words of arguments and results, from R4 on
inline constexpr std::uint32_t kMaxArguments = 12;
inline constexpr std::uint32_t kCalleeAddress = 14; ///< our choice: after the arguments of driver functions
/// Callee address of an indirect call if arguments occupy that register. R3 is free there, and the caller loses R2.
inline constexpr std::uint32_t kCalleeBelowArguments = 2;
inline constexpr std::uint32_t kArgumentsBelowCallee = kCalleeAddress - kFirstArgument;
inline constexpr std::uint32_t kReturnAddress = 20;
/// The lowest register count of a function with calls: the highest register that a call uses is R21.
inline constexpr std::uint32_t kRegistersOfCalls = 22;
/// Free before a call: no value that is live across the call is in it, and no argument in it is part of a cycle of
/// moves.
inline constexpr std::uint32_t kScratchBeforeCall = 0;
/// Holds no parameter, and a function need not preserve it: scratch for moving parameters.
inline constexpr std::uint32_t kScratchAtEntry = 3;

/// Whether a register keeps its value across a call. Functions preserve R2, R16 to R31, and from R32 on the upper four
/// of each eight registers (ptxas saves just these at the beginning of a function that needs 160 registers across a
/// call); of the barriers B6 and higher; no predicate and no uniform register.
constexpr bool survivesCall(Convention convention, isa::File file, std::uint32_t reg) {
  const bool isReturnAddress = reg == kReturnAddress || reg == kReturnAddress + 1;
  switch (file) {
  case isa::File::R:
    if (reg == kStackPointer) return true;
    if (convention == Convention::System) return !(reg == 0 || (reg >= 3 && reg < 16) || isReturnAddress);
    if (reg == 2) return convention != Convention::Pointer;
    return (reg >= 16 && reg < 32 && !isReturnAddress) || (reg >= 32 && reg % 8 >= 4);
  case isa::File::UR: return convention == Convention::System && reg >= 36;
  case isa::File::B: return reg >= kBarriersOfCallees;
  case isa::File::P:
  case isa::File::UP: return false;
  }
  return false;
}

/// What a function must restore: the registers that its caller relies on, and its return address.
constexpr bool isKeptByFunctions(isa::File file, std::uint32_t reg) {
  if (file == isa::File::R && (reg == kReturnAddress || reg == kReturnAddress + 1)) return true;
  return survivesCall(Convention::Function, file, reg);
}

} // namespace orias::ori
