#pragma once

#include "ori/function.h"
#include "ori/module.h"
#include "orias/options.h"
#include "orias/orias.h"
#include "support/diagnostics.h"

// What directives and options say about launches, and how many registers that leaves to a thread. As ptxas 13.0 does
// (observed with kernels that need 110 registers): a directive goes before an option, `.maxnreg` before the count of
// threads, and that before --maxrregcount; --override-directive-values turns the first of these round.

namespace orias {

/// Gives a kernel the bounds of Options::launch where its PTX has none, or in place of them. More CTAs than a
/// multiprocessor has room for are warned of and dropped.
void applyLaunchOptions(ori::Function& kernel, const Options& options, Diagnostics& diagnostics);

/// Takes `setmaxnreg` out of a kernel of which nobody says with how many registers it begins: neither a limit nor how
/// many CTAs share a multiprocessor. Tells the user so, as ptxas does.
void settleRegisterRequests(ori::Function& kernel, const Options& options, Diagnostics& diagnostics);

/// Functions with code of their own in a whole program have no more registers than any kernel that may call them.
void limitCallees(ori::Module& module, const Options& options);

/// The most registers that a thread of this function may have when it begins.
unsigned registerCeiling(const ori::Function& function, const Options& options);

/// The most that it is given: where it asks for more later, never more than the most that it asks for (observed).
unsigned registersAtEntry(const ori::Function& function, const Options& options);

/// How many warps run at once on a multiprocessor, by the registers and shared memory of the report, and what limits
/// them.
void addOccupancy(FunctionReport& report, const ori::Function& kernel);

} // namespace orias
