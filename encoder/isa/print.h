#pragma once

// SASS text as nvdisasm writes it.

#include "encoder/isa/desc.h"

#include <functional>
#include <string>
#include <string_view>

namespace orias::isa {

struct PrintOptions {
  /// The address of the instruction; branch targets are absolute.
  std::uint64_t address = 0;
  /// Returns the name of a branch target, as "`(.L_x_1)". Without it, or if it returns an empty string, targets are
  /// written in hexadecimal.
  std::function<std::string(std::uint64_t target)> labelName;
};

/// "@!P0 IADD3 R1, P2, R4, -R5, RZ". Registers must be physical.
std::string print(const Inst& inst, const PrintOptions& options = {}, WordFormat format = WordFormat::Sm90);
/// Prints as nvdisasm does for `target`.
std::string printFor(const Target& target, const Inst& inst, const PrintOptions& options = {});
/// One operand alone, with its modifiers.
std::string printOperand(const Inst& inst, unsigned slot);
/// The mnemonic with its modifiers: "ISETP.GE.U32.AND".
std::string printMnemonic(const Inst& inst, WordFormat format = WordFormat::Sm90);

/// The text form of an immediate in this slot, with the instruction's modifiers.
Style styleOf(const Inst& inst, unsigned slot);

/// The prefix of a file's register names: "UR".
std::string_view fileName(File file);

/// "SR_TID.X".
std::string specialRegisterName(unsigned number);
/// The number of a special register; -1 if there is none of this name.
int specialRegisterNumber(std::string_view name);
/// Whether a special register is uniform: those of the block, the grid or the multiprocessor. False for undocumented
/// numbers, and for counters, which lanes may read at different times.
bool isWarpUniform(unsigned specialRegister);

} // namespace orias::isa
