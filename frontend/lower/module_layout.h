#pragma once

#include "frontend/instr_form_table.h"
#include "frontend/lower/call_graph.h"
#include "frontend/lower/constant_addresses.h"
#include "frontend/lower/lower.h"
#include "frontend/module.h"
#include "ori/module.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace orias::ptx {

class InlinePlan;

/// Locations of module-scope objects; filled once per module.
struct ModuleLayout {
  ori::Module* out = nullptr;
  const Module* in = nullptr;
  const FormTable* forms = nullptr;
  const CallGraph* calls = nullptr;
  LowerOptions options;
  std::vector<std::uint32_t> symbolOf;       ///< by VariableId: index into ori::Module::symbols, kNoId if none
  std::vector<std::uint32_t> functionSymbol; ///< by FunctionId: likewise; relocatable code has one for every body
  std::vector<std::int64_t> constOffset;     ///< by VariableId: offset in constant bank 3, -1 if none
  const InlinePlan* plan = nullptr;
  std::optional<ConstantAddresses> constantAddresses; ///< set if a kernel has pointers to constant memory
  /// A linker assigns the addresses of variables. Otherwise this is a whole program, which assigns its own addresses,
  /// even with out-of-line functions.
  bool namesData = false;
};

/// The functions whose code `function` contains: itself and all functions inlined into it, each once, callers first.
std::vector<const Function*> bodiesOf(const ModuleLayout& layout, const Function& function);

} // namespace orias::ptx
