#pragma once

#include <string>

namespace orias::driver {

/// The text of --help: every option of the table, with those that have no effect or are refused marked.
std::string helpText();

/// The text of --version. Build systems look for `release N.N` and `VN.N.N` in it to learn which ptxas this can stand
/// for.
std::string versionText();

} // namespace orias::driver
