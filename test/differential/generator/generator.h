#pragma once

#include "test/differential/generator/profile.h"
#include "tools/launch/launch.h"

#include <cstdint>
#include <span>
#include <string>

namespace orias::generator {

/// A random kernel and its launch: well formed, terminating, free of races and of undefined behaviour, so that whoever
/// runs it has to get the same memory. (NaNs are made one before their bits are looked at.)
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
