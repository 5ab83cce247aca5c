#pragma once

#include "test/forms/kernel.h"

#include <string>
#include <string_view>

namespace orias::forms {

/// The result of a statement.
enum class Outcome : std::uint8_t {
  NoForm,      ///< our checks reject it: the table lists modifiers that exclude each other
  OtherTarget, ///< the target lacks it
  Unsupported, ///< not lowered yet
  Assembled,   ///< assembled, but cannot be run alone (whyNotAlone)
  NoEngine,    ///< an engine does not support it
  Agrees,      ///< the engines' memories are equal after the run
  Differs,     ///< the engines' memories differ, or an engine stopped
  Fault,       ///< an internal error, or our checks and those of ptxas differ
};

struct Verdict {
  Outcome outcome = Outcome::Agrees;
  std::string reason; ///< the error, the difference, or the engine without support; empty if the outcome is Agrees
};

struct Settings {
  std::string arch = "sm_90a";
  std::uint64_t seed = 1; ///< of the values
  bool ptxas = false;     ///< also compare ptxas' cubin with the interpreter
  std::string cubins;     ///< a folder for our cubins; empty: do not write them
};

/// Runs the statement's kernel on the PTX interpreter and, assembled, on the emulator.
Verdict judge(const Statement& statement, const Settings& settings);

/// Judges two kernels that should be equal. The test of this checker passes different kernels. With `whyNotRun` they
/// are only assembled.
Verdict judge(const Kernel& interpreted, const Kernel& emulated, const Settings& settings,
              std::string_view whyNotRun = {});

} // namespace orias::forms
