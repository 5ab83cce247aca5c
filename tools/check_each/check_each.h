#pragma once

#include "orias/options.h"
#include "tools/launch/launch.h"

#include <functional>
#include <string>
#include <string_view>

namespace orias::ori {
class Function;
}
namespace orias::phases {
struct ModulePhase;
struct PhaseInfo;
} // namespace orias::phases
namespace orias::ptx {
struct Module;
}

namespace orias::check_each {

struct CheckOptions {
  Options assemble;
  launch::RunOptions run;
  /// For tests: called after every phase of every function, before the check. It may break the function.
  std::function<void(const phases::PhaseInfo&, ori::Function&)> plant;
  /// Likewise for module phases.
  std::function<void(const phases::ModulePhase&, ptx::Module&)> plantInModule;
};

struct Verdict {
  bool ok = true;
  std::string phase;    ///< the first difference: "46 GeneralOptimizeMid2", "lowering", "encoding"; empty when ok
  std::string text;     ///< for users: where memory differs, and what the phase changed
  unsigned checked = 0; ///< executed states of the kernel: after lowering, each phase that changed it, encoding
  unsigned skipped = 0; ///< states that the emulator cannot run
};

/// Compiles the module and runs the launch's kernel after lowering, after every phase that changed it, and after
/// encoding. Compares the memory after each run with that of the PTX interpreter. Throws orias::Error if the input has
/// errors, does not match the launch, or cannot be run by the interpreter, because there is then no reference.
Verdict checkEach(std::string_view ptxText, const launch::Launch& launch, const CheckOptions& options = {});

} // namespace orias::check_each
