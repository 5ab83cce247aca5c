#pragma once

#include "encoder/isa/desc.h"

#include <optional>
#include <string>
#include <string_view>

namespace orias::isa {

/// A parsed line, or what is wrong with it.
struct ParseResult {
  Inst inst;
  std::string error; ///< empty when parsed
  explicit operator bool() const { return error.empty(); }
};

struct ParseOptions {
  std::uint64_t address = 0; ///< of the instruction: branch targets are absolute
};

/// Reads what print() writes (a trailing ';' is allowed). The scheduling fields stay at their defaults.
ParseResult parse(std::string_view text, const ParseOptions& options = {});

} // namespace orias::isa
