#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orias::phases {

/// A kernel parameter whose value the user guarantees: `--bind-param KERNEL.INDEX=VALUE`. Used by phase 11.
struct ParamBinding {
  std::string kernel;
  unsigned index = 0;      ///< of the parameter, from 0
  std::uint64_t value = 0; ///< the bits, lowest first; any higher bits of the parameter are zero
};

/// Throws orias::Error that describes the problem. Values are decimal (may be negative) or hexadecimal with 0x.
ParamBinding parseParamBinding(std::string_view text);

} // namespace orias::phases
