#pragma once

#include "ori/function.h"
#include "ori/module.h"
#include "orias/options.h"
#include "orias/orias.h"
#include "support/diagnostics.h"

// Launch bounds of directives and options, and the register limits that follow from them. The precedence is that of
// ptxas 13.0 (observed with kernels that need 110 registers): directives override options, `.maxnreg` overrides the
// number of threads, and that overrides --maxrregcount. With --override-directive-values options override directives.

namespace orias {

/// Applies the bounds of Options::launch to a kernel: if its PTX has none, or instead of them. Warns about and ignores
/// a number of CTAs that does not fit into a multiprocessor.
void applyLaunchOptions(ori::Function& kernel, const Options& options, Diagnostics& diagnostics);

/// Removes `setmaxnreg` from a kernel whose initial register count is unspecified: it has neither a register limit nor
/// a number of CTAs per multiprocessor. Reports this as ptxas does.
void settleRegisterRequests(ori::Function& kernel, const Options& options, Diagnostics& diagnostics);

/// Limits the registers of functions that are not inlined to those of each kernel that may call them.
void limitCallees(ori::Module& module, const Options& options);

/// The maximum number of registers per thread at the start of the function.
unsigned registerCeiling(const ori::Function& function, const Options& options);

/// The limit of the allocator: for a function with setmaxnreg at most the largest requested number (observed).
unsigned registersAtEntry(const ori::Function& function, const Options& options);

/// Sets the number of concurrent warps on a multiprocessor, by the registers and shared memory of the report, and the
/// limiting resource.
void addOccupancy(FunctionReport& report, const ori::Function& kernel);

} // namespace orias
