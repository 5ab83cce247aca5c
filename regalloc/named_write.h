#pragma once

#include "ori/instr.h"

#include <string_view>

namespace orias::regalloc {

/// An instruction writes a word of a register that the program names: what a debugger wants to know when it looks for
/// that register.
struct NamedWrite {
  ori::InstrId instr = 0;
  std::string_view name; ///< lives as long as the function
  std::uint8_t part = 0; ///< which of its words
  isa::File file = isa::File::R;
  std::uint32_t reg = 0; ///< where it stands from then on
};

} // namespace orias::regalloc
