#pragma once

#include "ori/function.h"

#include <array>
#include <optional>
#include <vector>

namespace orias::phases {

/// The change that an operand needs so that the uniform datapath can read it.
enum class UniformSource : std::uint8_t {
  Keep,         ///< no change: an immediate, a uniform register, a result
  Register,     ///< a register of file R or P: must become uniform too, or be copied
  LoadConstant, ///< a constant bank: ULDC
  MoveImmediate ///< a number that the uniform form does not accept: UMOV
};

/// The uniform-datapath instruction that is equivalent to one of the vector datapath. Registers are still those of the
/// vector datapath, except for URZ and UPT.
struct UniformForm {
  isa::Op op{};
  std::array<std::uint8_t, isa::kMaxMods> mods{};
  std::vector<isa::Operand> operands;
  std::vector<UniformSource> sources; ///< one per operand; Keep for results
};

/// The uniform form of an instruction, if the chip has one with these modifiers and kinds of operands. Does not check
/// guards, uniformity of sources or control flow.
std::optional<UniformForm> uniformForm(const ori::Instr& instr, const isa::Target& target);

/// The place in a constant bank from which LDC loaded a register of file R, if it is known. Flags of the operand do not
/// apply to the result.
std::optional<isa::Operand> constantPlaceOf(const ori::Function& function, const isa::Operand& source);

} // namespace orias::phases
