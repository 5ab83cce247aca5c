#pragma once

#include "frontend/instr_form.h"
#include "frontend/instr_form_table.h"
#include "frontend/module.h"
#include "ori/module.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace orias::ptx {

/// The cache operators of weak loads, or of weak stores, of global and generic memory. Mod::None: as the PTX says.
struct CacheOperators {
  Mod usual = Mod::None;  ///< for accesses without one
  Mod forced = Mod::None; ///< for all accesses
};

/// Which calls may be inlined.
enum class InlineScope : std::uint8_t {
  Program, ///< all calls: no code outside the module exists
  Object,  ///< calls whose callee no other object can replace; functions that other objects may call keep their code
  Nothing  ///< none, for debuggers
};

/// Limits of inlining (inline_plan.h). Sizes are in PTX instructions. The defaults are those of the knobs.
struct InlineLimits {
  std::uint64_t small = 32;          ///< a body up to this size is inlined at every call
  std::uint64_t large = 2000;        ///< a body above this size is not inlined at several calls
  std::uint64_t budget = 12000;      ///< size of the module after inlining ...
  std::uint64_t growthPercent = 150; ///< ... or this percentage of its size before, if that is more
  std::uint64_t callCost = 8;        ///< cost of a call by the ABI to its caller
  unsigned depth = 100;              ///< nesting of inlined calls, and so the depth of the recursion in lowering
  unsigned sharedCalls = 8;          ///< most calls that may share one copy of a body, if it is not inlined
  friend bool operator==(const InlineLimits&, const InlineLimits&) = default;
};

/// The decision about a call, and the reason.
struct InlineRemark {
  std::string caller;
  std::uint32_t line = 0; ///< of the call
  bool isInlined = false;
  std::string message;
  std::int64_t cost = 0; ///< instructions of the callee
};

struct LowerOptions {
  bool contractFma = true; ///< mul and add without a rounding modifier may become one fused operation
  CacheOperators loads, stores;
  /// Functions that are not inlined keep code of their own and are called by the ABI. Addresses are symbols that a
  /// linker resolves. `inlineScope` is then not Program.
  bool relocatable = false;
  InlineScope inlineScope = InlineScope::Program;
  InlineLimits inlining;
  std::vector<InlineRemark>* inlineRemarks = nullptr; ///< output; null: not requested
};

/// Returns whether a whole program must be lowered as relocatable code, because some function keeps code of its own.
/// The cases are:
///
/// 1. Recursion reaches a function of the driver or alloca. Inlined recursion keeps its registers below the stack
/// pointer, where the callee has its frame.
///
/// 2. Functions call one another from several places. If they were inlined, lanes at different calls would execute one
/// after the other, whereas they reconverge after the calls of a function.
///
/// 3. Inlining all calls would exceed the limits on code size.
bool needsFunctions(const Module& module, const FormTable& forms, const InlineLimits& limits);

/// Translates a checked PTX module to Ori, one Ori function per kernel (and, in relocatable code, per function). If
/// needsFunctions(), the result is relocatable code; see ori::Module::relocatable. PTX registers become virtual
/// registers (one each, with several definitions). Statements become instructions with SASS opcodes, and pseudo
/// instructions that later phases expand. An unsupported construct is reported as an error "not supported yet: ..." at
/// its location; the result is then unusable.
///
/// Values in registers of file R: a 16- or 8-bit register occupies one 32-bit register with unspecified upper bits, so
/// users of these bits extend first. 64-bit values are aligned pairs, 128-bit values aligned quads. Predicates are in
/// file P.
std::unique_ptr<ori::Module> lower(const Module& module, const isa::Target& target, Diagnostics& diagnostics,
                                   const LowerOptions& options = {});
/// Likewise, with the forms of the module.
std::unique_ptr<ori::Module> lower(const Module& module, const FormTable& forms, const isa::Target& target,
                                   Diagnostics& diagnostics, const LowerOptions& options);

} // namespace orias::ptx
