#pragma once

#include "frontend/types.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace orias::reduce {

/// A register that an instruction writes.
struct Definition {
  std::string name;
  ptx::Type type = ptx::Type::None;
};

/// What the reducer requires of an instruction.
struct Facts {
  std::size_t piece = 0; ///< index in Source::pieces
  bool isGuarded = false;
  std::vector<Definition> definitions;
  std::vector<std::string> reads; ///< registers, including the guard and those of addresses
};

/// The instructions of a well-formed text (Source::text(), one piece per line), in order. Returns nothing if the text
/// has errors, or if a register may be read before it is written, because the failure of such a program is meaningless.
/// A guarded instruction counts as a write only if the register had a value before.
std::optional<std::vector<Facts>> analyse(std::string_view text);

} // namespace orias::reduce
