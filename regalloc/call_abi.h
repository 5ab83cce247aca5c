#pragma once

#include "encoder/isa/operand.h"
#include "ori/analysis/convergence.h"

#include <cstdint>

namespace orias::regalloc {

// The ABI of separately compiled code (observed: the registers of ptxas around CALL.ABS, and what it preserves in
// registers across it, on sm_90).

/// There are two sorts of callees.
enum class Convention : std::uint8_t {
  System,   ///< functions of the driver (vprintf, malloc): they change little
  Function, ///< functions of the program
  Pointer   ///< any through a pointer, where arguments leave no room for it
};

inline constexpr std::uint32_t kStackPointer = 1; ///< R1; grows down, unchanged after a call
/// R2 stays at the frame where the stack pointer moves (observed); callees keep it.
inline constexpr std::uint32_t kFramePointer = 2;
inline constexpr std::uint32_t kFirstArgument = 4; ///< the words of arguments and results, from R4 on
inline constexpr std::uint32_t kMostArguments = 12;
inline constexpr std::uint32_t kCalleeAddress = 14; ///< our choice: after the arguments of driver functions
/// Callee address of an indirect call if arguments occupy that register. R3 is free there, R2 is lost to the caller.
inline constexpr std::uint32_t kCalleeBelowArguments = 2;
inline constexpr std::uint32_t kArgumentsBelowCallee = kCalleeAddress - kFirstArgument;
inline constexpr std::uint32_t kReturnAddress = 20;
/// What a function that calls has at least: the highest register that a call names is R21.
inline constexpr std::uint32_t kRegistersOfCalls = 22;
/// Free before a call: what lives across it stands elsewhere, and an argument in it is no part of a cycle of moves.
inline constexpr std::uint32_t kScratchBeforeCall = 0;
/// Holds no parameter, and a function need not keep it: free for moving parameters about.
inline constexpr std::uint32_t kScratchAtEntry = 3;

/// Does a register keep its value when something is called? Functions keep R2, R16 to R31, and from R32 on the upper
/// four of each eight registers (ptxas saves just these at the beginning of a function that needs 160 registers across
/// a call); of the barriers B6 and higher; no predicate and no uniform register.
constexpr bool survivesCall(Convention convention, isa::File file, std::uint32_t reg) {
  const bool isReturnAddress = reg == kReturnAddress || reg == kReturnAddress + 1;
  switch (file) {
  case isa::File::R:
    if (reg == kStackPointer) return true;
    if (convention == Convention::System) return !(reg == 0 || (reg >= 3 && reg < 16) || isReturnAddress);
    if (reg == 2) return convention != Convention::Pointer;
    return (reg >= 16 && reg < 32 && !isReturnAddress) || (reg >= 32 && reg % 8 >= 4);
  case isa::File::UR: return convention == Convention::System && reg >= 36;
  case isa::File::B: return reg >= ori::kBarriersOfCallees;
  case isa::File::P:
  case isa::File::UP: return false;
  }
  return false;
}

/// What a function has to hand back as it found it: what its caller counts on, and its return address.
constexpr bool isKeptByFunctions(isa::File file, std::uint32_t reg) {
  if (file == isa::File::R && (reg == kReturnAddress || reg == kReturnAddress + 1)) return true;
  return survivesCall(Convention::Function, file, reg);
}

} // namespace orias::regalloc
