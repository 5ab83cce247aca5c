#pragma once

#include "orias/options.h"
#include "tools/launch/launch.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The ways in which a PTX kernel can be run here, made comparable: each of them ends in the same few ways.

namespace orias::ptx {
struct Module;
}

namespace orias::engines {

/// How an engine, a compiler or a whole comparison ended. The later, the worse.
enum class Outcome : std::uint8_t {
  Good,
  Unsupported, ///< an instruction that is not known here: says nothing about right or wrong
  Rejected,    ///< the program has errors, or does not run to its end (a fault, a deadlock, the budget)
  Mismatch,    ///< memory is different
  Fault,       ///< of the program that should have told: an internal error, or a peer that cannot be started
  Count
};
const char* outcomeName(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::Good;
  std::string reason; ///< without line numbers and addresses where that is possible, so that equal reasons count as one
  bool isGood() const { return outcome == Outcome::Good; }
};

/// Runs the PTX itself on `device`. What a checker finds (RunOptions::memcheck) is Rejected.
Verdict interpret(std::string_view ptx, launch::Device& device, const launch::RunOptions& options = {});

/// The chip that runs a program when none is asked for: sm_90, or what `.target` says where sm_90 does not run that (a
/// newer chip, or one chip or family alone).
std::string archOf(const ptx::Module& module);
std::string archOf(std::string_view ptx); ///< sm_90 where the text cannot be read

/// A cubin, or why there is none.
struct Compiled {
  Verdict verdict;
  std::vector<std::byte> cubin;
};
/// By orias. Throws orias::Error for options that make no sense.
Compiled assemble(std::string_view ptx, const Options& options = {});
/// By ptxas, which is looked for in $ORIAS_PEERS_DIR, then on the PATH; `options` as its command line takes them.
Compiled assembleWithPtxas(std::string_view ptx, const std::string& options = "-arch=sm_90");
/// What `ptxas --version` prints; empty without ptxas.
std::string ptxasVersion();

/// Runs the kernel of the device's launch out of a cubin; as interpret(). `result`, if it is not null, gets the counts
/// and figures of the run.
Verdict emulate(std::span<const std::byte> cubin, launch::Device& device, const launch::RunOptions& options = {},
                launch::RunResult* result = nullptr);

/// What two runs left: Good or Mismatch.
Verdict compare(const launch::Device& got, const launch::Device& wanted);

} // namespace orias::engines
