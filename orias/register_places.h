#pragma once

#include "encoder/code.h"
#include "frontend/module.h"

#include <string>
#include <vector>

namespace orias {

/// From `begin` on, up to `end`, a word of a register of the PTX stands in a register of the machine.
struct RegisterLocation {
  std::string name;
  ptx::Type type = ptx::Type::None;
  std::uint8_t part = 0; ///< which word
  isa::File file = isa::File::R;
  std::uint32_t reg = 0;
  std::uint32_t begin = 0, end = 0; ///< offsets of instructions: what holds when they are about to run
};

/// Where the registers of a function of the PTX stand in its code, sorted by place. A place is told where, on every
/// path, the last write of that machine register was one of this register of the PTX, and where somebody still reads
/// it: of anything else nothing is told. Each write begins a place of its own. Names that the function declares more
/// than once are left out. `code` needs FunctionCode::namedWrites.
std::vector<RegisterLocation> registerPlaces(const ptx::Module& module, const ptx::Function& source,
                                             const ori::Function& function, const encoder::FunctionCode& code);

} // namespace orias
