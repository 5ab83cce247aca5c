#pragma once

#include "test/forms/statement.h"
#include "tools/launch/launch.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace orias::forms {

/// A kernel that reads a statement's sources from buffers, runs it in every lane, and writes its results, the carry and
/// the memory that it may have changed.
struct Kernel {
  std::string text;      ///< a whole PTX module
  std::string statement; ///< its line that matters
  launch::Launch launch;
};

/// Why a statement cannot stand in such a kernel; empty if it can.
std::string_view whyNotAlone(const Statement& statement);

/// `arch`: what `.target` says. The kernel's name is "k".
Kernel kernelFor(const Statement& statement, std::string_view arch, std::uint64_t seed);

} // namespace orias::forms
