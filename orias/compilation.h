#pragma once

#include "frontend/growing_forms.h"
#include "frontend/lower/lower.h"
#include "frontend/module_phases/memory_space_opt.h"
#include "orias/cubin_module.h"
#include "orias/knob_sections.h"
#include "orias/module_remarks.h"
#include "orias/orias.h"
#include "phases/manager.h"
#include "support/diagnostics.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orias {

class FunctionJob;

namespace isa {
class Target;
}
namespace ori {
class Module;
}
namespace ptx {
struct Module;
}

/// One run of the assembler, from the input texts to the cubin. It has all state; there are no globals.
class Compilation {
 public:
  /// `inputs` and `options` must outlive this object. Throws orias::Error for an unknown architecture, phase or
  /// knob.
  Compilation(std::span<const Input> inputs, const Options& options);
  ~Compilation();
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  /// Calls the observer for each function after each phase (PipelineOptions::afterPhase); if there are several threads,
  /// from several threads.
  void observePhases(decltype(phases::PipelineOptions::afterPhase) observer) {
    pipeline_.afterPhase = std::move(observer);
  }

  /// Calls the observer for each PTX module after each module phase on PTX; the flag tells whether the phase changed
  /// something. Tests inject bugs through it.
  using ModuleObserver = std::function<void(const phases::ModulePhase&, ptx::Module&, bool changed)>;
  void observeModules(ModuleObserver observer) { afterModulePhase_ = std::move(observer); }

  /// With -c: links the object to a program, so that it can be run, unless it has undefined symbols.
  void linkObject() { linksObject_ = true; }

  /// Measures the processor time of each phase (FunctionJob::times).
  void timePhases() { pipeline_.timePhases = true; }

  /// Records the explanations of all registers (FunctionJob::registerAccounts).
  void keepRegisterAccounts() { keepsAccounts_ = true; }

  /// The functions keep their instructions, for tools that show these after run().
  void keepCode() { keepsCode_ = true; }

  /// Runs the whole compilation; to be called once.
  Result run();

  // --- after run(), for tools that show the compilation
  /// The functions, in the order of the inputs.
  std::span<const std::unique_ptr<FunctionJob>> jobs() const { return jobs_; }
  std::span<const ModuleRemark> moduleRemarks() const { return moduleRemarks_; }

 private:
  struct Source {
    const Input* input;
    Diagnostics diags;
    std::unique_ptr<ptx::Module> ptx;
    std::unique_ptr<ori::Module> ori;
    std::unique_ptr<ptx::GrowingForms> forms{}; ///< of `ptx`, for the phases that work on it
    ptx::WarnedPlaces warned{};
    std::set<std::pair<std::uint32_t, std::string>> keptGeneric{}; ///< remarks on generic accesses, by line
  };

  /// Adds the time that `work` takes to Result::times.
  template <typename Work> void stage(const char* name, Work&& work);

  /// Whether the module phase runs.
  bool runs(std::string_view phase) const;
  /// Runs `work` as a module phase, if that is enabled, and measures its time.
  template <typename Work> void modulePhase(std::string_view phase, Work&& work);
  /// The dump options of a module phase, if a dump is requested at `when` ("before", "after").
  std::optional<phases::PipelineOptions> dumpOptions(std::string_view phase, std::string_view when);
  /// Dumps the functions as Ori text, if a dump of the module phase is requested at `when` ("before", "after").
  void dumpFunctions(std::string_view phase, std::string_view when);
  void dumpPtx(std::string_view phase, std::string_view when);

  void parse();
  void settleInputs();
  void settleDebugging();
  void check();
  void resolveSpaces(std::string_view phase, bool followsCalls);
  /// Runs a module phase on PTX, with dumps, remarks and observers. `work` gets a source and returns a
  /// ptx::ModulePhaseResult.
  template <typename Work> void ptxPhase(std::string_view phase, Work&& work);
  void guardTensorMemory();
  void lower();
  void settleLaunches();
  void chooseFunctions();
  void runPhases();
  void writeCubin();
  void report();
  void printKernelInfo();
  void defineUnresolved(Source& source);
  cubin::Module describe(std::span<CodedFunction* const> functions);
  std::string listing() const;
  bool hasErrors() const;
  void collectDiagnostics();

  Options options_;
  const isa::Target* target_ = nullptr;
  bool checkOnly_ = false;
  bool linksInputs_ = false; ///< several inputs are compiled to objects and linked
  KnobSections knobSections_;
  const phases::Knobs& knobs_; ///< for all functions
  phases::PipelineOptions pipeline_;
  std::vector<Source> sources_;
  ModuleObserver afterModulePhase_;
  bool linksObject_ = false;
  bool keepsAccounts_ = false;
  bool keepsCode_ = false;
  std::vector<phases::ModulePhaseTime> moduleTimes_;
  std::vector<ModuleRemark> moduleRemarks_;
  /// The resources of each kernel together with its callees, by name, if functions are not inlined.
  struct KernelNeeds {
    unsigned registers = 0, barriers = 0, sharedBytes = 0;
    bool hasUnknownStack = false;
  };
  std::map<std::string, KernelNeeds> kernelNeeds_;
  std::vector<std::unique_ptr<FunctionJob>> jobs_; ///< in the order of the inputs
  Result result_;
};

} // namespace orias
