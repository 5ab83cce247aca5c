#pragma once

#include "ori/function.h"

#include <array>
#include <optional>
#include <vector>

namespace orias::phases {

/// What has to happen to an operand so that the uniform datapath can read it.
enum class UniformSource : std::uint8_t {
  Keep,         ///< it is fine as it is: an immediate, a uniform register, a result
  Register,     ///< a register of file R or P: must be uniform too, or be brought over
  LoadConstant, ///< a constant bank: ULDC
  MoveImmediate ///< a number that the uniform form has no room for: UMOV
};

/// An instruction of the uniform datapath that does what one of the vector datapath does. Registers are still those of
/// the vector datapath, except for URZ and UPT.
struct UniformForm {
  isa::Op op{};
  std::array<std::uint8_t, isa::kMaxMods> mods{};
  std::vector<isa::Operand> operands;
  std::vector<UniformSource> sources; ///< one per operand; Keep for results
};

/// The uniform form of an instruction, when the chip has one with these modifiers and kinds of operands. Asks nothing
/// about guards, uniformity of sources or control flow.
std::optional<UniformForm> uniformForm(const ori::Instr& instr, const isa::Target& target);

} // namespace orias::phases
