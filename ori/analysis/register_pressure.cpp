#include "ori/analysis/register_pressure.h"

#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/analysis/live_counter.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace orias::ori {

namespace {

constexpr auto kR = static_cast<std::size_t>(File::R), kP = static_cast<std::size_t>(File::P);

template <typename T> void sortUnique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// The registers that the code of a division or root needs beyond those that are live before it: the slow paths that
/// phase 78 expands (measured).
unsigned registersOfMacro(const Instr& instr) {
  const auto isDouble = [&] { return isa::modAs<isa::MacroType>(instr, isa::Mod::MacroType) == isa::MacroType::F64; };
  switch (instr.op) {
  case Op::FDIV: return isDouble() ? 10 : 6;
  case Op::FRCP: return isDouble() ? 12 : 7;
  case Op::FSQRT: return isDouble() ? 6 : 4;
  default: return 0;
  }
}

} // namespace

RegisterPressure::RegisterPressure(const Liveness& liveness)
    : byBlock_(liveness.cfg().idCount()), liveIn_(byBlock_.size()), liveOut_(byBlock_.size()) {
  rescan(liveness, liveness.cfg().reversePostOrder());
}

void RegisterPressure::update(const Liveness& liveness, std::vector<BlockId> blocks,
                              std::span<const LiveChange> changes) {
  for (const LiveChange& change : changes)
    if (change.isNamed || change.in != change.out) blocks.push_back(change.block);
  sortUnique(blocks);
  for (const LiveChange& change : changes)
    if (!std::ranges::binary_search(blocks, change.block)) shift(change.block, change.in);
  rescan(liveness, blocks);
}

void RegisterPressure::rescan(const Liveness& liveness, std::span<const BlockId> blocks) {
  LiveCounter counter(liveness);
  for (const BlockId id : blocks) {
    const Block& block = *liveness.cfg().function().block(id);
    counter.enter(block);
    liveOut_[id] = counter.counts();
    unsigned ofMacros = 0;
    for (const Instr* instr = block.last; instr; instr = instr->prev) {
      counter.step(*instr);
      if (const unsigned more = registersOfMacro(*instr)) ofMacros = std::max(ofMacros, counter.counts()[kR] + more);
    }
    byBlock_[id] = counter.maximum();
    byBlock_[id][kR] = std::max(byBlock_[id][kR], ofMacros);
    liveIn_[id] = counter.counts();
  }
  maximum_ = {};
  for (const FileCounts& counts : byBlock_)
    for (unsigned f = 0; f < isa::kFileCount; ++f)
      maximum_[f] = std::max(maximum_[f], counts[f]);
}

void RegisterPressure::shift(BlockId block, const std::array<int, isa::kFileCount>& more) {
  for (FileCounts* counts : {&byBlock_[block], &liveIn_[block], &liveOut_[block]})
    for (unsigned f = 0; f < isa::kFileCount; ++f)
      (*counts)[f] += static_cast<unsigned>(more[f]);
}

std::vector<FileCounts> liveBefore(const Liveness& liveness, const Block& block) {
  std::vector<FileCounts> counts;
  LiveCounter counter(liveness);
  counter.enter(block);
  for (const Instr* instr = block.last; instr; instr = instr->prev) {
    counter.step(*instr);
    counts.push_back(counter.counts());
  }
  std::reverse(counts.begin(), counts.end());
  return counts;
}

IncrementalPressure::IncrementalPressure(const Cfg& cfg, bool isVerified)
    : cfg_(cfg), isVerified_(isVerified), liveness_(cfg.function().analyses().liveness()),
      pressure_(cfg.function().analyses().pressure()) {}

void IncrementalPressure::note(const Instr& instr) {
  blocks_.push_back(instr.block->id);
  for (const Operand& operand : instr.refs())
    if (operand.isVirtual()) registers_.push_back(operand.reg);
}

void IncrementalPressure::update() {
  if (blocks_.empty()) return;
  sortUnique(registers_);
  const std::vector<LiveChange> changes = liveness_.update(registers_);
  pressure_.update(liveness_, std::exchange(blocks_, {}), changes);
  registers_.clear();
  if (isVerified_) verify();
}

void IncrementalPressure::verify() const {
  const Liveness liveness(cfg_);
  const RegisterPressure full(liveness);
  for (const BlockId id : cfg_.reversePostOrder())
    for (unsigned f = 0; f < isa::kFileCount; ++f) {
      const bool isRight = full.inBlock(id)[f] == pressure_.inBlock(id)[f] &&
                           full.liveIn(id)[f] == pressure_.liveIn(id)[f] &&
                           full.liveOut(id)[f] == pressure_.liveOut(id)[f];
      ORIAS_CHECK(
          isRight,
          fmt::format("Incorrect RP info from incremental MRPA update: in .L{} {} registers of file {} are live "
                      "at most, {} into it and {} out of it; {}, {} and {} were counted",
                      id, full.inBlock(id)[f], f, full.liveIn(id)[f], full.liveOut(id)[f], pressure_.inBlock(id)[f],
                      pressure_.liveIn(id)[f], pressure_.liveOut(id)[f]));
    }
}

std::string renderPressure(const Function& function, const RegisterPressure& pressure, const Cfg& cfg) {
  std::size_t size = 0;
  for (const Block* block : function.layout())
    for (const Instr* instr = block->first; instr; instr = instr->next)
      ++size;
  std::string text = fmt::format("Max Live RRegs: {}\tPRegs: {}\nFunction Size: {}\n", pressure.maximum()[kR],
                                 pressure.maximum()[kP], size);
  for (const Block* block : function.layout()) {
    if (!cfg.isReachable(block->id)) continue;
    const FileCounts in = pressure.liveIn(block->id);
    text += fmt::format("Block .L{}: live-in RRegs: {}\tPRegs: {}\tmax RRegs: {}\n", block->id, in[kR], in[kP],
                        pressure.inBlock(block->id)[kR]);
  }
  return text;
}

} // namespace orias::ori
