#pragma once

#include "test/differential/generator/profile.h"
#include "tools/launch/launch.h"

#include <cstdint>
#include <span>
#include <string>

namespace orias::generator {

/// A random kernel and its launch: well formed, terminating, free of races and undefined behavior, so that all engines
/// must get the same memory. (NaNs are replaced with one before their bits are used.)
struct Program {
  std::uint64_t seed = 0;
  std::string text; ///< the kernel with its functions and variables, without the module's header
  launch::Launch launch;
};

/// The same for the same seed and profile, on every machine.
Program generate(std::uint64_t seed, const Profile& profile);

/// A PTX file of several programs; their names differ by their seeds.
std::string moduleText(std::span<const Program> programs, std::string_view chip = "sm_90");

} // namespace orias::generator
