#include "orias/compilation.h"

#include "encoder/cubin/cubin.h"
#include "encoder/isa/target.h"
#include "frontend/check.h"
#include "frontend/lower/lower.h"
#include "frontend/module_phases/alloca_hoisting.h"
#include "frontend/module_phases/cdp_launch.h"
#include "frontend/module_phases/memory_space_opt.h"
#include "frontend/module_phases/param_opt.h"
#include "frontend/module_phases/pretreat.h"
#include "frontend/module_phases/tensor_guards.h"
#include "frontend/parse.h"
#include "frontend/print.h"
#include "ori/parse.h"
#include "ori/print.h"
#include "orias/call_order.h"
#include "orias/combine.h"
#include "orias/debug_sections.h"
#include "orias/function_facts.h"
#include "orias/function_guards.h"
#include "orias/function_job.h"
#include "orias/kernel_info.h"
#include "orias/launch_limits.h"
#include "orias/line_tables.h"
#include "orias/lower_options.h"
#include "orias/remarks_json.h"
#include "orias/symbol_resolution.h"
#include "orias/whole_program.h"
#include "support/check.h"
#include "support/nearest.h"
#include "support/parallel.h"
#include "support/processor_time.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <unordered_set>

namespace orias {

namespace {

/// Whether the same warning exists for the line.
bool hasWarned(const Diagnostics& before, const Diagnostic& d) {
  return std::ranges::any_of(before.all(), [&](const Diagnostic& other) {
    return other.loc.line == d.loc.line && other.message == d.message;
  });
}

/// The diagnostics to show: without warnings, or with warnings as errors, if requested.
/// Omits warnings in `before`: M6 and M8 see the same operations.
void addFiltered(Diagnostics& shown, const Diagnostics& all, const Options& options,
                 const Diagnostics* before = nullptr) {
  for (const Diagnostic& d : all.all()) {
    switch (d.severity) {
    case Severity::Error: shown.error(d.loc, d.message, d.hint); break;
    case Severity::Warning:
      if (options.disableWarnings || (before && hasWarned(*before, d))) break;
      if (options.warningsAreErrors)
        shown.error(d.loc, d.message, d.hint);
      else
        shown.warning(d.loc, d.message, d.hint);
      break;
    case Severity::Note:
    case Severity::Remark: shown.note(d.loc, d.message); break;
    }
  }
}

Message::Kind messageKind(Severity severity) {
  switch (severity) {
  case Severity::Error: return Message::Kind::Error;
  case Severity::Warning: return Message::Kind::Warning;
  case Severity::Note:
  case Severity::Remark: break;
  }
  return Message::Kind::Note;
}

/// The phases that --Ofast-compile disables; each level also disables those of the levels before it.
struct LeftOut {
  FastCompile from;
  std::string_view phase;
};
constexpr LeftOut kLeftOut[] = {
    // Each analyzes the whole function and seldom changes something.
    {FastCompile::Min, "44"},
    {FastCompile::Min, "56"},
    {FastCompile::Min, "71"},
    // Fewer passes of the optimizer; no changes of loops.
    {FastCompile::Mid, "22"},
    {FastCompile::Mid, "28"},
    {FastCompile::Mid, "37"},
    {FastCompile::Mid, "49"},
    {FastCompile::Mid, "58"},
    {FastCompile::Mid, "61"},
    {FastCompile::Mid, "66"},
    // Only the first resolution of memory spaces remains, as in the public description.
    {FastCompile::Max, "M7"},
    {FastCompile::Max, "M8"},
    {FastCompile::Max, "M8b"},
    // The slowest phases.
    {FastCompile::Max, "46"},
    {FastCompile::Max, "63"},
    {FastCompile::Max, "65"},
    {FastCompile::Max, "74"},
    {FastCompile::Max, "84"},
    {FastCompile::Max, "97"},
    {FastCompile::Max, "110"},
};

phases::PipelineOptions pipelineOptions(const PhaseOptions& options) {
  phases::PipelineOptions out;
  out.dumpAfter = options.dumpAfter;
  out.dumpBefore = options.dumpBefore;
  out.dumpDir = options.dumpDirectory;
  out.printChanged = options.printChanged;
  out.stopAfter = options.stopAfter;
  out.disabled = options.disabled;
  out.swapped = options.swapped;
  for (const LeftOut& leftOut : kLeftOut)
    if (options.fastCompile >= leftOut.from) out.disabled.emplace_back(leftOut.phase);
  out.startFrom = options.startFrom;
  out.verifyEach = options.verifyEach;
  out.timePhases = options.timePhases;
  return out;
}

bool isConstant(const cubin::Variable& v) {
  return v.space == cubin::Variable::Space::Constant;
}

/// The size of the section that holds the chosen variables.
template <typename Choose> std::uint64_t extent(const cubin::Module& module, Choose&& choose) {
  std::uint64_t bytes = 0;
  for (const cubin::Variable& v : module.variables)
    if (v.defined && choose(v)) bytes = std::max(bytes, v.offset + v.size);
  return bytes;
}

bool declares(const ori::Module& module, const std::string& variable) {
  return std::any_of(module.variables.begin(), module.variables.end(),
                     [&](const ori::Variable& v) { return v.name == variable; });
}

bool hasModuleData(const ori::Module& module) {
  return !module.variables.empty() || !module.addressSlots.empty();
}

/// Reports resources beyond the target's limits: static shared memory of a kernel, constants of a module.
void checkMemory(const ptx::Module& source, const ori::Module& module, Diagnostics& diags) {
  const isa::Target& target = module.target();
  for (const ptx::Function& function : source.functions) {
    const ori::Function* made = module.findFunction(source.names.text(function.name));
    if (made && made->sharedBytes > target.maxStaticShared())
      diags.error(function.loc,
                  fmt::format("'{}' uses {} bytes of static shared memory, limit is {}", made->name(),
                              made->sharedBytes, target.maxStaticShared()),
                  "larger amounts are allocated at launch, by an .extern .shared array without a size");
  }
  for (const ori::Variable& variable : module.variables) {
    if (variable.constOffset < 0 ||
        static_cast<std::uint64_t>(variable.constOffset) + variable.size <= target.maxConstantBank())
      continue;
    for (const ptx::Variable& declared : source.variables)
      if (source.names.text(declared.name) == variable.name)
        diags.error(declared.loc, fmt::format("the limit for constants of a module is {} bytes; '{}' exceeds it",
                                              target.maxConstantBank(), variable.name));
  }
}

} // namespace

Compilation::Compilation(std::span<const Input> inputs, const Options& options)
    : options_(options), knobSections_(options.knobs), knobs_(knobSections_.all()),
      pipeline_(pipelineOptions(options.phases)) {
  auto arch = isa::Target::parse(options.arch);
  if (!arch) throw Error(fmt::format("the architecture '{}' is not supported", options.arch));
  target_ = arch->target;
  checkOnly_ = arch->isVirtual;
  if (!checkOnly_ && !target_->isAssembled())
    throw Error(
        fmt::format("not supported yet: code for {}; {} parses and checks", target_->name(), target_->virtualName()));
  if (options.relocatable && inputs.size() > 1 && !options.phases.startFrom.empty())
    throw Error("not supported yet: Ori text of several inputs for one relocatable object");
  for (const std::string& binding : options.boundParams)
    phases::parseParamBinding(binding); // throws; the jobs read them
  for (const std::string& query : options.phases.why)
    phases::parseRegisterQuery(query);
  for (const char* phase : {"M6", "M8", "M8b"}) {
    if (knobs_.enabled(phases::Knob::DumpIrBeforeMemorySpaceOpt)) pipeline_.dumpBefore.emplace_back(phase);
    if (knobs_.enabled(phases::Knob::DumpIrAfterMemorySpaceOpt)) pipeline_.dumpAfter.emplace_back(phase);
  }
  phases::PhaseManager{pipeline_}; // throws for unknown phases
  sources_.reserve(inputs.size());
  for (const Input& input : inputs)
    sources_.push_back({&input, Diagnostics(input.name, input.text), nullptr, nullptr});
}

Compilation::~Compilation() = default;

template <typename Work> void Compilation::stage(const char* name, Work&& work) {
  if (!options_.phases.timePhases) return work(); // the clock is a system call
  const auto start = processTime();
  work();
  const std::chrono::duration<double, std::milli> took = processTime() - start;
  result_.times.push_back({name, took.count()});
}

bool Compilation::runs(std::string_view phase) const {
  return phases::runsModulePhase(pipeline_, phases::modulePhase(phase), options_.optLevel);
}

template <typename Work> void Compilation::modulePhase(std::string_view phase, Work&& work) {
  if (!runs(phase)) return;
  if (!options_.phases.timePhases) return work();
  const auto start = processTime();
  work();
  moduleTimes_.push_back({&phases::modulePhase(phase), processTime() - start});
}

std::optional<phases::PipelineOptions> Compilation::dumpOptions(std::string_view number, std::string_view when) {
  const std::vector<std::string>& named = when == "before" ? pipeline_.dumpBefore : pipeline_.dumpAfter;
  if (!runs(number) || !phases::namesModulePhase(named, phases::modulePhase(number))) return std::nullopt;
  phases::PipelineOptions options = pipeline_;
  options.dump = [this](const std::string& text) { result_.phaseText += text; };
  return options;
}

void Compilation::dumpFunctions(std::string_view number, std::string_view when) {
  const std::optional<phases::PipelineOptions> options = dumpOptions(number, when);
  if (!options) return;
  const phases::ModulePhase& phase = phases::modulePhase(number);
  for (const Source& source : sources_)
    for (const auto& function : source.ori->functions)
      phases::dumpModule(*options, phase, when, function->name(), "ori", ori::print(*function));
}

void Compilation::dumpPtx(std::string_view number, std::string_view when) {
  const std::optional<phases::PipelineOptions> options = dumpOptions(number, when);
  if (!options) return;
  const phases::ModulePhase& phase = phases::modulePhase(number);
  for (const Source& source : sources_)
    for (const ptx::Function& function : source.ptx->functions)
      if (function.hasBody)
        phases::dumpModule(*options, phase, when, source.ptx->text(function.name), "ptx",
                           ptx::print(*source.ptx, function));
}

Result Compilation::run() {
  stage("parse", [&] { parse(); });
  settleDebugging();
  if (pipeline_.startFrom.empty()) {
    settleInputs();
    stage("check", [&] { check(); });
    if (!hasErrors() && !checkOnly_)
      stage("modules", [&] {
        const bool wantRemarks = options_.wantRemarks;
        ptxPhase("M1", [&](Source& source) { return ptx::pretreat(*source.ptx, *source.forms, wantRemarks); });
        ptxPhase("M12", [&](Source& source) { return ptx::hoistAllocas(*source.ptx, *source.forms, wantRemarks); });
        ptxPhase("M4", [&](Source& source) {
          const auto variant = static_cast<unsigned>(knobs_.get(phases::Knob::CdpVariant));
          return ptx::expandCdpLaunches(*source.ptx, source.diags, variant);
        });
        resolveSpaces("M6", false);
        resolveSpaces("M7", true);
        ptxPhase("M9", [&](Source& source) { return ptx::paramOpt(*source.ptx, *source.forms, wantRemarks); });
        guardTensorMemory();
      });
    if (!hasErrors() && !checkOnly_) stage("lower", [&] { lower(); });
  }
  if (!hasErrors() && !checkOnly_) chooseFunctions();
  if (!hasErrors() && !checkOnly_) stage("phases", [&] { runPhases(); });
  bool finished = std::all_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job->finished(); });
  if (!hasErrors() && !checkOnly_ && finished && result_.status == Status::Ok) stage("cubin", [&] { writeCubin(); });
  report();
  collectDiagnostics();
  return std::move(result_);
}

void Compilation::parse() {
  for (Source& source : sources_) {
    if (pipeline_.startFrom.empty())
      source.ptx = ptx::parse(source.input->text, source.diags);
    else
      source.ori = ori::parse(source.input->text, source.diags);
  }
}

/// PTX for debugging is always compiled for debugging, as in ptxas: without optimization, with moves of a register to
/// itself, and without inlining.
void Compilation::settleDebugging() {
  for (const Source& source : sources_)
    if (source.ptx && source.ptx->target.debug) options_.debugInfo = true;
  if (!options_.debugInfo) return;
  if (sources_.size() > 1) sources_.front().diags.error({}, "not supported yet: -g with several inputs");
  options_.optLevel = 0;
  for (const char* phase : {"M1", "10", "13", "16", "107"})
    pipeline_.disabled.emplace_back(phase);
}

void Compilation::settleInputs() {
  if (sources_.size() < 2 || hasErrors()) return;
  std::vector<ProgramInput> inputs;
  for (Source& source : sources_)
    inputs.push_back({source.input->name, source.ptx.get(), &source.diags});
  resolveSymbols(inputs);
  linksInputs_ = options_.relocatable || needLinking(inputs);
}

void Compilation::check() {
  ptx::CheckOptions options;
  options.arch = {static_cast<std::uint16_t>(target_->smVersion()), target_->chip().suffix};
  options.warnDouble = options_.warnDouble;
  for (Source& source : sources_) {
    source.forms = std::make_unique<ptx::GrowingForms>(*source.ptx);
    ptx::check(*source.ptx, *source.forms, options, source.diags);
  }
}

void Compilation::resolveSpaces(std::string_view number, bool followsCalls) {
  using phases::Knob;
  ptx::MemorySpaceOptions options;
  options.assumptions.paramsAreGlobal = knobs_.enabled(Knob::ParamAlwaysPointToGlobal);
  options.assumptions.constPointersAreGlobal = knobs_.enabled(Knob::StrongGlobalAssumptions);
  options.assumptions.tracksLocals = knobs_.enabled(Knob::TrackIndirLoad);
  options.assumptions.isWholeProgram = !options_.relocatable && sources_.size() == 1;
  options.assumptions.followsCalls = followsCalls;
  const bool usesWorkList = knobs_.get(Knob::MemSpaceAlg) == 2;
  options.assumptions.usesWorkList = usesWorkList;
  options.assumptions.tracksIntegers = knobs_.enabled(Knob::TrackInt2ptr);
  options.assumptions.localsAreLocal = knobs_.enabled(Knob::ProcessAllocaAlways);
  options.cloning = {.most = knobs_.get(usesWorkList ? Knob::DoCloneForIpMsp : Knob::DoCloneForIpMspq),
                     .growthPercent = static_cast<std::uint64_t>(knobs_.get(Knob::CloneForIpMspGrowthPercent))};
  options.resolvesWmma = knobs_.enabled(Knob::WmmaMemorySpaceOpt);
  options.mayConvert = options_.optLevel > 0;
  options.wantRemarks = options_.wantRemarks || options_.wantKernelInfo;
  if (followsCalls && knobs_.enabled(usesWorkList ? Knob::DumpIpMsp : Knob::DumpIpMspq))
    options.trace = &result_.phaseText;
  ptxPhase(number, [&](Source& source) {
    ptx::ModulePhaseResult result =
        ptx::memorySpaceOpt(*source.ptx, *source.forms, source.diags, options, source.warned);
    // Omits messages of earlier phases.
    std::erase_if(result.remarks, [&](const ptx::PhaseRemark& r) {
      return !r.isDone && !source.keptGeneric.emplace(r.line, r.message).second;
    });
    return result;
  });
}

template <typename Work> void Compilation::ptxPhase(std::string_view number, Work&& work) {
  dumpPtx(number, "before");
  modulePhase(number, [&] {
    const phases::ModulePhase& phase = phases::modulePhase(number);
    for (Source& source : sources_) {
      const ptx::ModulePhaseResult result = work(source);
      for (const ptx::PhaseRemark& r : result.remarks)
        moduleRemarks_.push_back({.phase = phase.number,
                                  .function = std::string(source.ptx->text(source.ptx->function(r.function).name)),
                                  .done = r.isDone,
                                  .message = r.message,
                                  .line = r.line});
      if (afterModulePhase_) afterModulePhase_(phase, *source.ptx, result.hasChanged);
    }
  });
  dumpPtx(number, "after");
}

/// Runs last, so that no phase has to know these checks.
void Compilation::guardTensorMemory() {
  if (!options_.checkTensorMemory.value_or(options_.debugInfo)) return;
  for (Source& source : sources_) {
    const bool hasChecked =
        ptx::guardTensorMemory(*source.ptx, source.forms->table(), target_->chip().cubin.reservedShared);
    if (hasChecked && sources_.size() > 1)
      source.diags.error({}, "not supported yet: --g-tensor-memory-access-check with several inputs");
  }
}

void Compilation::lower() {
  // If one input must be linked, all are.
  if (sources_.size() > 1)
    for (const Source& source : sources_)
      linksInputs_ |= ptx::needsFunctions(*source.ptx, source.forms->table(), inlineLimits(knobs_));
  ptx::LowerOptions options = lowerOptions(options_, knobs_, {.isLinked = linksInputs_, .inlines = runs("M5")});
  std::vector<ptx::InlineRemark> remarks;
  if (options_.wantRemarks) options.inlineRemarks = &remarks;
  for (Source& source : sources_) {
    source.ori = ptx::lower(*source.ptx, source.forms->table(), *target_, source.diags, options);
    for (ptx::InlineRemark& r : remarks)
      moduleRemarks_.push_back({.phase = "M5",
                                .function = r.caller,
                                .done = r.isInlined,
                                .message = r.message,
                                .cost = r.cost,
                                .line = r.line});
    remarks.clear();
  }
  dumpFunctions("M5", "after");
  dumpFunctions("M2", "before");
  modulePhase("M2", [&] { settleLaunches(); });
  dumpFunctions("M2", "after");
  for (Source& source : sources_) {
    if (source.diags.hasErrors()) continue;
    checkMemory(*source.ptx, *source.ori, source.diags);
    if (!options_.relocatable) defineUnresolved(source);
  }
}

void Compilation::settleLaunches() {
  for (Source& source : sources_) {
    for (const auto& function : source.ori->functions) {
      applyLaunchOptions(*function, options_, source.diags);
      settleRegisterRequests(*function, options_, source.diags);
      if (options_.errorsAtExit || options_.debugInfo) waitForErrorsAtExit(*function);
    }
    if (!options_.relocatable) limitCallees(*source.ori, options_);
  }
}

/// A whole program has no linker, so undefined variables are defined here, as in ptxas.
void Compilation::defineUnresolved(Source& source) {
  for (ori::Variable& variable : source.ori->variables) {
    if (variable.linkage != ori::Linkage::External || variable.space == ori::Space::Shared) continue;
    const bool isFound = std::any_of(sources_.begin(), sources_.end(), [&](const Source& other) {
      // An earlier input may have defined it.
      const bool isMade = &other < &source && declares(*other.ori, variable.name);
      return isMade ||
             std::any_of(other.ptx->variables.begin(), other.ptx->variables.end(), [&](const ptx::Variable& v) {
               return v.owner == ptx::FunctionId::None && v.linkage != ptx::Linkage::Extern &&
                      other.ptx->text(v.name) == variable.name;
             });
    });
    if (isFound) continue;
    const auto declared =
        std::find_if(source.ptx->variables.begin(), source.ptx->variables.end(), [&](const ptx::Variable& v) {
          return v.owner == ptx::FunctionId::None && source.ptx->text(v.name) == variable.name;
        });
    if (declared->incomplete) {
      source.diags.error(declared->loc, fmt::format("undefined variable '{}', whose size is unknown", variable.name));
      continue;
    }
    source.diags.warning(declared->loc, fmt::format("undefined variable '{}'; zero-initialized here", variable.name));
    variable.linkage = ori::Linkage::Global;
  }
}

void Compilation::chooseFunctions() {
  std::unordered_set<std::string_view> names;
  for (Source& source : sources_) {
    for (const auto& function : source.ori->functions) {
      if (!names.insert(function->name()).second)
        source.diags.error({},
                           fmt::format("duplicate definition of function '{}' in an earlier input", function->name()));
      // All kernels may call the functions, also those that are not selected.
      bool wanted =
          options_.entries.empty() || !function->isKernel() ||
          std::find(options_.entries.begin(), options_.entries.end(), function->name()) != options_.entries.end();
      if (wanted)
        jobs_.push_back(std::make_unique<FunctionJob>(*function, options_, knobSections_.of(function->name()),
                                                      source.input->name, source.input->text));
      if (wanted && keepsAccounts_) jobs_.back()->keepAccounts();
      if (wanted && keepsCode_) jobs_.back()->keepCode();
    }
  }
  for (const std::string& entry : options_.entries) {
    if (names.contains(entry)) continue;
    NearestName nearest(entry);
    for (const Source& source : sources_)
      for (const auto& function : source.ori->functions)
        nearest.offer(function->name());
    sources_.front().diags.error({}, fmt::format("no entry function '{}'", entry),
                                 nearest.best().empty() ? "" : fmt::format("did you mean '{}'?", nearest.best()));
  }
}

void Compilation::runPhases() {
  const bool tellsChanges = options_.optLevel > 0 && knobs_.enabled(phases::Knob::RegAllocKnownCallees);
  std::vector<const ori::Function*> functions;
  for (const auto& job : jobs_) {
    functions.push_back(&job->function());
    if (tellsChanges && !job->function().isKernel()) job->keepChanges();
  }
  const bool isWhole = !options_.relocatable && sources_.size() == 1;
  KnownChanges changed;
  for (const std::vector<std::size_t>& group : calleesFirst(functions, isWhole)) {
    // The largest first, so that no thread runs a large one alone at the end.
    std::vector<FunctionJob*> order;
    for (const std::size_t i : group)
      order.push_back(jobs_[i].get());
    std::ranges::stable_sort(order, std::greater(),
                             [](const FunctionJob* job) { return job->function().instrIdCount(); });
    if (!changed.empty())
      for (FunctionJob* job : order)
        job->tellChanges(changed, isWhole);
    parallelFor(order.size(), options_.threads, [&](std::size_t i) { order[i]->run(pipeline_); });
    for (const FunctionJob* job : order)
      if (job->changes()) changed.emplace(&job->function(), *job->changes());
  }
  for (const auto& job : jobs_) {
    result_.phaseText += job->dumped();
    if (job->fault().empty()) continue;
    result_.status = Status::InternalFault;
    result_.diagnostics += fmt::format("orias: internal error: {}\n", job->fault());
    result_.messages.push_back({Message::Kind::Error, {}, 0, 0, "internal error: " + job->fault(), {}});
  }
}

cubin::Module Compilation::describe(std::span<CodedFunction* const> functions) {
  if (!linksInputs_) {
    // At most one module has more than functions.
    const ori::Module* module = sources_.front().ori.get();
    for (const Source& source : sources_)
      if (hasModuleData(*source.ori)) module = source.ori.get();
    cubin::Module cubin = describeCubin(*module, functions);
    if (cubin.relocatable && sources_.front().ptx)
      addFunctionFacts(cubin, *sources_.front().ptx, sources_.front().forms->table());
    return cubin;
  }
  std::vector<cubin::Module> parts;
  for (const Source& source : sources_) {
    std::vector<CodedFunction*> own;
    for (CodedFunction* coded : functions)
      if (&coded->function->module() == source.ori.get()) own.push_back(coded);
    parts.push_back(describeCubin(*source.ori, own));
    addFunctionFacts(parts.back(), *source.ptx, source.forms->table());
  }
  return combine(std::move(parts));
}

void Compilation::writeCubin() {
  std::vector<CodedFunction*> functions;
  for (const auto& job : jobs_)
    functions.push_back(&job->coded());
  cubin::Module cubin = describe(functions);
  if (knobs_.enabled(phases::Knob::CapsuleMark)) cubin::markCapsules(cubin.abi);
  cubin.waitsForErrorsAtExit = options_.errorsAtExit || options_.debugInfo;
  for (const Source& source : sources_)
    if (source.ptx) addClusterFacts(cubin, *source.ptx);
  std::vector<LineSource> described;
  for (const Source& source : sources_)
    if (source.ptx) described.push_back({source.ptx.get(), source.ori.get(), source.input->text});
  const bool isDebugged = options_.debugInfo && !options_.suppressDebugInfo;
  if (!options_.suppressDebugInfo) addLineTables(cubin, described, functions, options_.lineInfo || isDebugged);
  for (std::size_t i = 0; isDebugged && i < described.size(); ++i)
    addDebugSections(cubin, described[i], functions, sources_[i].diags);
  if (linksObject_ && options_.relocatable)
    if (cubin::Module linked = cubin; makeWholeProgram(linked, true).empty()) cubin = std::move(linked);
  if (cubin.relocatable && !options_.relocatable) {
    for (const std::string& missing : makeWholeProgram(cubin, options_.debugInfo || !runs("M10")))
      sources_.front().diags.error({}, missing);
    for (const cubin::Function& function : cubin.functions)
      if (function.staticSharedSize > target_->maxStaticShared())
        sources_.front().diags.error({},
                                     fmt::format("'{}' uses {} bytes of static shared memory, limit is {}",
                                                 function.name, function.staticSharedSize, target_->maxStaticShared()));
    if (hasErrors()) return;
    for (const auto& job : jobs_) {
      const auto linked = std::ranges::find(cubin.functions, job->function().name(), &cubin::Function::name);
      if (linked != cubin.functions.end())
        job->showLinked(*linked);
      else
        job->leaveOut();
    }
    for (const cubin::Function& function : cubin.functions)
      if (function.isEntry)
        kernelNeeds_[function.name] = {function.registerCount, function.barrierCount, function.staticSharedSize,
                                       function.minStackSize == kUnknownStack};
  }
  result_.statistics.constantBytes = extent(cubin, [](const cubin::Variable& v) { return isConstant(v); });
  result_.statistics.globalBytes =
      extent(cubin, [](const cubin::Variable& v) { return !isConstant(v) && v.initialised(); }) +
      extent(cubin, [](const cubin::Variable& v) { return !isConstant(v) && !v.initialised(); });
  result_.statistics.addressBytes = cubin.addressTable.size() * 8;
  try {
    result_.cubin = cubin::write(cubin);
  } catch (const Error& e) {
    throw InternalError(std::string("the cubin cannot be written: ") + e.what());
  }
}

void Compilation::report() {
  std::vector<std::vector<phases::PhaseTime>> times;
  std::vector<phases::AnalysisUse> analyses;
  for (const auto& job : jobs_) {
    if (job->isLeftOut()) continue;
    FunctionReport& function = result_.statistics.functions.emplace_back(job->report());
    if (const auto needs = kernelNeeds_.find(function.name); needs != kernelNeeds_.end()) {
      function.registers = needs->second.registers;
      function.barriers = needs->second.barriers;
      function.sharedBytes = needs->second.sharedBytes;
      function.hasUnknownStack |= needs->second.hasUnknownStack;
    }
    if (function.isKernel && job->finished()) {
      addOccupancy(function, job->function());
      job->tellOccupancy(function);
    }
    times.push_back(job->times());
    analyses.push_back(job->analysisUse());
  }
  if (options_.wantListing) result_.listing = listing();
  if (options_.wantRemarks) result_.remarks = remarksJson(moduleRemarks_, jobs_);
  if (options_.wantKernelInfo && result_.status == Status::Ok && !hasErrors())
    modulePhase("M11", [&] { printKernelInfo(); });
  if (!options_.phases.timePhases) return;
  result_.phaseText += fmt::format("{:>4} {:<30} {:>10}\n", "", "stage", "ms");
  for (const StageTime& time : result_.times)
    result_.phaseText += fmt::format("{:>4} {:<30} {:>10.3f}\n", "", time.stage, time.milliseconds);
  if (!times.empty())
    result_.phaseText += '\n' + phases::renderTimes(moduleTimes_, times) + '\n' + phases::renderAnalyses(analyses);
}

void Compilation::printKernelInfo() {
  std::vector<KernelInfo> kernels;
  for (const auto& job : jobs_) {
    if (!job->function().isKernel() || !job->finished()) continue;
    const auto report = std::ranges::find(result_.statistics.functions, job->function().name(), &FunctionReport::name);
    if (report != result_.statistics.functions.end()) kernels.push_back(kernelInfo(*job, *report, moduleRemarks_));
  }
  result_.kernelInfo =
      options_.kernelInfoFormat == KernelInfoFormat::Json ? kernelInfoJson(kernels) : kernelInfoText(kernels);
}

std::string Compilation::listing() const {
  bool json = options_.listingFormat == ListingFormat::Json;
  std::string text;
  for (const auto& job : jobs_) {
    std::string one = job->listing();
    if (one.empty()) continue;
    if (!text.empty()) text += json ? ",\n" : "\n";
    text += one;
  }
  return json ? "[\n" + text + "\n]\n" : text;
}

bool Compilation::hasErrors() const {
  auto bad = [](const Diagnostics& d) { return d.hasErrors(); };
  return std::any_of(sources_.begin(), sources_.end(), [&](const Source& s) { return bad(s.diags); }) ||
         std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& job) { return bad(job->diagnostics()); });
}

void Compilation::collectDiagnostics() {
  for (const Source& source : sources_) {
    Diagnostics shown(source.input->name, source.input->text);
    addFiltered(shown, source.diags, options_);
    for (const auto& job : jobs_)
      if (source.ori && &job->function().module() == source.ori.get())
        addFiltered(shown, job->diagnostics(), options_, &source.diags);
    result_.diagnostics += shown.render();
    result_.errorCount += shown.errorCount();
    for (const Diagnostic& d : shown.all()) {
      result_.warningCount += d.severity == Severity::Warning;
      result_.messages.push_back(
          {messageKind(d.severity), source.input->name, d.loc.line, d.loc.column, d.message, d.hint});
    }
  }
  if (result_.errorCount && result_.status == Status::Ok) result_.status = Status::InputErrors;
  if (result_.status != Status::Ok) result_.cubin.clear();
}

Result assemble(std::span<const Input> inputs, const Options& options) {
  return Compilation(inputs, options).run();
}

Result assemble(std::string_view ptx, const Options& options) {
  Input input{"<input>", ptx};
  return assemble({&input, 1}, options);
}

} // namespace orias
