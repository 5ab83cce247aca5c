#include "phases/uniform/gain.h"

#include "encoder/isa/effects.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/register_pressure.h"
#include "ori/module.h"
#include "phases/occupancy.h"

#include <algorithm>
#include <array>

namespace orias::phases {

namespace {

constexpr unsigned kPipes = 16;
/// With more live registers than this, fewer than two thirds of the warps fit on a multiprocessor.
constexpr unsigned kManyRegisters = 46;
/// Products of 32 bits with a 64-bit result occupy their pipe for four cycles, all other instructions for two at most.
constexpr unsigned kShort = 2;
constexpr std::int64_t kRegister = 4, kInLoop = 2, kOfShort = 2, kOfLong = 8, kOfLoad = 1;

} // namespace

std::int64_t weightOf(const ori::Block& block) {
  if (block.isCold) return 0;
  return std::int64_t{1} << 3 * std::min<unsigned>(block.loopDepth, 6);
}

UniformGain::UniformGain(const ori::Function& function)
    : target_(function.module().target()),
      hasManyRegisters_(namedRegisters(function, isa::File::R) > kManyRegisters &&
                        function.analyses().pressure().maximum()[static_cast<std::size_t>(isa::File::R)] >
                            kManyRegisters) {
  if (hasManyRegisters_) return;
  std::array<std::int64_t, kPipes> busy{}; // without a pipe: the issue slots
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block) {
      if (instr.op == ori::Op::COPY) continue; // most copies are coalesced
      const isa::LatencyClass c = isa::latencyClassOf(instr.op, instr.mods);
      busy[0] += weightOf(*block);
      if (const unsigned pipe = target_.pipe(c) % kPipes; pipe != 0)
        busy[pipe] += target_.issueCycles(c) * weightOf(*block);
    }
  busiest_ = static_cast<unsigned>(std::ranges::max_element(busy) - busy.begin());
}

std::int64_t UniformGain::of(const ori::Instr& writer) const {
  if (writer.block->loopDepth != 0) return kInLoop;
  if (hasManyRegisters_) return kRegister;
  const isa::LatencyClass c = isa::latencyClassOf(writer.op, writer.mods);
  const unsigned pipe = target_.pipe(c);
  if (pipe == 0) return kOfLoad;
  const std::int64_t gain = target_.issueCycles(c) > kShort ? kOfLong : kOfShort;
  return pipe == busiest_ ? 2 * gain : gain;
}

} // namespace orias::phases
