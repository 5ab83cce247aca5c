#pragma once

#include "test/forms/statement.h"
#include "tools/launch/launch.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace orias::forms {

/// A kernel that reads a statement's sources from buffers, executes it in every lane, and writes its results, the carry
/// and the memory that it may have changed.
struct Kernel {
  std::string text;      ///< a complete PTX module
  std::string statement; ///< the tested line
  launch::Launch launch;
};

/// Why a statement cannot be tested in such a kernel; empty if it can.
std::string_view whyNotAlone(const Statement& statement);

/// `arch`: the target in `.target`. The kernel's name is "k".
Kernel kernelFor(const Statement& statement, std::string_view arch, std::uint64_t seed);

} // namespace orias::forms
