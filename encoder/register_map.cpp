#include "encoder/register_map.h"

#include "ori/analysis/analyses.h"

#include <bitset>
#include <utility>
#include <vector>

namespace orias::encoder {

namespace {

/// Physical registers of all files, in the order of their components.
using Registers = std::bitset<512>;

/// The components of virtual registers, of which none is left at this point, precede those of physical registers.
std::size_t indexOf(const ori::Components& components, ori::CompId c) {
  return c - components.virtualCount();
}

void addWrites(const ori::Components& components, const ori::Instr& instr, Registers& written) {
  for (const ori::Operand& operand : instr.refs())
    if (operand.isReg() && operand.isDef && !operand.isVirtual())
      components.forEach(operand, [&](ori::CompId c) { written.set(indexOf(components, c)); });
}

/// By block: the registers that may have been written before it.
std::vector<Registers> maybeWritten(const ori::Function& function, const ori::Cfg& cfg,
                                    const ori::Components& components) {
  std::vector<Registers> in(function.blockIdCount());
  for (bool changed = true; changed;) {
    changed = false;
    for (ori::BlockId id : cfg.reversePostOrder()) {
      Registers out = in[id];
      for (const ori::Instr& instr : *function.block(id))
        addWrites(components, instr, out);
      for (ori::BlockId next : cfg.successors(id)) {
        changed |= (out & ~in[next]).any();
        in[next] |= out;
      }
    }
  }
  return in;
}

/// Calls f(instruction, registers live after it, components) in layout order. A register that only guarded code reads
/// is live before that code also on paths that never wrote it. Such registers are omitted.
template <typename F> void forEachLive(const ori::Function& function, F&& f) {
  const ori::Cfg& cfg = function.analyses().cfg();
  const ori::Liveness& liveness = function.analyses().liveness();
  const ori::Components& components = liveness.components();
  std::vector<Registers> written = maybeWritten(function, cfg, components);
  ori::LiveCursor cursor(liveness);
  std::vector<std::pair<const ori::Instr*, Registers>> liveAfter; // of a block, last one first
  for (const ori::Block* block : function.layout()) {
    liveAfter.clear();
    cursor.enter(*block);
    for (const ori::Instr* at = cursor.next(); at; at = cursor.next()) {
      Registers live;
      for (ori::CompId c : cursor.live())
        if (!components.isVirtual(c)) live.set(indexOf(components, c));
      liveAfter.emplace_back(at, live);
      cursor.step();
    }
    for (auto it = liveAfter.rbegin(); it != liveAfter.rend(); ++it) {
      addWrites(components, *it->first, written[block->id]);
      f(*it->first, it->second & written[block->id], components);
    }
  }
}

template <typename F> void forEachRegister(const Registers& registers, const ori::Components& components, F&& f) {
  for (std::size_t r = registers._Find_first(); r < registers.size(); r = registers._Find_next(r))
    f(static_cast<ori::CompId>(r + components.virtualCount()));
}

} // namespace

std::vector<LiveCounts> registerMap(const ori::Function& function, const FunctionCode& code) {
  std::vector<LiveCounts> byInstr(function.instrIdCount());
  forEachLive(function, [&](const ori::Instr& instr, const Registers& live, const ori::Components& components) {
    forEachRegister(live, components,
                    [&](ori::CompId c) { ++byInstr[instr.id][static_cast<std::size_t>(components.file(c))]; });
  });
  std::vector<LiveCounts> map(code.words.size());
  for (std::size_t i = 0; i < map.size(); ++i)
    if (code.origin[i]) map[i] = byInstr[code.origin[i]->id];
  return map;
}

std::vector<LiveRange> liveRanges(const ori::Function& function, const FunctionCode& code) {
  std::vector<Registers> after(function.instrIdCount());
  Registers all;
  std::vector<std::pair<isa::File, std::uint32_t>> names(Registers().size()); // by index
  forEachLive(function, [&](const ori::Instr& instr, const Registers& live, const ori::Components& components) {
    after[instr.id] = live;
    forEachRegister(live & ~all, components, [&](ori::CompId c) {
      names[indexOf(components, c)] = {components.file(c), components.physicalNumber(c)};
    });
    all |= live;
  });
  std::vector<LiveRange> ranges;
  const auto count = static_cast<std::uint32_t>(code.words.size());
  for (std::size_t r = all._Find_first(); r < all.size(); r = all._Find_next(r)) {
    bool isOpen = false;
    for (std::uint32_t i = 0; i < count; ++i) {
      const bool isLive = code.origin[i] && after[code.origin[i]->id][r];
      if (isLive && !isOpen) ranges.push_back({names[r].first, names[r].second, i, i});
      if (isLive) ranges.back().end = i + 1;
      isOpen = isLive;
    }
  }
  return ranges;
}

} // namespace orias::encoder
