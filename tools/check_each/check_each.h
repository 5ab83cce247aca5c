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
  /// For tests: called after every phase of every function, before the look at it, and may break the function.
  std::function<void(const phases::PhaseInfo&, ori::Function&)> plant;
  /// The same for phases of modules.
  std::function<void(const phases::ModulePhase&, ptx::Module&)> plantInModule;
};

struct Verdict {
  bool ok = true;
  std::string phase;    ///< the first that differs: "46 GeneralOptimizeMid2", "lowering", "encoding"; empty when ok
  std::string text;     ///< for people: where memory differs, and what the phase changed
  unsigned checked = 0; ///< states of the kernel that were run: after lowering, each phase that changed it, encoding
  unsigned skipped = 0; ///< states that the emulator cannot run
};

/// Compiles the module and runs the launch's kernel after lowering, after every phase that changed it, and after
/// encoding; compares what each leaves in memory with what the PTX interpreter leaves. Throws orias::Error when the
/// input has errors, does not fit the launch, or cannot be run by the interpreter, which leaves nothing to compare
/// with.
Verdict checkEach(std::string_view ptxText, const launch::Launch& launch, const CheckOptions& options = {});

} // namespace orias::check_each
