#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/analysis/register_pressure.h"
#include "ori/cfg_edit.h"
#include "ori/print.h"
#include "ori/setmaxnreg.h"
#include "phases/memory_access.h"
#include "phases/modulo/expand.h"
#include "phases/occupancy.h"
#include "phases/phases.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace orias::phases {

using modulo::Expansion;
using modulo::LoopBody;
using modulo::Schedule;

namespace {

constexpr double kSchedulers = 4;
/// The share of an iteration's length that no other warp hides, as in phase 97.
constexpr double kShareOfLength = 0.05;
/// Additional registers for other schedules of the kernel's blocks.
constexpr unsigned kSpare = 2;

/// A loop and its decisions.
struct Plan {
  LoopBody body;
  Schedule schedule;
  Expansion expansion;
};

/// A schedule and its estimated gain.
struct Choice {
  Schedule schedule;
  Expansion expansion;
  double price = 0; ///< logarithm of the ratio of cycles to those of the original loop, at the launch's occupancy and
                    ///< on a full multiprocessor
};

class Pipeliner {
 public:
  Pipeliner(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), facts_(function), classes_(function, context),
        functionPeak_(function.analyses().pressure().maximum()) {
    growthLeft_ = static_cast<std::size_t>(knob(Knob::PipelinerMaxGrowth));
  }

  bool run() {
    std::vector<bool> isInnermost(facts_.loops.all().size(), true);
    for (const ori::Loop& loop : facts_.loops.all())
      if (loop.parent != ori::kNoId) isInnermost[loop.parent] = false;
    std::vector<Plan> plans;
    for (ori::LoopId loop = 0; loop < isInnermost.size(); ++loop)
      if (isInnermost[loop]) plan(loop, plans);
    std::map<ori::BlockId, ori::BlockId> replaced;
    for (const Plan& p : plans) {
      const auto exit = replaced.find(p.body.exit);
      const ori::BlockId header = p.body.block->id;
      replaced[header] = modulo::expandLoop(function_, p.body, p.schedule, p.expansion,
                                            exit == replaced.end() ? p.body.exit : exit->second)
                             ->id;
    }
    if (!plans.empty()) ori::mergeBlocks(function_);
    return !plans.empty();
  }

 private:
  std::int64_t knob(Knob k) const { return context_.knobs.get(k); }

  void plan(ori::LoopId loop, std::vector<Plan>& plans) {
    const ori::Instr* where = function_.block(facts_.loops.loop(loop).header)->last;
    const auto reportMissed = [&](std::string why) { context_.remarks.missed(where, std::move(why)); };
    std::string whyNot;
    LoopBody body = modulo::findBody(function_, facts_, loop, context_.target, whyNot);
    if (!body.block) return reportMissed(whyNot);
    if (storesToLocal(body) && knob(Knob::PipelinerMinGain) > 0)
      return reportMissed("not pipelined: the loop fills a local array and has few iterations");
    modulo::Limits limits;
    limits.maxMii = static_cast<unsigned>(knob(Knob::PipelinerMaxMii));
    limits.iiSearchRange = static_cast<unsigned>(knob(Knob::PipelinerIiSearchRange));
    limits.ignoresRecMii = knob(Knob::PipelinerIgnoreRecmii) != 0;
    const std::vector<modulo::Recurrence> recurrences = modulo::findRecurrences(body.graph);
    const unsigned before = modulo::sequentialCycles(body.graph, recurrences, body.branch());
    if (knob(Knob::PipelinerMinGain) > 0) limits.maxIi = before - 1;
    // Each further stage costs registers and code, so each has to gain by itself.
    std::optional<Choice> best;
    for (unsigned stages = 2; stages <= std::max<std::int64_t>(2, knob(Knob::PipelinerMaxStages)); ++stages) {
      limits.maxStages = std::min<unsigned>(stages, static_cast<unsigned>(knob(Knob::PipelinerMaxStages)));
      modulo::Result result = modulo::findSchedule(body.graph, recurrences, body.branch(), limits);
      if (!result.schedule) {
        whyNot = result.message;
        continue;
      }
      Choice choice{std::move(*result.schedule), {}, 0};
      choice.expansion = modulo::expansionOf(function_, body, choice.schedule);
      const std::string why = judge(body, before, choice);
      if (!why.empty()) {
        whyNot = why;
        continue;
      }
      const double gain = (best ? best->price : 0.0) - choice.price;
      if (gain * 100 < static_cast<double>(knob(Knob::PipelinerMinGain))) {
        whyNot = fmt::format("not pipelined: gain is too small: II {}, {} cycles now", choice.schedule.ii, before);
        continue;
      }
      best = std::move(choice);
    }
    if (!best) return reportMissed(whyNot);
    if (context_.knobs.enabled(Knob::PipelinerAnnotateForTesting)) return annotate(body, best->schedule);
    growthLeft_ -= modulo::expandedSize(body, best->schedule, best->expansion);
    context_.remarks.applied(where,
                             fmt::format("pipelined: {} stages, II {}, {} copies of the kernel; {} cycles before",
                                         best->schedule.stages(), best->schedule.ii, best->expansion.unroll, before),
                             best->schedule.ii);
    plans.push_back({std::move(body), std::move(best->schedule), std::move(best->expansion)});
  }

  static bool storesToLocal(const LoopBody& body) {
    return std::ranges::any_of(body.instrs, [](const ori::Instr* instr) {
      return isa::desc(instr->op).has(isa::Flag::Store) && accessOf(*instr).space == MemoryAccess::Space::Local;
    });
  }

  /// Sets the price of a choice, or returns why it cannot be taken.
  std::string judge(const LoopBody& body, unsigned before, Choice& choice) const {
    if (choice.expansion.unroll > 1 && (knob(Knob::PipelinerExperimentalCg) != 0 || knob(Knob::PipelinerMveCg) == 0))
      return "not pipelined: values of several iterations are live at once, and the kernel may not be unrolled";
    // A copy of a uniform value would stay live past the exit at which some lanes may leave, and the remaining lanes
    // overwrite it.
    for (std::size_t v = 0; v < body.values.size(); ++v)
      if (const isa::File file = function_.vreg(body.values[v].reg).file;
          choice.expansion.copies[v] > 1 && file != isa::File::R && file != isa::File::P)
        return "not pipelined: a uniform value would be live in several iterations at once";
    if (modulo::expandedSize(body, choice.schedule, choice.expansion) > growthLeft_)
      return "not pipelined: the growth budget of the function is used up";
    const ori::FileCounts peak = modulo::kernelPressure(function_, facts_, body, choice.schedule);
    constexpr auto kR = static_cast<std::size_t>(isa::File::R);
    const unsigned functionPeak = functionPeak_[kR];
    const unsigned kernelPeak = std::max(functionPeak, peak[kR]);
    if (knob(Knob::PipelinerRegisterPressure) != 0) {
      const auto margin = static_cast<unsigned>(knob(Knob::PipelinerRegisterPressureMargin));
      if (peak[kR] * (100 + margin) / 100 + kSpare > classes_.end(functionPeak) && peak[kR] > functionPeak)
        return "not pipelined: occupancy would drop";
      for (const isa::File file : {isa::File::P, isa::File::UR, isa::File::UP}) {
        const auto f = static_cast<std::size_t>(file);
        if (peak[f] + 1 > context_.target.registerCount(file) && peak[f] > functionPeak_[f])
          return "not pipelined: register pressure is too high";
      }
      const ori::FileCounts taken = modulo::kernelRegisters(function_, facts_, body, choice.schedule, choice.expansion);
      if (taken[kR] > classes_.ends().back()) return "not pipelined: values would be spilled";
    }
    // The estimates of phase 97: one block alone, and a full multiprocessor.
    const double busy = modulo::resMii(body.graph);
    const double block = std::max(1.0, classes_.warpsPerBlock() / kSchedulers);
    const auto logOf = [&](double length, unsigned registers) {
      const double warps = std::max(1.0, classes_.warps(registers) / kSchedulers);
      const double rest = kShareOfLength * length;
      return std::log(std::max(length, block * busy) + rest) + std::log(std::max(length / warps, busy) + rest);
    };
    choice.price = logOf(choice.schedule.ii, classes_.end(kernelPeak)) - logOf(before, classes_.end(functionPeak));
    return {};
  }

  void annotate(const LoopBody& body, const Schedule& schedule) {
    if (!context_.dump) return;
    *context_.dump +=
        fmt::format("Schedule of .L{}: II {}, {} stages\n", body.block->id, schedule.ii, schedule.stages());
    for (std::uint32_t n = 0; n < body.instrs.size(); ++n)
      *context_.dump += fmt::format("  Stage-{}_Cycle-{}: {}\n", schedule.stage(n), schedule.time[n],
                                    ori::print(function_, *body.instrs[n]));
  }

  ori::Function& function_;
  PhaseContext& context_;
  const modulo::LoopFacts facts_;
  const OccupancyClasses classes_;
  const ori::FileCounts functionPeak_;
  std::size_t growthLeft_ = 0;
};

} // namespace

/// Phase 24. Swing modulo scheduling of loops of one block: iterations overlap, so that loads of later iterations are
/// in flight while this one computes. Nothing runs speculatively: an iteration begins after the branch of the previous
/// one, which is in the first stage.
bool oriPipelining(ori::Function& function, PhaseContext& context) {
  if (!context.knobs.enabled(Knob::EnablePipeliner) || function.analyses().loops().all().empty() ||
      ori::hasRegisterRequests(function))
    return false;
  return Pipeliner(function, context).run();
}

} // namespace orias::phases
