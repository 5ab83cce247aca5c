#pragma once

#include "encoder/isa/operand.h"
#include "frontend/ids.h"
#include "frontend/lower/value.h"
#include "frontend/module.h"
#include "ori/module.h"

#include <cstdint>
#include <string_view>

namespace orias::ptx {

class FunctionLowering;

/// The address operand of a memory instruction in the given space (None: generic).
Address addressOf(FunctionLowering& f, const Operand& operand, StateSpace space);
/// Likewise for instructions that access only shared memory and take 32-bit addresses. The low word of a generic
/// address of shared memory is the shared address (observed; cvta makes them so).
Address sharedAddress(FunctionLowering& f, const Operand& operand, StateSpace space);
/// A 64-bit address in one register pair, with its offset added.
isa::Operand wholeAddress(FunctionLowering& f, const Address& a);
/// The address of a variable as a value in its own space: 32 bits for shared and local, 64 for others.
Value variableAddress(FunctionLowering& f, VariableId id, std::int64_t offset);

/// The address of a symbol of relocatable code.
isa::Operand symbolAddress(FunctionLowering& f, std::uint32_t symbol, std::int64_t offset, unsigned words);
/// The address of a symbol of a whole program. The loader writes it into constant bank 4.
isa::Operand addressFromTable(FunctionLowering& f, std::uint32_t symbol);
/// The symbol of that kind and name; created if missing.
std::uint32_t symbolNamed(ori::Module& module, ori::Symbol::Kind kind, std::string_view name);

} // namespace orias::ptx
