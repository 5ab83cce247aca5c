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
  std::string dumpDir;       ///< dumps go to files NNN-Name.<function>.ori here; empty: to `dump`
  bool printChanged = false; ///< after each phase that changed something, the changed lines
  std::string stopAfter;     ///< later phases do not run
  std::vector<std::string> disabled;
  std::vector<std::string> swapped; ///< the 1st runs in place of the 2nd and vice versa, the 3rd of the 4th, ...
  std::string startFrom;            ///< the phases before this one do not run
  /// Verify after every phase, and compare each kept analysis that a phase asks for with a new one; a failure throws
  /// InternalError, that of a phase with the dump from before.
  bool verifyEach = false;
  /// Measure each phase. Reading the processor's clock is a system call: a twentieth of the time of a small file.
  bool timePhases = false;
  std::function<void(const std::string&)> dump; ///< takes dump text when there is no dumpDir
  /// Called after every phase that ran, with whether it says that it changed something; before the verifier. For tools
  /// that look at the function between the phases; tests inject bugs through it.
  std::function<void(const PhaseInfo&, ori::Function&, bool changed)> afterPhase;
};

struct PhaseTime {
  const PhaseInfo* phase;
  std::chrono::nanoseconds time{0}; ///< of the processor; 0 unless PipelineOptions::timePhases
  bool changed = false;
};

/// What the phases of one function asked of its analyses.
struct AnalysisUse {
  std::array<unsigned, ori::kAnalysisCount> asked{}; ///< by ori::AnalysisKind
  std::vector<ori::Analyses::Build> builds;
};

struct ModulePhaseTime {
  const ModulePhase* phase;
  std::chrono::nanoseconds time{0}; ///< of the processor
};

/// Runs the pipeline on a function. Throws orias::Error for options that name unknown phases, disable one that the code
/// needs, or swap phases that cannot change places; InternalError when a phase breaks the function.
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

/// Does a phase of modules run with these options at this -O level?
bool runsModulePhase(const PipelineOptions& options, const ModulePhase& phase, unsigned optLevel);

/// Is the phase of modules named in a list of phases, by number, name or "all"?
bool namesModulePhase(const std::vector<std::string>& list, const ModulePhase& phase);

/// Writes a dump around a phase of modules: to a file named after the phase and `subject` in PipelineOptions::dumpDir,
/// else to PipelineOptions::dump. `when` is "before" or "after"; `suffix` of the file: "ptx" or "ori". Throws
/// orias::Error if the file cannot be written.
void dumpModule(const PipelineOptions& options, const ModulePhase& phase, std::string_view when,
                std::string_view subject, std::string_view suffix, const std::string& text);

/// As the table of --list-phases has it.
std::string_view stageName(Stage stage);

/// The table of --list-phases.
std::string listPhases();

/// The table of --time-phases: processor time per phase over all functions, with shares.
std::string renderTimes(const std::vector<ModulePhaseTime>& ofModules,
                        const std::vector<std::vector<PhaseTime>>& perFunction);

/// The second table of --time-phases: how often each analysis was asked for and computed, and after which phases it was
/// out of date.
std::string renderAnalyses(const std::vector<AnalysisUse>& perFunction);

/// The lines that differ between two texts, prefixed by "-" and "+", with their block labels.
std::string lineDiff(std::string_view before, std::string_view after);

} // namespace orias::phases
