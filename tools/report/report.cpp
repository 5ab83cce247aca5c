#include "tools/report/report.h"

#include "encoder/isa/print.h"
#include "encoder/listing.h"
#include "frontend/parse.h"
#include "frontend/print.h"
#include "ori/module.h"
#include "orias/compilation.h"
#include "orias/function_job.h"
#include "phases/manager.h"
#include "support/check.h"
#include "tools/emulator/emulator.h"
#include "tools/report/machine_code.h"
#include "tools/report/page.h"
#include "tools/report/states.h"

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

namespace orias::report {

using nlohmann::ordered_json;

namespace {

constexpr unsigned kVersion = 1; ///< of the schema
/// Larger source files are not included in the report.
constexpr std::uintmax_t kMaxSourceBytes = 4 << 20;

double milliseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

/// Observes all functions while they are compiled.
class Watcher {
 public:
  explicit Watcher(std::span<const Input> inputs) : inputs_(inputs) {}

  /// The list of phases in the report: those of modules, lowering, those of functions.
  ordered_json phases() const {
    ordered_json all = ordered_json::array();
    for (const phases::ModulePhase& phase : phases::modulePhases())
      if (phase.isBeforeFunctions) all.push_back(phaseJson(phase.number, phase.name, "modules", phase.why));
    all.push_back(phaseJson("", "Lowering", "modules", "PTX becomes the machine IR"));
    for (const phases::PhaseInfo& phase : phases::pipeline())
      all.push_back(phaseJson(phase.number, phase.name, phases::stageName(phase.stage), phase.why));
    return all;
  }

  void afterModulePhase(const phases::ModulePhase& phase, ptx::Module& module, bool hasChanged) {
    if (!begun_.contains(&module)) {
      // Modules come in the order of the inputs; their initial state is only in the text.
      const Input& input = inputs_[begun_.size()];
      begun_.insert(&module);
      Diagnostics ignored(input.name, input.text);
      if (const auto first = ptx::parse(input.text, ignored)) addPtx(States::kAsRead, *first, false);
    }
    addPtx(indexOf(phase), module, hasChanged);
  }

  void afterPhase(const phases::PhaseInfo& phase, const ori::Function& function, bool hasChanged) {
    States& states = statesOf(function.name());
    const std::size_t index = firstOfFunctions() + static_cast<std::size_t>(&phase - phases::pipeline().data());
    if (&phase == &phases::pipeline().front() && !hasChanged) states.addOri(firstOfFunctions() - 1, function, true);
    states.addOri(index, function, hasChanged);
  }

  States& statesOf(const std::string& function) {
    const std::lock_guard lock(mutex_);
    return states_[function];
  }

  /// The index in the report's list of phases.
  static std::size_t indexOf(const phases::ModulePhase& phase) {
    std::size_t index = 0;
    for (const phases::ModulePhase& other : phases::modulePhases()) {
      if (&other == &phase) break;
      index += other.isBeforeFunctions;
    }
    return index;
  }
  static std::size_t firstOfFunctions() {
    return 1 + static_cast<std::size_t>(
                   std::ranges::count_if(phases::modulePhases(), &phases::ModulePhase::isBeforeFunctions));
  }
  static std::optional<std::size_t> find(std::string_view number) {
    if (const phases::ModulePhase* phase = phases::findModulePhase(number))
      return phase->isBeforeFunctions ? std::optional(indexOf(*phase)) : std::nullopt;
    const phases::PhaseInfo* phase = phases::findPhase(number);
    if (!phase) return std::nullopt;
    return firstOfFunctions() + static_cast<std::size_t>(phase - phases::pipeline().data());
  }

 private:
  static ordered_json phaseJson(std::string_view number, std::string_view name, std::string_view stage,
                                std::string_view why) {
    return {{"number", number}, {"name", name}, {"stage", stage}, {"why", why}};
  }
  void addPtx(std::size_t phase, const ptx::Module& module, bool hasChanged) {
    for (const ptx::Function& function : module.functions)
      if (function.hasBody)
        statesOf(std::string(module.text(function.name))).addPtx(phase, ptx::print(module, function), hasChanged);
  }

  std::span<const Input> inputs_;
  std::set<const ptx::Module*> begun_;
  std::map<std::string, States> states_; ///< by function
  std::mutex mutex_;
};

ordered_json remarksOf(const FunctionJob& job, std::span<const ModuleRemark> ofModules) {
  ordered_json all = ordered_json::array();
  const auto add = [&](std::string_view phase, bool done, const std::string& message, std::int64_t cost,
                       std::uint32_t line) {
    ordered_json remark = {{"number", phase}, {"done", done}, {"message", message}, {"cost", cost}, {"line", line}};
    if (const auto index = Watcher::find(phase)) remark["phase"] = *index;
    all.push_back(std::move(remark));
  };
  for (const ModuleRemark& r : ofModules)
    if (r.function == job.function().name()) add(r.phase, r.done, r.message, r.cost, r.line);
  for (const phases::Remark& r : job.remarks().all())
    add(r.phase, r.done, r.message, r.cost, r.ptxLine);
  return all;
}

ordered_json whyOf(const FunctionJob& job) {
  const phases::RegisterAccounts& accounts = job.registerAccounts();
  ordered_json values = ordered_json::array();
  for (const phases::ValueAccount& value : accounts.values)
    values.push_back({{"name", value.name},
                      {"ori", value.oriName},
                      {"file", isa::fileName(value.file)},
                      {"uniform", value.isUniform},
                      {"ids", value.instructions},
                      {"text", value.text}});
  return {{"peaks", accounts.peaks}, {"values", std::move(values)}};
}

ordered_json figuresOf(const FunctionJob& job, const FunctionReport& report) {
  return {{"registers", report.registers},
          {"uniformRegisters", report.uniformRegisters},
          {"predicates", job.function().stats.predicates},
          {"barriers", report.barriers},
          {"instructions", report.instructions},
          {"codeBytes", job.code().byteSize()},
          {"sharedBytes", report.sharedBytes},
          {"constantBytes", report.constantBytes},
          {"frameBytes", report.frameBytes},
          {"spillStoreBytes", report.spillStoreBytes},
          {"spillLoadBytes", report.spillLoadBytes},
          {"rematerialized", report.rematerialised},
          {"milliseconds", report.milliseconds}};
}

/// The text of a source file, if it exists: by its name, or next to the input.
std::optional<std::string> sourceText(const std::string& name, const std::string& input) {
  namespace fs = std::filesystem;
  for (const fs::path& path : {fs::path(name), fs::path(input).parent_path() / name}) {
    std::error_code error;
    if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kMaxSourceBytes) continue;
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (file) return text.str();
  }
  return std::nullopt;
}

/// The inputs, and the source files of their `.loc` directives.
ordered_json inputsJson(std::span<const Input> inputs, std::span<const std::unique_ptr<FunctionJob>> jobs) {
  ordered_json all = ordered_json::array();
  for (const Input& input : inputs) {
    ordered_json sources = ordered_json::array(), locs = ordered_json::array();
    for (const auto& job : jobs) {
      if (job->text().data() != input.text.data()) continue;
      const ori::Module& module = job->function().module();
      for (const std::string& name : module.files) {
        const auto text = module.locs.empty() ? std::nullopt : sourceText(name, input.name);
        sources.push_back({{"name", name}, {"text", text ? ordered_json(*text) : ordered_json()}});
      }
      for (const ori::LocEntry& loc : module.locs)
        locs.push_back({loc.file, loc.line});
      break; // all functions of an input belong to one module
    }
    all.push_back(
        {{"name", input.name}, {"text", input.text}, {"sources", std::move(sources)}, {"locs", std::move(locs)}});
  }
  return all;
}

/// Runs the launch, and adds "run" to the launched function.
void addRun(const std::string& launchFile, const Result& result, ordered_json& functions,
            std::vector<std::string>& problems) {
  const launch::Launch launch = launch::readLaunchFile(launchFile);
  const auto function =
      std::ranges::find_if(functions, [&](const ordered_json& f) { return f["name"] == launch.kernel; });
  if (function == functions.end())
    throw Error(fmt::format("'{}' launches '{}', which is not among the kernels", launchFile, launch.kernel));
  const emu::Program program = emu::loadCubin(result.cubin, launch.kernel);
  launch::Device device(launch);
  launch::RunOptions options;
  options.stats = options.profile = options.fullMachine = true;
  const launch::RunResult run = emu::run(program, device, options);
  if (!run.completed)
    problems.push_back(fmt::format("the launch of '{}' did not complete: {}", launch.kernel,
                                   run.reports.empty() ? "" : run.reports.front().text));
  ordered_json figures = ordered_json::array(), executed = ordered_json::array(), lanes = ordered_json::array(),
               scoreboards = ordered_json::array(), stalls = ordered_json::array(), barriers = ordered_json::array();
  for (const auto& [name, figure] : run.stats)
    figures.push_back({name, figure});
  const std::size_t count = (*function)["code"]["text"].size();
  for (std::size_t i = 0; i < std::min(count, run.profile.size()); ++i) {
    const launch::InstructionProfile& p = run.profile[i];
    executed.push_back(p.executed);
    lanes.push_back(p.lanes);
    scoreboards.push_back(p.scoreboardStalls);
    stalls.push_back(p.fixedStalls);
    barriers.push_back(p.barrierStalls);
  }
  const auto dim = [](const launch::Dim3& d) { return ordered_json{d.x, d.y, d.z}; };
  (*function)["run"] = {{"launch", std::filesystem::path(launchFile).filename().string()},
                        {"completed", run.completed},
                        {"grid", dim(launch.grid)},
                        {"block", dim(launch.block)},
                        {"figures", std::move(figures)},
                        {"executed", std::move(executed)},
                        {"lanes", std::move(lanes)},
                        {"scoreboardStalls", std::move(scoreboards)},
                        {"fixedStalls", std::move(stalls)},
                        {"barrierStalls", std::move(barriers)}};
}

} // namespace

Reported assembleWithReport(std::span<const Input> inputs, const Options& given, const ReportOptions& report) {
  Options options = given;
  options.wantListing = options.wantRemarks = true;
  Compilation compilation(inputs, options);
  Watcher watcher(inputs);
  compilation.keepRegisterAccounts();
  compilation.keepCode();
  compilation.timePhases();
  compilation.observePhases([&](const phases::PhaseInfo& phase, ori::Function& function, bool changed) {
    watcher.afterPhase(phase, function, changed);
  });
  compilation.observeModules([&](const phases::ModulePhase& phase, ptx::Module& module, bool changed) {
    watcher.afterModulePhase(phase, module, changed);
  });
  Reported reported{compilation.run(), {}, {}};
  if (reported.result.status != Status::Ok) return reported;

  ordered_json functions = ordered_json::array();
  std::size_t number = 0; // of the report
  for (const auto& job : compilation.jobs()) {
    if (job->isLeftOut()) continue;
    const FunctionReport& figures = reported.result.statistics.functions[number++];
    if (!job->code().listing) continue; // compilation stopped after a phase
    const std::string& name = job->function().name();
    States& states = watcher.statesOf(name);
    for (const phases::PhaseTime& time : job->times())
      states.setTime(Watcher::firstOfFunctions() + static_cast<std::size_t>(time.phase - phases::pipeline().data()),
                     milliseconds(time.time));
    const auto input =
        std::ranges::find_if(inputs, [&](const Input& i) { return i.text.data() == job->text().data(); });
    functions.push_back({{"name", name},
                         {"kernel", job->function().isKernel()},
                         {"input", input - inputs.begin()},
                         {"figures", figuresOf(*job, figures)},
                         {"occupancy", occupancyJson(*job)},
                         {"code", machineCodeJson(*job)},
                         {"history", states.json()},
                         {"remarks", remarksOf(*job, compilation.moduleRemarks())},
                         {"why", whyOf(*job)}});
  }
  if (!report.launchFile.empty()) addRun(report.launchFile, reported.result, functions, reported.problems);
  const ordered_json document = {{"format", "orias-report"},         {"version", kVersion},
                                 {"command", report.command},        {"arch", given.arch},
                                 {"phases", watcher.phases()},       {"inputs", inputsJson(inputs, compilation.jobs())},
                                 {"functions", std::move(functions)}};
  reported.report = report.format == Format::Json ? jsonText(document) : kernelPage(document);
  return reported;
}

} // namespace orias::report
