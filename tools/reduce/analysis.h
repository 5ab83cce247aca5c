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

/// What the reducer has to know of an instruction.
struct Facts {
  std::size_t piece = 0; ///< index in Source::pieces
  bool isGuarded = false;
  std::vector<Definition> definitions;
  std::vector<std::string> reads; ///< registers, the guard and those of addresses included
};

/// The instructions of a well-formed text (Source::text(), a piece a line), in its order. Nothing when the text has
/// errors, or when a register may be read that was not written: such a program means nothing, however it fails. A
/// guarded instruction counts as a write only where the register had a value before.
std::optional<std::vector<Facts>> analyse(std::string_view text);

} // namespace orias::reduce
