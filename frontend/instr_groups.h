#pragma once

#include "frontend/instr_form.h"

#include <string_view>

namespace orias::ptx {

/// A named set of modifiers that rows refer to (`.RND`). `slot` Flag: each modifier has its own slot.
struct NamedGroup {
  std::string_view name;
  std::string_view words; ///< separated by `|`
  Slot slot = Slot::Flag;
};

/// Null if there is no such name.
const NamedGroup* findGroup(std::string_view name);

/// The requirements of a modifier or type of an operation beyond those of its row, in the notation of Row::since;
/// empty: none.
std::string_view sinceOf(Op op, std::string_view word);

} // namespace orias::ptx
