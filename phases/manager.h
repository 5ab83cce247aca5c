#pragma once

#include "ori/analysis/analyses.h"
#include "phases/module_phases.h"
#include "phases/phase.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace orias::phases {

/// The requested dumps of the pipeline, and which part of it runs. Phases are given by number or name.
struct PipelineOptions {
  std::vector<std::string> dumpAfter; ///< "all" for every phase
  std::vector<std::string> dumpBefore;
  std::string dumpDir;       ///< dumps go to files here, which sort like the pipeline; empty: to `dump`
  bool printChanged = false; ///< after each phase that changed something, the changed lines
  std::string stopAfter;     ///< later phases do not run
  std::vector<std::string> disabled;
  std::vector<std::string> swapped; ///< the 1st runs in place of the 2nd and vice versa, the 3rd of the 4th, ...
  std::string startFrom;            ///< the phases before this one do not run
  /// Verify after every phase, and compare each cached analysis that a phase requests with a newly computed one. A
  /// failure throws InternalError, which for a phase includes the dump from before it.
  bool verifyEach = false;
  /// Measure each phase. Reading the processor's clock is a system call: this takes 5% of the time of a small file.
  bool timePhases = false;
  std::function<void(const std::string&)> dump; ///< takes dump text when there is no dumpDir
  /// Called after every phase that ran, before the verifier, with the phase's own report whether it changed something.
  /// For tools that examine the function between phases; tests inject bugs through it.
  std::function<void(const PhaseInfo&, ori::Function&, bool changed)> afterPhase;
};

struct PhaseTime {
  const PhaseInfo* phase;
  std::chrono::nanoseconds time{0}; ///< processor time; 0 unless PipelineOptions::timePhases
  bool changed = false;
};

/// How the phases of one function used its analyses.
struct AnalysisUse {
  std::array<unsigned, ori::kAnalysisCount> asked{}; ///< by ori::AnalysisKind
  std::vector<ori::Analyses::Build> builds;
};

struct ModulePhaseTime {
  const ModulePhase* phase;
  std::chrono::nanoseconds time{0}; ///< processor time
};

/// Runs the pipeline on a function. Throws orias::Error for options that name unknown phases, disable a mandatory one,
/// or swap phases that cannot be swapped; InternalError if a phase breaks the function.
class PhaseManager {
 public:
  explicit PhaseManager(const PipelineOptions& options);

  /// Returns false if the pipeline stopped early (stopAfter, or errors were reported): there is no machine code then.
  bool run(ori::Function& function, PhaseContext& context);

  const std::vector<PhaseTime>& times() const { return times_; }
  const AnalysisUse& analysisUse() const { return analysisUse_; }

 private:
  struct Plan {
    const PhaseInfo* phase;
    bool dumpBefore;
    bool dumpAfter;
    bool run;
  };
  class PhaseScope;

  void swapPhases(const std::string& first, const std::string& second);
  void emitDump(const PhaseInfo& phase, const ori::Function& function, std::string_view when, const std::string& text);

  const PipelineOptions& options_;
  std::vector<Plan> plan_;
  std::vector<PhaseTime> times_;
  AnalysisUse analysisUse_;
};

/// Whether a module phase runs with these options at this -O level.
bool runsModulePhase(const PipelineOptions& options, const ModulePhase& phase, unsigned optLevel);

/// Whether a list of phases contains the module phase, by number, name or "all".
bool namesModulePhase(const std::vector<std::string>& list, const ModulePhase& phase);

/// Writes a dump around a module phase: to a file named after the phase and `subject` in PipelineOptions::dumpDir, or
/// else to PipelineOptions::dump. `when` is "before" or "after"; `suffix` of the file: "ptx" or "ori". Throws
/// orias::Error if the file cannot be written.
void dumpModule(const PipelineOptions& options, const ModulePhase& phase, std::string_view when,
                std::string_view subject, std::string_view suffix, const std::string& text);

/// The name of a stage in the table of --list-phases.
std::string_view stageName(Stage stage);

/// The table of --list-phases.
std::string listPhases();

/// The table of --time-phases: processor time per phase over all functions, with shares.
std::string renderTimes(const std::vector<ModulePhaseTime>& ofModules,
                        const std::vector<std::vector<PhaseTime>>& perFunction);

/// The second table of --time-phases: how often each analysis was requested and computed, and which phases made it
/// stale.
std::string renderAnalyses(const std::vector<AnalysisUse>& perFunction);

/// The lines that differ between two texts, prefixed by "-" and "+", with their block labels.
std::string lineDiff(std::string_view before, std::string_view after);

} // namespace orias::phases
