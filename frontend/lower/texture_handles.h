#pragma once

#include "encoder/isa/operand.h"
#include "frontend/lower/module_layout.h"
#include "frontend/lower/value.h"
#include "ori/function.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace orias::ptx {

class FunctionLowering;

// The words that the driver writes into a program: handles of textures, samplers and surfaces, and other numbers.

/// The symbol of a texture, sampler or surface: a variable of the module, or a parameter of the kernel `out`.
std::uint32_t handleSymbol(const ModuleLayout& layout, ori::Function& out, VariableId id);

/// The word in which the driver stores the handles of these objects: one, or a texture and its sampler; only one in
/// relocatable code. The word is in constant bank 0, in relocatable code in a register. Before sm_90 the number of a
/// sampler is in the upper twelve bits (Target::kSamplerShift). Returns nothing, and reports an error, if an object is
/// not known.
std::optional<isa::Operand> handleWord(FunctionLowering& f, std::span<const VariableId> ids);
inline std::optional<isa::Operand> handleWord(FunctionLowering& f, VariableId id) {
  return handleWord(f, std::span(&id, 1));
}

/// The handle as a 64-bit value: the word, and the object.
Value handleNumber(FunctionLowering& f, VariableId id);

/// A register with the number that the driver writes into the code for this symbol.
isa::Operand driverWord(FunctionLowering& f, std::string_view symbol);

} // namespace orias::ptx
