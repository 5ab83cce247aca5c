#pragma once

#include "frontend/instr_form.h"
#include "frontend/module.h"
#include "ori/module.h"

#include <memory>

namespace orias::ptx {

/// The cache operators of weak loads, or of weak stores, of global and generic memory; Mod::None: as the PTX has them.
struct CacheOperators {
  Mod usual = Mod::None;  ///< of accesses that have none
  Mod forced = Mod::None; ///< of all
};

struct LowerOptions {
  bool contractFma = true; ///< mul and add without a rounding modifier may become one fused operation
  CacheOperators loads, stores;
  /// Functions keep code of their own and are called by the ABI; addresses are symbols that a linker fills in.
  bool relocatable = false;
};

/// Is the module lowered as relocatable code, whatever the options say? So it is where recursion reaches a function of
/// the driver or alloca: inlined recursion keeps its registers below the stack pointer, where whatever is called has
/// its frame and alloca its memory, so functions need frames of their own then. And so it is where functions call one
/// another from several places: inlined, lanes that wait for different calls go on one after the other, while a
/// function has them meet behind each call. Kernels that reach none of that have all that they call inlined
/// nevertheless.
bool needsFunctions(const Module& module);

/// Translates a checked PTX module to Ori, one Ori function per kernel (and, in relocatable code,
/// per function). Where needsFunctions() it is relocatable code, as ori::Module::relocatable tells. Registers become
/// virtual registers (one for each PTX register, several definitions), statements become instructions on SASS opcodes
/// and pseudo instructions that later phases expand. What is not supported yet is an error "not supported yet: ..." at
/// its place; the result is of no use then.
///
/// Values in registers of file R: a 16- or 8-bit register occupies one 32-bit register whose upper bits are
/// unspecified, so that whoever looks at them extends first; 64-bit ones are aligned pairs, 128-bit ones aligned quads,
/// predicates are P.
std::unique_ptr<ori::Module> lower(const Module& module, const isa::Target& target, Diagnostics& diagnostics,
                                   const LowerOptions& options = {});

} // namespace orias::ptx
