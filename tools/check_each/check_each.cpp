#include "tools/check_each/check_each.h"

#include "frontend/check.h"
#include "frontend/parse.h"
#include "ori/function.h"
#include "ori/module.h"
#include "ori/print.h"
#include "orias/compilation.h"
#include "orias/orias.h"
#include "phases/module_phases.h"
#include "support/check.h"
#include "tools/emulator/emulator.h"
#include "tools/interpreter/interpreter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <set>

namespace orias::check_each {

namespace {

std::string describe(const launch::Report& report) {
  return fmt::format("{}: {}: {}", report.kind, report.where, report.text);
}

bool cannotRun(const launch::RunResult& result) {
  return std::any_of(result.reports.begin(), result.reports.end(),
                     [](const launch::Report& r) { return r.kind == "unsupported"; });
}

/// Runs the PTX itself on `device`.
void runReference(std::string_view text, launch::Device& device, const launch::RunOptions& options) {
  Diagnostics diagnostics("input.ptx", text);
  const auto module = ptx::parse(text, diagnostics);
  if (!diagnostics.hasErrors()) ptx::check(*module, {}, diagnostics);
  if (diagnostics.hasErrors()) throw Error(diagnostics.render());
  const launch::RunResult result = interp::run(*module, device, options);
  if (result.completed) return;
  throw Error(fmt::format("the PTX interpreter cannot complete the kernel, so there is no reference result: {}",
                          result.reports.empty() ? "" : describe(result.reports.front())));
}

/// The complete semantics of a function, so that two states can be compared without their texts.
std::vector<std::uint64_t> stateOf(const ori::Function& function) {
  std::vector<std::uint64_t> state;
  const auto put = [&](auto a, auto b) {
    state.push_back(std::uint64_t{static_cast<std::uint32_t>(a)} << 32 | static_cast<std::uint32_t>(b));
  };
  for (const ori::FrameObject& object : function.frame) {
    put(object.size, object.offset);
    put(object.align, object.isSpill << 2 | object.isIncoming << 1 | object.isOutgoing);
  }
  put(function.stats.frameBytes, function.sharedBytes);
  for (const ori::Block* block : function.layout()) {
    put(block->id, ori::BlockId{block->fallthrough});
    for (const ori::Instr* instr = block->first; instr; instr = instr->next) {
      put(instr->op, instr->operandCount);
      const isa::Control& control = instr->control;
      put(control.stall | control.yield << 8 | control.waitMask << 16, control.writeBarrier << 8 | control.readBarrier);
      std::array<std::uint64_t, 2> mods{};
      static_assert(sizeof instr->mods <= sizeof mods);
      std::memcpy(mods.data(), instr->mods.data(), sizeof instr->mods);
      state.insert(state.end(), mods.begin(), mods.end());
      for (const ori::Operand& o : instr->refs()) {
        const auto words = o.bits();
        state.insert(state.end(), words.begin(), words.end());
      }
    }
  }
  return state;
}

/// Checks the states of one kernel after the phases. Texts take as long as everything else, so they are made only if
/// the changes of a phase are to be shown.
class Checker {
 public:
  Checker(const launch::Launch& launch, const CheckOptions& options, const launch::Device& reference, bool wantsTexts)
      : launch_(launch), options_(options), reference_(reference), wantsTexts_(wantsTexts) {}

  void afterPhase(const phases::PhaseInfo& phase, ori::Function& function, bool changed) {
    if (options_.plant) options_.plant(phase, function);
    if (!verdict_.ok || function.name() != launch_.kernel) return;
    std::vector<std::uint64_t> now = stateOf(function);
    if (now == state_) return;
    // If the first phase changed nothing, its state is that of lowering.
    const std::string name = state_.empty() && !changed ? "lowering" : fmt::format("{} {}", phase.number, phase.name);
    if (const auto program = load(function))
      check(*program, name);
    else
      ++verdict_.skipped;
    state_ = std::move(now);
    if (!wantsTexts_) return;
    std::string text = ori::print(function);
    if (!verdict_.ok && !before_.empty())
      verdict_.text += "changes made by the phase:\n" + phases::lineDiff(before_, text);
    before_ = std::move(text);
  }

  /// Runs the PTX after a module phase in the interpreter.
  void afterModulePhase(const phases::ModulePhase& phase, ptx::Module& module, bool changed) {
    if (options_.plantInModule) options_.plantInModule(phase, module);
    if (!verdict_.ok || !changed) return;
    launch::Device device(launch_);
    compare(interp::run(module, device, options_.run), device, fmt::format("{} {}", phase.number, phase.name));
  }

  void check(const emu::Program& program, const std::string& name) {
    launch::Device device(launch_);
    // The linker chooses the addresses in variables.
    std::set<std::string> ignored;
    for (const emu::Variable& v : program.variables)
      if (options_.assemble.relocatable && !v.relocations.empty()) ignored.insert(v.name);
    compare(emu::run(program, device, options_.run), device, name, ignored);
  }

  void compare(const launch::RunResult& result, const launch::Device& device, const std::string& name,
               const std::set<std::string>& ignored = {}) {
    if (cannotRun(result)) {
      ++verdict_.skipped;
      return;
    }
    ++verdict_.checked;
    if (!result.completed)
      return fail(name, fmt::format("the kernel does not complete as expected: {}\n",
                                    result.reports.empty() ? "" : describe(result.reports.front())));
    auto differences = launch::compare(device, reference_);
    std::erase_if(differences, [&](const launch::Mismatch& m) { return ignored.contains(m.buffer); });
    if (differences.empty()) return;
    std::string text;
    for (const launch::Mismatch& m : differences)
      text +=
          fmt::format("{}[{}] is {}, expected {}; {} elements differ\n", m.buffer, m.index, m.got, m.wanted, m.count);
    fail(name, text);
  }

  void fail(const std::string& phase, const std::string& what) {
    verdict_.ok = false;
    verdict_.phase = phase;
    verdict_.text = fmt::format("{}: first state with a different result\n{}", phase, what);
  }

  Verdict& verdict() { return verdict_; }

 private:
  /// Returns nothing for relocatable code that uses textures, because it must be linked first.
  std::optional<emu::Program> load(const ori::Function& function) const {
    const auto& symbols = function.module().symbols;
    const bool isLinked = !options_.assemble.relocatable ||
                          std::ranges::none_of(symbols, [](const ori::Symbol& s) { return s.isHandle(); });
    if (!isLinked) return std::nullopt;
    return emu::loadOri(function.module(), function);
  }

  const launch::Launch& launch_;
  const CheckOptions& options_;
  const launch::Device& reference_;
  const bool wantsTexts_;
  std::vector<std::uint64_t> state_;
  std::string before_;
  Verdict verdict_;
};

Verdict checkAll(std::string_view ptxText, const launch::Launch& launch, const CheckOptions& options,
                 const launch::Device& reference, bool wantsTexts) {
  Options assembleOptions = options.assemble;
  assembleOptions.threads = 1;
  const Input input{"input.ptx", ptxText};
  Compilation compilation(std::span(&input, 1), assembleOptions);
  Checker checker(launch, options, reference, wantsTexts);
  compilation.linkObject();
  compilation.observePhases([&](const phases::PhaseInfo& phase, ori::Function& function, bool changed) {
    checker.afterPhase(phase, function, changed);
  });
  compilation.observeModules([&](const phases::ModulePhase& phase, ptx::Module& module, bool changed) {
    checker.afterModulePhase(phase, module, changed);
  });
  const Result result = compilation.run();
  Verdict& verdict = checker.verdict();
  if (!verdict.ok) return verdict;
  if (result.status == Status::InputErrors) throw Error(result.diagnostics);
  if (result.status == Status::InternalFault)
    checker.fail("compilation", result.diagnostics);
  else
    checker.check(emu::loadCubin(result.cubin, launch.kernel), "encoding");
  return verdict;
}

} // namespace

Verdict checkEach(std::string_view ptxText, const launch::Launch& launch, const CheckOptions& options) {
  launch::Device reference(launch);
  runReference(ptxText, reference, options.run);
  const Verdict verdict = checkAll(ptxText, launch, options, reference, false);
  return verdict.ok ? verdict : checkAll(ptxText, launch, options, reference, true);
}

} // namespace orias::check_each
