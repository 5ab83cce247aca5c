#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace orias::phases {

/// A kernel parameter whose value the user vouches for: `--bind-param KERNEL.INDEX=VALUE`. Phase 11 reads it.
struct ParamBinding {
  std::string kernel;
  unsigned index = 0;      ///< of the parameter, from 0
  std::uint64_t value = 0; ///< the bits, the lowest first; what the parameter is wider than that is zero
};

/// Throws orias::Error with what is wrong. Values are decimal (negative ones too) or hexadecimal with 0x.
ParamBinding parseParamBinding(std::string_view text);

} // namespace orias::phases
