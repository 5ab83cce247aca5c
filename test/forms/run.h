#pragma once

#include "test/forms/statement.h"

#include <string>
#include <string_view>

namespace orias::forms {

/// How far a statement gets.
enum class Outcome : std::uint8_t {
  NoForm,      ///< our checks refuse it: modifiers that the table has side by side but that exclude each other
  OtherTarget, ///< the target does not have it
  Unsupported, ///< is not lowered yet
  Assembled,   ///< but cannot be run alone (whyNotAlone)
  NoEngine,    ///< an engine does not know it
  Agrees,      ///< the engines' memories are equal after the run
  Differs,     ///< or they are not, or an engine stopped
  Fault,       ///< an internal error, or checks of ours and of ptxas that differ
};

struct Verdict {
  Outcome outcome = Outcome::Agrees;
  std::string reason; ///< the error, the difference, the engine that cannot; empty where it agrees
};

/// Runs the statement's kernel on the PTX interpreter and, assembled, on the emulator; with `ptxas` also the cubin that
/// ptxas makes, against ours.
Verdict judge(const Statement& statement, std::string_view arch, std::uint64_t seed, bool ptxas);

} // namespace orias::forms
