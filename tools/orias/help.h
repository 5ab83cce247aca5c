#pragma once

#include <string>

namespace orias::driver {

/// The text of --help: every option of the table, with those that have no effect or are refused marked.
std::string helpText();

/// The text of --version. Build systems search it for `release N.N` and `VN.N.N` to learn which ptxas this replaces.
std::string versionText();

} // namespace orias::driver
