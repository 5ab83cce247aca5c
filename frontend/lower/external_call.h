#pragma once

#include "encoder/isa/operand.h"
#include "frontend/ids.h"
#include "frontend/lower/value.h"
#include "frontend/module.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace orias::ptx {

class FunctionLowering;

// Calls of functions of the driver: arguments and result are words in registers.

bool isDriverFunction(std::string_view name);

/// A call of a driver function that the PTX declares.
void callExternal(FunctionLowering& f, FunctionId callee, std::span<const Operand> args,
                  std::span<const Operand> results);

/// A call of a driver function that the PTX does not declare. `onStack` are words from the stack pointer on. Returns
/// nothing, and reports an error, if the call is not possible here.
std::optional<isa::Operand> callDriver(FunctionLowering& f, const std::string& name, std::span<const Value> inRegisters,
                                       std::span<const Value> onStack, unsigned resultWords);

/// Reports a function that a whole program uses but does not define.
void reportUnresolved(FunctionLowering& f, std::string_view function);

} // namespace orias::ptx
