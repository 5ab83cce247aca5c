#pragma once

// SASS text as nvdisasm writes it.

#include "encoder/isa/desc.h"

#include <functional>
#include <string>
#include <string_view>

namespace orias::isa {

struct PrintOptions {
  /// Where the instruction stands; branch targets are absolute.
  std::uint64_t address = 0;
  /// Names a branch target, as "`(.L_x_1)"; without it, or when it returns nothing, targets are written in hexadecimal.
  std::function<std::string(std::uint64_t target)> labelName;
};

/// "@!P0 IADD3 R1, P2, R4, -R5, RZ". Registers must be physical.
std::string print(const Inst& inst, const PrintOptions& options = {}, WordFormat format = WordFormat::Sm90);
/// One operand alone, with its modifiers.
std::string printOperand(const Inst& inst, unsigned slot);
/// The mnemonic with its modifiers: "ISETP.GE.U32.AND".
std::string printMnemonic(const Inst& inst, WordFormat format = WordFormat::Sm90);

/// How an immediate in this slot is written, under the instruction's modifiers.
Style styleOf(const Inst& inst, unsigned slot);

/// "UR": what the names of a file's registers begin with.
std::string_view fileName(File file);

/// "SR_TID.X".
std::string specialRegisterName(unsigned number);
/// The number of a special register; -1 when there is none of this name.
int specialRegisterNumber(std::string_view name);
/// Whether all lanes of a warp read the same from it: what belongs to the block, the grid or the multiprocessor. False
/// for numbers that nobody has described, and for counters, which each lane may read at its own time.
bool isWarpUniform(unsigned specialRegister);

} // namespace orias::isa
