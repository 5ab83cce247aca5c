#pragma once

#include "test/differential/settings.h"
#include "tools/engines/engines.h"

#include <array>
#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace orias::differential {

/// The parts of the work whose time is measured.
enum class Work : std::uint8_t { Generate, Interpret, Assemble, Emulate, EachPhase, Ptxas, EmulatePtxas, Count };
inline constexpr std::size_t kWorks = static_cast<std::size_t>(Work::Count);
const char* workName(Work work);
using Times = std::array<std::chrono::nanoseconds, kWorks>;

/// A finding about a program.
struct Finding {
  engines::Outcome outcome = engines::Outcome::Good;
  std::string who; ///< "interpreter", "ours -O0", "ptxas"
  std::string reason;
};

struct ProgramResult {
  std::string name; ///< "mixed:17"
  std::vector<Finding> findings;
  std::string text, launchFile; ///< if something failed and programs are to be written
  /// The worst of the findings.
  engines::Outcome outcome() const;
};

/// True for all outcomes except Good and Unsupported.
bool isFailure(engines::Outcome outcome);

/// Runs all steps of the settings on a few programs. Adds to `times`.
std::vector<ProgramResult> runBatch(std::span<const Case> cases, const Settings& settings, Times& times);

} // namespace orias::differential
