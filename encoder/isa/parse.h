#pragma once

#include "encoder/isa/desc.h"

#include <optional>
#include <string>
#include <string_view>

namespace orias::isa {

/// A parsed line, or the error in it.
struct ParseResult {
  Inst inst;
  std::string error; ///< empty on success
  explicit operator bool() const { return error.empty(); }
};

struct ParseOptions {
  std::uint64_t address = 0; ///< of the instruction: branch targets are absolute
};

/// Parses the output of print(); a trailing ';' is allowed. The scheduling fields keep their defaults.
ParseResult parse(std::string_view text, const ParseOptions& options = {});

} // namespace orias::isa
