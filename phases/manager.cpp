#include "phases/manager.h"

#include "encoder/isa/target.h"
#include "ori/print.h"
#include "ori/verify.h"
#include "phases/phase_switches.h"
#include "support/check.h"
#include "support/diagnostics.h"
#include "support/nearest.h"
#include "support/processor_time.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>

namespace orias::phases {

namespace {

/// Returns for example "030-101-AllocateRegisters": the position in `phases`, after `before` others, then number and
/// name. File names sort in the order in which the phases run.
template <typename Phase> std::string fileStem(std::span<const Phase> phases, const Phase& phase, std::size_t before) {
  const auto position = static_cast<std::size_t>(&phase - phases.data());
  return fmt::format("{:03}-{}-{}", before + position, phase.number, phase.name);
}

void writeDumpFile(const PipelineOptions& options, const std::string& fileName, const std::string& text) {
  std::error_code ignored; // a failure shows when the file is written
  std::filesystem::create_directories(options.dumpDir, ignored);
  const std::string path = fmt::format("{}/{}", options.dumpDir, fileName);
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file) throw Error(fmt::format("cannot write the dump '{}'", path));
}

/// A function's name as part of a file name.
std::string fileNamePart(std::string_view name) {
  std::string out(name.substr(0, 100));
  for (char& c : out)
    if (!(c == '_' || c == '$' || c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
          (c >= 'A' && c <= 'Z')))
      c = '_';
  return out;
}

bool contains(const std::vector<const PhaseInfo*>& list, const PhaseInfo* phase) {
  return std::find(list.begin(), list.end(), phase) != list.end();
}

/// The function phases among the given names.
std::vector<const PhaseInfo*> resolve(const std::vector<std::string>& names) {
  std::vector<const PhaseInfo*> out;
  for (const std::string& name : names) {
    if (sameText(name, "all")) {
      for (const PhaseInfo& phase : pipeline())
        out.push_back(&phase);
    } else if (!findModulePhase(name)) {
      out.push_back(&requirePhase(name));
    }
  }
  return out;
}

} // namespace

const PhaseInfo* findPhase(std::string_view numberOrName) {
  // A number may have leading zeros, as in the names of dump files.
  std::string_view bare = numberOrName;
  while (bare.size() > 1 && bare.front() == '0' && bare[1] >= '0' && bare[1] <= '9')
    bare.remove_prefix(1);
  for (const PhaseInfo& phase : pipeline())
    if (sameText(phase.number, bare) || sameText(phase.name, numberOrName)) return &phase;
  return nullptr;
}

const PhaseInfo& requirePhase(std::string_view numberOrName) {
  if (const PhaseInfo* phase = findPhase(numberOrName)) return *phase;
  NearestName nearest(numberOrName);
  for (const PhaseInfo& phase : pipeline())
    nearest.offer(phase.name);
  for (const ModulePhase& phase : modulePhases())
    nearest.offer(phase.name);
  throw Error(nearest.best().empty()
                  ? fmt::format("unknown phase '{}'; --list-phases lists them", numberOrName)
                  : fmt::format("unknown phase '{}'; did you mean '{}'?", numberOrName, nearest.best()));
}

PhaseManager::PhaseManager(const PipelineOptions& options) : options_(options) {
  std::vector<const PhaseInfo*> before = resolve(options.dumpBefore);
  std::vector<const PhaseInfo*> after = resolve(options.dumpAfter);
  std::vector<const PhaseInfo*> disabled = resolve(options.disabled);
  for (const PhaseInfo* phase : disabled)
    if (!phase->optional)
      throw Error(fmt::format("phase {} {} cannot be disabled: the code needs it", phase->number, phase->name));
  for (const std::string& name : options.disabled)
    if (const ModulePhase* phase = findModulePhase(name); phase && !phase->isOptional)
      throw Error(fmt::format("phase {} {} cannot be disabled: the code needs it", phase->number, phase->name));
  for (const std::string& name : {options.startFrom, options.stopAfter})
    if (const ModulePhase* phase = findModulePhase(name))
      throw Error(fmt::format("phase {} {} works on modules: start and stop at a phase of functions", phase->number,
                              phase->name));
  const PhaseInfo* start = options.startFrom.empty() ? nullptr : &requirePhase(options.startFrom);
  const PhaseInfo* stop = options.stopAfter.empty() ? nullptr : &requirePhase(options.stopAfter);
  for (const PhaseInfo& phase : pipeline()) {
    bool run = (!start || &phase >= start) && (!stop || &phase <= stop) && !contains(disabled, &phase);
    plan_.push_back({&phase, contains(before, &phase), contains(after, &phase), run});
  }
  if (options.swapped.size() % 2 != 0)
    throw Error(fmt::format("phase '{}' has no partner to change places with", options.swapped.back()));
  for (std::size_t i = 0; i + 1 < options.swapped.size(); i += 2)
    swapPhases(options.swapped[i], options.swapped[i + 1]);
}

/// Swaps two phases. Mandatory phases change the form of the code (SSA form, whole or split pairs, registers), so none
/// may be moved, and no phase may be moved across one.
void PhaseManager::swapPhases(const std::string& first, const std::string& second) {
  const auto positionOf = [&](const std::string& name) {
    if (const ModulePhase* phase = findModulePhase(name))
      throw Error(fmt::format("phase {} {} works on modules: only phases of functions can be swapped", phase->number,
                              phase->name));
    const PhaseInfo* phase = &requirePhase(name);
    return std::find_if(plan_.begin(), plan_.end(), [&](const Plan& plan) { return plan.phase == phase; });
  };
  auto a = positionOf(first), b = positionOf(second);
  if (b < a) std::swap(a, b);
  const auto needed = std::find_if(a, b + 1, [](const Plan& plan) { return !plan.phase->optional; });
  if (needed <= b)
    throw Error(fmt::format("phases {} and {} cannot be swapped: the code needs phase {} {} at its position",
                            a->phase->number, b->phase->number, needed->phase->number, needed->phase->name));
  std::iter_swap(a, b);
}

/// Times a phase, writes dumps before and after it, and verifies on exit.
class PhaseManager::PhaseScope {
 public:
  PhaseScope(PhaseManager& manager, const Plan& plan, ori::Function& function, PhaseContext& context)
      : manager_(manager), plan_(plan), function_(function), context_(context) {
    function.setCurrentPhase(static_cast<std::uint16_t>(plan.phase - pipeline().data()));
    function.analyses().dropStale();
    context.remarks.setPhase(plan.phase->number);
    if (plan.dumpBefore) manager.emitDump(*plan.phase, function, "before", ori::print(function));
    if (manager.options_.verifyEach || manager.options_.printChanged) textBefore_ = ori::print(function);
  }

  void run() {
    const bool isTimed = manager_.options_.timePhases;
    const auto start = isTimed ? threadTime() : std::chrono::nanoseconds{};
    bool changed = plan_.phase->run(function_, context_);
    if (changed) function_.noteValueChange(); // also for changed modifiers, which are not counted otherwise
    manager_.times_.push_back({plan_.phase, isTimed ? threadTime() - start : start, changed});
    if (manager_.options_.afterPhase) manager_.options_.afterPhase(*plan_.phase, function_, changed);
    if (manager_.options_.printChanged) showChanges();
    if (plan_.dumpAfter) manager_.emitDump(*plan_.phase, function_, "after", ori::print(function_));
    if (manager_.options_.verifyEach) verify();
  }

 private:
  void showChanges() {
    std::string diff = lineDiff(textBefore_, ori::print(function_));
    if (!diff.empty() && manager_.options_.dump)
      manager_.options_.dump(
          fmt::format("// {}: changed by {} {}\n{}", function_.name(), plan_.phase->number, plan_.phase->name, diff));
  }

  void verify() {
    const std::vector<ori::VerifyError> faults = ori::verify(function_);
    if (!ori::hasErrors(faults)) return;
    throw InternalError(fmt::format("phase {} {} broke function '{}':\n{}\nbefore it the function was:\n{}",
                                    plan_.phase->number, plan_.phase->name, function_.name(), ori::render(faults),
                                    textBefore_));
  }

  PhaseManager& manager_;
  const Plan& plan_;
  ori::Function& function_;
  PhaseContext& context_;
  std::string textBefore_;
};

bool PhaseManager::run(ori::Function& function, PhaseContext& context) {
  ori::Analyses& analyses = function.analyses();
  analyses.setVerified(options_.verifyEach || context.knobs.enabled(Knob::VerifyAnalyses));
  const PhaseSwitches switches(context.knobs);
  for (const Plan& plan : plan_) {
    if (!plan.run || context.optLevel < plan.phase->lowestO || context.optLevel > plan.phase->highestO) continue;
    if (switches.turnOff(plan.phase->number)) continue;
    PhaseScope(*this, plan, function, context).run();
    if (context.diagnostics.hasErrors()) return false;
  }
  for (std::size_t kind = 0; kind < ori::kAnalysisCount; ++kind)
    analysisUse_.asked[kind] = analyses.asked(static_cast<ori::AnalysisKind>(kind));
  analysisUse_.builds = analyses.builds();
  analyses.clear();
  return options_.stopAfter.empty() || &requirePhase(options_.stopAfter) == &pipeline().back();
}

void PhaseManager::emitDump(const PhaseInfo& phase, const ori::Function& function, std::string_view when,
                            const std::string& text) {
  if (options_.dumpDir.empty()) {
    if (options_.dump)
      options_.dump(fmt::format("// {} {} {}: {}\n{}", when, phase.number, phase.name, function.name(), text));
    return;
  }
  writeDumpFile(options_,
                fmt::format("{}{}.{}.ori", fileStem(pipeline(), phase, modulePhases().size()),
                            when == "before" ? ".before" : "", fileNamePart(function.name())),
                text);
}

bool runsModulePhase(const PipelineOptions& options, const ModulePhase& phase, unsigned optLevel) {
  return options.startFrom.empty() && !namesModulePhase(options.disabled, phase) && optLevel >= phase.lowestO &&
         optLevel <= phase.highestO;
}

bool namesModulePhase(const std::vector<std::string>& list, const ModulePhase& phase) {
  return std::any_of(list.begin(), list.end(),
                     [&](const std::string& name) { return sameText(name, "all") || findModulePhase(name) == &phase; });
}

void dumpModule(const PipelineOptions& options, const ModulePhase& phase, std::string_view when,
                std::string_view subject, std::string_view suffix, const std::string& text) {
  if (!options.dumpDir.empty())
    writeDumpFile(options,
                  fmt::format("{}{}.{}.{}", fileStem(modulePhases(), phase, 0), when == "before" ? ".before" : "",
                              fileNamePart(subject), suffix),
                  text);
  else if (options.dump)
    options.dump(fmt::format("// {} {} {}: {}\n{}", when, phase.number, phase.name, subject, text));
}

namespace {

std::string listLine(const auto& phase, bool isOptional) {
  const std::string levels = phase.highestO < 4 ? fmt::format("O{}-O{}", phase.lowestO, phase.highestO)
                             : phase.lowestO    ? fmt::format("O{}+", phase.lowestO)
                                                : "always";
  return fmt::format("  {:>4} {:<30} {:<7} {:<9} {}\n", phase.number, phase.name, levels,
                     isOptional ? "optional" : "needed", phase.why);
}

} // namespace

std::string_view stageName(Stage stage) {
  switch (stage) {
  case Stage::Setup: return "setup";
  case Stage::EarlyOptimisation: return "early optimization";
  case Stage::Middle: return "middle";
  case Stage::LateOptimisation: return "late optimization";
  case Stage::Legalisation: return "legalization";
  case Stage::SchedulingAndRegisters: return "scheduling and registers";
  case Stage::PostAllocation: return "post-allocation";
  case Stage::Control: return "control information";
  case Stage::Layout: return "layout";
  case Stage::Words: return "machine code";
  }
  return "";
}

std::string listPhases() {
  std::string out;
  for (const bool isBefore : {true, false}) {
    out += isBefore ? "modules, before the phases of functions\n" : "modules, after the phases of all functions\n";
    for (const ModulePhase& phase : modulePhases())
      if (phase.isBeforeFunctions == isBefore) out += listLine(phase, phase.isOptional);
  }
  Stage stage{};
  for (const PhaseInfo& phase : pipeline()) {
    if (phase.stage != stage) {
      stage = phase.stage;
      out += fmt::format("stage {}: {}\n", static_cast<unsigned>(stage), stageName(stage));
    }
    out += listLine(phase, phase.optional);
  }
  return out;
}

std::string renderTimes(const std::vector<ModulePhaseTime>& ofModules,
                        const std::vector<std::vector<PhaseTime>>& perFunction) {
  std::map<const PhaseInfo*, std::pair<std::chrono::nanoseconds, unsigned>> totals;
  std::chrono::nanoseconds all{0};
  for (const auto& times : perFunction)
    for (const PhaseTime& t : times) {
      totals[t.phase].first += t.time;
      totals[t.phase].second += t.changed;
      all += t.time;
    }
  for (const ModulePhaseTime& t : ofModules)
    all += t.time;
  std::string out = fmt::format("{:>4} {:<30} {:>10} {:>7} {:>8}\n", "#", "phase", "ms", "share", "changed");
  const auto line = [&](std::string_view number, std::string_view name, std::chrono::nanoseconds time,
                        const std::string& changed) {
    const auto milliseconds = static_cast<double>(time.count()) / 1e6;
    const double share = all.count() ? 100.0 * static_cast<double>(time.count()) / static_cast<double>(all.count()) : 0;
    out += fmt::format("{:>4} {:<30} {:>10.3f} {:>6.1f}% {:>8}\n", number, name, milliseconds, share, changed);
  };
  for (const ModulePhaseTime& t : ofModules)
    line(t.phase->number, t.phase->name, t.time, "-");
  for (const auto& [phase, total] : totals)
    line(phase->number, phase->name, total.first, fmt::format("{}", total.second));
  out += fmt::format("{:>4} {:<30} {:>10.3f}\n", "", "total", static_cast<double>(all.count()) / 1e6);
  return out;
}

std::string renderAnalyses(const std::vector<AnalysisUse>& perFunction) {
  struct Row {
    unsigned asked = 0, computed = 0, first = 0;
    std::map<std::uint16_t, unsigned> outdatedBy; // by index in the pipeline
  };
  std::array<Row, ori::kAnalysisCount> rows;
  for (const AnalysisUse& use : perFunction) {
    for (std::size_t kind = 0; kind < rows.size(); ++kind)
      rows[kind].asked += use.asked[kind];
    for (const ori::Analyses::Build& build : use.builds) {
      Row& row = rows[static_cast<std::size_t>(build.kind)];
      ++row.computed;
      if (build.isFirst)
        ++row.first;
      else
        ++row.outdatedBy[build.changedPhase];
    }
  }
  std::string out = fmt::format("{:<17} {:>7} {:>8} {:>6}  {}\n", "analysis", "asked", "computed", "first",
                                "recomputed after a change by phase (times)");
  for (std::size_t kind = 0; kind < rows.size(); ++kind) {
    const Row& row = rows[kind];
    std::string why;
    for (const auto& [phase, times] : row.outdatedBy)
      why += fmt::format(" {}({})", phase < pipeline().size() ? pipeline()[phase].number : "?", times);
    out += fmt::format("{:<17} {:>7} {:>8} {:>6} {}\n", ori::analysisName(static_cast<ori::AnalysisKind>(kind)),
                       row.asked, row.computed, row.first, why);
  }
  return out;
}

} // namespace orias::phases
