#include "tools/check_each/check_uniform.h"

#include "ori/analysis/divergence.h"
#include "ori/function.h"
#include "orias/compilation.h"
#include "orias/orias.h"
#include "support/check.h"
#include "tools/emulator/emulator.h"

#include <fmt/format.h>

namespace orias::check_each {

namespace {

/// The last checked analysis, half way through the pipeline.
constexpr std::string_view kLastAnalysis = "70";

bool isAnalysis(const phases::PhaseInfo& phase) {
  return phase.number == "53" || phase.number == kLastAnalysis;
}

bool canDiffer(isa::File file) {
  return file == isa::File::R || file == isa::File::P;
}

/// Lanes may exit without converging.
bool onlyExits(const ori::Block& block) {
  return block.first && block.first == block.last && block.first->op == isa::Op::EXIT;
}

class Checker {
 public:
  Checker(const launch::Launch& launch, const CheckOptions& options) : launch_(launch), options_(options) {}

  void afterPhase(const phases::PhaseInfo& phase, ori::Function& function) {
    if (options_.plant) options_.plant(phase, function);
    if (!isAnalysis(phase) || function.name() != launch_.kernel) return;
    emu::Program program = emu::loadOri(function.module(), function);
    claim(function, program);
    launch::Device device(launch_);
    const launch::RunResult result = emu::run(program, device, options_.run);
    for (const launch::Report& report : result.reports)
      if (report.kind == "unsupported") {
        ++verdict_.skipped;
        verdict_.whySkipped = report.text;
        return;
      }
    ++verdict_.checked;
    for (const auto& [name, figure] : result.stats)
      if (name == "uniform reads compared") verdict_.compared += static_cast<std::uint64_t>(figure);
    const bool stoppedAsExpected = !launch_.stops.empty() && launch::endedAsExpected(launch_, result);
    for (const launch::Report& report : result.reports) {
      if (stoppedAsExpected && report.kind == launch_.stops) continue;
      verdict_.ok = false;
      verdict_.text +=
          fmt::format("{} {}: {}: {}: {}\n", phase.number, phase.name, report.kind, report.where, report.text);
    }
  }

  UniformVerdict& verdict() { return verdict_; }

 private:
  void claim(ori::Function& function, emu::Program& program) {
    program.uniformRegisters.assign(function.vregCount(), false);
    for (ori::VRegId v = 0; v < function.vregCount(); ++v) {
      if (!canDiffer(function.vreg(v).file) || !function.hasUses(v)) continue;
      ++verdict_.registers;
      if (function.vreg(v).divergent) continue;
      ++verdict_.uniformRegisters;
      program.uniformRegisters[v] = true;
    }
    const ori::Cfg cfg(function);
    const ori::Divergence divergence(cfg);
    program.uniformBlocks.assign(function.blockIdCount(), false);
    for (const ori::Block* block : function.layout())
      program.uniformBlocks[block->id] = divergence.isUniformBlock(block->id) && !onlyExits(*block);
  }

  const launch::Launch& launch_;
  const CheckOptions& options_;
  UniformVerdict verdict_;
};

} // namespace

UniformVerdict checkUniform(std::string_view ptxText, const launch::Launch& launch, const CheckOptions& options) {
  Options assembleOptions = options.assemble;
  assembleOptions.threads = 1;
  if (assembleOptions.phases.stopAfter.empty()) assembleOptions.phases.stopAfter = kLastAnalysis;
  const Input input{"input.ptx", ptxText};
  Compilation compilation(std::span(&input, 1), assembleOptions);
  Checker checker(launch, options);
  compilation.observePhases(
      [&](const phases::PhaseInfo& phase, ori::Function& function, bool) { checker.afterPhase(phase, function); });
  const Result result = compilation.run();
  if (result.status == Status::InputErrors) throw Error(result.diagnostics);
  if (result.status == Status::InternalFault) throw InternalError(result.diagnostics);
  UniformVerdict& verdict = checker.verdict();
  if (verdict.checked + verdict.skipped == 0)
    throw Error(
        fmt::format("'{}' does not reach phase 53 or 70: unknown kernel, or optimization is off", launch.kernel));
  return verdict;
}

} // namespace orias::check_each
