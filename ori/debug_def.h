#pragma once

#include "ori/instr.h"

#include <string_view>

namespace orias::ori {

/// A definition of a word of a register that the program declares: a debugger needs it to find that register.
struct DebugDef {
  InstrId instr = 0;
  std::string_view name; ///< lives as long as the function
  std::uint8_t part = 0; ///< the index of the word
  isa::File file = isa::File::R;
  std::uint32_t reg = 0; ///< its register from then on
};

} // namespace orias::ori
