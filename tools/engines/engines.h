#pragma once

#include "orias/options.h"
#include "tools/launch/launch.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The engines that can run a PTX kernel, with a common set of outcomes.

namespace orias::ptx {
struct Module;
}

namespace orias::engines {

/// The outcome of an engine, a compiler or a whole comparison, in ascending severity.
enum class Outcome : std::uint8_t {
  Good,
  Unsupported, ///< an instruction that is not supported here: neither right nor wrong
  Rejected,    ///< the program has errors, or does not complete (a fault, a deadlock, the budget)
  Mismatch,    ///< memory is different
  Fault,       ///< of the tool itself: an internal error, or a peer that cannot be started
  Count
};
const char* outcomeName(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::Good;
  std::string reason; ///< without line numbers and addresses if possible, so that equal reasons count as one
  bool isGood() const { return outcome == Outcome::Good; }
};

/// Runs the PTX itself on `device`. A checker's finding (RunOptions::memcheck) is Rejected.
Verdict interpret(std::string_view ptx, launch::Device& device, const launch::RunOptions& options = {});

/// The default chip for a program: sm_90, or that of `.target` if sm_90 cannot run it (a newer chip, or a specific chip
/// or family).
std::string archOf(const ptx::Module& module);
std::string archOf(std::string_view ptx); ///< sm_90 if the text cannot be parsed

/// A cubin, or the reason why there is none.
struct Compiled {
  Verdict verdict;
  std::vector<std::byte> cubin;
};
/// Assembles with orias. Throws orias::Error for invalid options.
Compiled assemble(std::string_view ptx, const Options& options = {});
/// Assembles with ptxas, which is searched in $ORIAS_PEERS_DIR, then on the PATH; `options` as on its command line.
Compiled assembleWithPtxas(std::string_view ptx, const std::string& options = "-arch=sm_90");
/// The output of `ptxas --version`; empty without ptxas.
std::string ptxasVersion();

/// Runs the kernel of the device's launch from a cubin, like interpret(). `result`, if not null, receives the counts
/// and figures of the run.
Verdict emulate(std::span<const std::byte> cubin, launch::Device& device, const launch::RunOptions& options = {},
                launch::RunResult* result = nullptr);

/// Compares the memory after two runs: Good or Mismatch.
Verdict compare(const launch::Device& got, const launch::Device& wanted);

} // namespace orias::engines
