#pragma once

#include "orias/orias.h"

#include <string>

namespace orias::driver {

/// The lines of --verbose, exactly as ptxas 13.0 prints them, because users and build systems parse them.
std::string verboseReport(const Result& result, const Options& options);

/// The warnings of --warn-on-spills and --warn-on-local-memory-usage, in ptxas' wording.
std::string usageWarnings(const Result& result, const Options& options);

/// The warnings about kernels with an unknown stack size, in nvlink's wording; only for whole programs, because a
/// linker gives them for objects. Suppressed by --suppress-stack-size-warning or --disable-warnings. They are never
/// errors, because ptxas 13.0 does not give them for whole programs.
std::string stackWarnings(const Result& result, const Options& options);

} // namespace orias::driver
