// Takes the code of ptxas' cubins, discards its control words, schedules it and sets control words as orias does, and
// runs the hazard checker on the result. Prints the cycles of both schedules (without waits for scoreboards).
//
//   rewrite_cubins [--serial] [--reorder] [--show=N] file.cubin ...
//
// Exits 1 if the checker finds violations in our code.

#include "encoder/code.h"
#include "encoder/hazard.h"
#include "encoder/isa/word.h"
#include "ori/module.h"
#include "phases/control_info.h"
#include "phases/list_schedule.h"
#include "test/peers/cubin_code.h"
#include "test/peers/lift.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace orias;

namespace {

struct Cost {
  unsigned long cycles = 0, waits = 0, nops = 0;
  unsigned long estimate = 0; ///< with scoreboards released after the expected latencies
};

/// Sums over the words, as if each executed once, without the padding after the last EXIT or branch.
Cost costOf(std::span<const isa::Word> words, const isa::Target& target) {
  Cost cost;
  std::size_t end = words.size();
  while (end > 0 && isa::getBits(words[end - 1], 0, 12) == 0x918)
    --end;
  std::array<unsigned long, 8> released{};
  for (const isa::Word& w : words.first(end)) {
    for (unsigned sb = 0; sb < target.scoreboardCount(); ++sb)
      if (isa::getBits(w, 116 + sb, 1) != 0) cost.estimate = std::max(cost.estimate, released[sb]);
    if (const auto inst = isa::decode(w)) {
      const auto c = isa::latencyClassOf(inst->op, inst->mods);
      constexpr unsigned long kRead = 12; // approximate cycles until late sources have been read
      auto& written = released[inst->control.writeBarrier & 7];
      auto& read = released[inst->control.readBarrier & 7];
      written = std::max(written, cost.estimate + target.expectedLatency(c));
      read = std::max(read, cost.estimate + kRead);
    }
    cost.estimate += isa::getBits(w, 105, 4);
    cost.cycles += isa::getBits(w, 105, 4);
    cost.waits += static_cast<unsigned long>(__builtin_popcountll(isa::getBits(w, 116, 6)));
    cost.nops += isa::getBits(w, 0, 12) == 0x918;
  }
  return cost;
}

} // namespace

int main(int argc, char** argv) {
  phases::ControlOptions options;
  bool isReordering = false;
  unsigned show = 5;
  unsigned long functions = 0, skipped = 0, violations = 0;
  Cost theirs, ours;
  for (int a = 1; a < argc; ++a) {
    if (std::strcmp(argv[a], "--serial") == 0) {
      options.isSerial = true;
      continue;
    }
    if (std::strcmp(argv[a], "--reorder") == 0) {
      isReordering = true;
      continue;
    }
    if (std::strncmp(argv[a], "--show=", 7) == 0) {
      show = static_cast<unsigned>(std::atoi(argv[a] + 7));
      continue;
    }
    const test::CubinCode cubin = test::codeOf(argv[a]);
    for (const auto& [section, words] : cubin.sections) {
      const isa::Target& target = *cubin.target;
      ori::Module module(target);
      ori::Function& function = module.newFunction("f", true);
      if (!test::lift(words, function)) {
        ++skipped;
        continue;
      }
      ++functions;
      if (isReordering)
        for (ori::Block* block : function.layout())
          phases::scheduleBlock(function, *block, target, [&](auto region, const phases::DependenceGraph& graph) {
            return phases::orderByLatency(region, graph, target);
          });
      phases::assignControlInfo(function, options);
      const encoder::FunctionCode code = encoder::encodeInstructions(function);
      const hazard::Report report = hazard::check(code.words, target);
      violations += report.violations.size();
      unsigned shown = 0;
      for (const hazard::Violation& violation : report.violations) {
        if (shown++ == show) break;
        std::printf("%s %s: %s\n", argv[a], section.c_str(), hazard::describe(violation, code.words, target).c_str());
      }
      for (auto [words_, sum] : {std::pair(std::span<const isa::Word>(words), &theirs),
                                 std::pair(std::span<const isa::Word>(code.words), &ours)}) {
        const Cost cost = costOf(words_, target);
        sum->estimate += cost.estimate;
        sum->cycles += cost.cycles;
        sum->waits += cost.waits;
        sum->nops += cost.nops;
      }
    }
  }
  std::printf("functions %lu, skipped %lu, violations %lu\n", functions, skipped, violations);
  std::printf("cycles: ptxas %lu, ours %lu (%.3f); waits: ptxas %lu, ours %lu; NOPs: ptxas %lu, ours %lu\n",
              theirs.cycles, ours.cycles,
              theirs.cycles == 0 ? 0.0 : static_cast<double>(ours.cycles) / static_cast<double>(theirs.cycles),
              theirs.waits, ours.waits, theirs.nops, ours.nops);
  std::printf("estimated with scoreboards: ptxas %lu, ours %lu (%.3f)\n", theirs.estimate, ours.estimate,
              theirs.estimate == 0 ? 0.0 : static_cast<double>(ours.estimate) / static_cast<double>(theirs.estimate));
  return violations == 0 ? 0 : 1;
}
