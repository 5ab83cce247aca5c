#pragma once

#include "encoder/code.h"
#include "frontend/module.h"

#include <string>
#include <vector>

namespace orias {

/// In the code from `begin` to `end` a machine register holds a 32-bit word of a PTX register.
struct RegisterLocation {
  std::string name;
  ptx::Type type = ptx::Type::None;
  std::uint8_t part = 0; ///< the index of the word
  isa::File file = isa::File::R;
  std::uint32_t reg = 0;
  std::uint32_t begin = 0, end = 0; ///< offsets of instructions; valid before they execute
};

/// The locations of the PTX registers of a function, sorted by offset. A location covers the instructions where, on
/// every path, the last write of the machine register was one of this PTX register, and where the value is live. Each
/// write begins a new location. Registers whose names are declared more than once in the function have none. `code`
/// needs FunctionCode::debugDefs.
std::vector<RegisterLocation> registerPlaces(const ptx::Module& module, const ptx::Function& source,
                                             const ori::Function& function, const encoder::FunctionCode& code);

} // namespace orias
