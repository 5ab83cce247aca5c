#include "orias/function_job.h"

#include "encoder/isa/target.h"
#include "encoder/listing.h"
#include "ori/calls.h"
#include "ori/module.h"
#include "orias/function_guards.h"
#include "orias/launch_limits.h"
#include "regalloc/check.h"
#include "support/check.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace orias {

namespace {

constexpr std::string_view kAllocation = "101"; ///< the frame is laid out there

std::string phaseOf(const ori::Function& function) {
  auto pipeline = phases::pipeline();
  if (function.currentPhase() >= pipeline.size()) return "before the first phase";
  const phases::PhaseInfo& phase = pipeline[function.currentPhase()];
  return fmt::format("in phase {} {}", phase.number, phase.name);
}

} // namespace

FunctionJob::FunctionJob(ori::Function& function, const Options& options, const phases::Knobs& knobs,
                         std::string fileName, std::string_view text)
    : function_(function), options_(options), knobs_(knobs), text_(text), diagnostics_(std::move(fileName), text),
      remarks_(options.wantRemarks), ceiling_(registerCeiling(function, options)),
      maxRegisters_(registersAtEntry(function, options)) {
  // Kernel information needs the uniformity notes of a listing.
  code_.wantListing = options.wantListing || options.wantKernelInfo;
  code_.wantDebugDefs = options.debugInfo && !options.suppressDebugInfo;
  keepsCode_ = code_.wantDebugDefs || options.wantKernelInfo;
}

void FunctionJob::tellChanges(const KnownChanges& changed, bool isWhole) {
  const ori::Module& module = function_.module();
  for (std::uint32_t symbol = 0; symbol < module.symbols.size(); ++symbol) {
    if (!hasItsOwnBody(module, symbol, isWhole)) continue;
    const auto known = changed.find(module.functions[module.symbols[symbol].index].get());
    if (known != changed.end()) function_.changedByCallee.emplace(symbol, known->second);
  }
}

void FunctionJob::run(const phases::PipelineOptions& pipeline) {
  auto start = std::chrono::steady_clock::now();
  phases::PipelineOptions options = pipeline;
  options.dump = [this](const std::string& text) { dumped_ += text; };
  if (options_.checkStackBounds)
    options.afterPhase = [&](const phases::PhaseInfo& phase, ori::Function& function, bool changed) {
      if (phase.number == kAllocation) trapOnStackOverflow(function);
      if (pipeline.afterPhase) pipeline.afterPhase(phase, function, changed);
    };
  phases::PhaseManager manager(options);
  std::vector<phases::ParamBinding> bindings;
  for (const std::string& binding : options_.boundParams)
    bindings.push_back(phases::parseParamBinding(binding));
  std::vector<phases::RegisterQuery> queries;
  for (const std::string& query : options_.phases.why)
    queries.push_back(phases::parseRegisterQuery(query));
  phases::PhaseContext context{.target = function_.module().target(),
                               .knobs = knobs_,
                               .optLevel = options_.optLevel,
                               .maxRegisters = maxRegisters_,
                               .remarks = remarks_,
                               .diagnostics = diagnostics_,
                               .code = code_,
                               .bindings = bindings,
                               .dump = &dumped_,
                               .queries = queries,
                               .accounts = keepsAccounts_ ? &accounts_ : nullptr};
  try {
    finished_ = manager.run(function_, context);
    // Phases after allocation also move instructions.
    if (const auto faults = function_.allocated ? regalloc::checkRegisterCounts(function_) : std::vector<std::string>{};
        !faults.empty())
      throw InternalError("registers that do not exist: " + faults.front());
    if (finished_) coded_ = describeCode(function_, code_, ceiling_, options_.annotate);
    if (finished_ && keepsChanges_ && function_.allocated) changes_ = ori::changedByCalling(function_);
  } catch (const InternalError& e) {
    fault_ = fmt::format("{} of '{}': {}", phaseOf(function_), function_.name(), e.what());
  }
  times_ = manager.times();
  analysisUse_ = manager.analysisUse();
  if (!keepsCode_) {
    code_.origin = {};
    code_.registerMap = {};
    function_.releaseCode();
  }
  milliseconds_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void FunctionJob::showLinked(const cubin::Function& function) {
  if (!code_.listing) return;
  auto listing = std::make_shared<encoder::FunctionListing>(*code_.listing);
  encoder::showLinked(*listing, function, function_.module().target());
  code_.listing = std::move(listing);
}

void FunctionJob::leaveOut() {
  isLeftOut_ = true;
  remarks_.setPhase("M10");
  remarks_.applied(nullptr, "not in the cubin: unreachable from kernels and variables");
}

std::string FunctionJob::listing() const {
  if (!code_.listing || isLeftOut_) return {};
  switch (options_.listingFormat) {
  case ListingFormat::Plain: return encoder::renderPlain(*code_.listing);
  case ListingFormat::Annotated: return encoder::renderAnnotated(*code_.listing, text_);
  case ListingFormat::Json: return encoder::renderJson(*code_.listing, text_);
  }
  return {};
}

void FunctionJob::tellOccupancy(const FunctionReport& report) {
  if (!remarks_.wanted()) return;
  remarks_.setPhase("101");
  remarks_.applied(nullptr, fmt::format("{} of {} warps in blocks of {} threads, limited by {}", report.warps,
                                        report.maxWarps, report.threadsPerBlock, report.limitedBy));
}

FunctionReport FunctionJob::report() const {
  const ori::FunctionStats& stats = function_.stats;
  FunctionReport report;
  report.name = function_.name();
  report.isKernel = function_.isKernel();
  report.registers = stats.registers;
  report.uniformRegisters = stats.uniformRegisters;
  report.barriers = stats.barriers;
  report.instructions = static_cast<unsigned>(coded_.sources.size());
  report.sharedBytes = function_.sharedBytes;
  report.constantBytes = function_.module().target().paramBase() + function_.paramBytes;
  report.frameBytes = report.stackBytes = stats.frameBytes;
  report.hasUnknownStack = function_.growsStack;
  for (const ori::FrameRecord& r : code_.frame)
    report.frame.push_back({r.name, r.offset, r.size, std::uint64_t{1} << r.log2Align, r.isDead, r.isSpillSlot,
                            static_cast<unsigned>(r.category)});
  report.spillStoreBytes = stats.spillStoreBytes;
  report.spillLoadBytes = stats.spillLoadBytes;
  report.rematerialised = remarks_.rematerialised();
  report.milliseconds = milliseconds_;
  return report;
}

} // namespace orias
