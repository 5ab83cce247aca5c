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

/// The cache operators of weak loads, or of weak stores, of global and generic memory; Mod::None: as the PTX has them.
struct CacheOperators {
  Mod usual = Mod::None;  ///< of accesses that have none
  Mod forced = Mod::None; ///< of all
};

/// Which calls may be inlined at all.
enum class InlineScope : std::uint8_t {
  Program, ///< every call: the module is all there is
  Object,  ///< calls whose callee no other object can replace; what other objects may call keeps its code
  Nothing  ///< none, for debuggers
};

/// How far calls may be inlined (inline_plan.h). Sizes are PTX instructions. The defaults are those of the knobs.
struct InlineLimits {
  std::uint64_t small = 32;          ///< a body up to this size is inlined at every call
  std::uint64_t large = 2000;        ///< a body above this size is not inlined at several calls
  std::uint64_t budget = 12000;      ///< size of the module after inlining ...
  std::uint64_t growthPercent = 150; ///< ... or this percentage of its size before, if that is more
  std::uint64_t callCost = 8;        ///< what a call by the ABI costs its caller
  unsigned depth = 100;              ///< nesting of inlined calls; lowering recurses that deep
  unsigned sharedCalls = 8;          ///< a body that is not inlined at several calls may have so many that share a copy
  friend bool operator==(const InlineLimits&, const InlineLimits&) = default;
};

/// What was decided about a call, and why.
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
  /// Functions that are not inlined keep code of their own and are called by the ABI; addresses are symbols that a
  /// linker fills in. `inlineScope` is not Program then.
  bool relocatable = false;
  InlineScope inlineScope = InlineScope::Program;
  InlineLimits inlining;
  std::vector<InlineRemark>* inlineRemarks = nullptr; ///< output; null: not requested
};

/// Is a whole program lowered as relocatable code? So it is where some function keeps code of its
/// own: where recursion reaches a function of the driver or alloca (inlined recursion keeps its registers below the
/// stack pointer, where whatever is called has its frame), where functions call one another from several places
/// (inlined, lanes that wait for different calls go on one after the other, while they meet behind the calls of a
/// function), and where inlining all calls would make more code than the limits allow.
bool needsFunctions(const Module& module, const FormTable& forms, const InlineLimits& limits);

/// Translates a checked PTX module to Ori, one Ori function per kernel (and, in relocatable code,
/// per function). Where needsFunctions() it is relocatable code, as ori::Module::relocatable tells. Registers become
/// virtual registers (one for each PTX register, several definitions), statements become instructions on SASS opcodes
/// and pseudo instructions that later phases expand. What is not supported yet is an error "not supported yet: ..." at
/// its place; the result is of no use then.
///
/// Values in registers of file R: a 16- or 8-bit register occupies one 32-bit register whose upper bits are
/// unspecified, so that users of these bits extend first; 64-bit ones are aligned pairs, 128-bit ones aligned quads,
/// predicates are P.
std::unique_ptr<ori::Module> lower(const Module& module, const isa::Target& target, Diagnostics& diagnostics,
                                   const LowerOptions& options = {});
/// The same, with the forms of the module.
std::unique_ptr<ori::Module> lower(const Module& module, const FormTable& forms, const isa::Target& target,
                                   Diagnostics& diagnostics, const LowerOptions& options);

} // namespace orias::ptx
