#pragma once

#include "test/forms/kernel.h"

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

struct Settings {
  std::string arch = "sm_90a";
  std::uint64_t seed = 1; ///< of the values
  bool ptxas = false;     ///< also the cubin that ptxas makes, against the interpreter
  std::string cubins;     ///< a folder for our cubins; empty: none are written
};

/// Runs the statement's kernel on the PTX interpreter and, assembled, on the emulator.
Verdict judge(const Statement& statement, const Settings& settings);

/// The same with two kernels that should be alike, which the test of this checker plants a difference in. With
/// `whyNotRun` they are only assembled.
Verdict judge(const Kernel& interpreted, const Kernel& emulated, const Settings& settings,
              std::string_view whyNotRun = {});

} // namespace orias::forms
