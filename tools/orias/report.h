#pragma once

#include "orias/orias.h"

#include <string>

namespace orias::driver {

/// The lines of --verbose, to the letter those of ptxas 13.0, because people and build systems parse them.
std::string verboseReport(const Result& result, const Options& options);

/// The warnings that --warn-on-spills and --warn-on-local-memory-usage ask for, in ptxas' words.
std::string usageWarnings(const Result& result, const Options& options);

/// The warnings about kernels whose stack has no known size, in nvlink's words; of whole programs only, as a linker
/// says it of objects. Unless --suppress-stack-size-warning or --disable-warnings is set. They are never errors:
/// ptxas 13.0 does not give them for whole programs.
std::string stackWarnings(const Result& result, const Options& options);

} // namespace orias::driver
