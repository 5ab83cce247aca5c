#include "encoder/code.h"

#include "ori/analysis/cfg.h"
#include "ori/analysis/liveness.h"

#include <bitset>
#include <utility>
#include <vector>

namespace orias::encoder {

namespace {

/// Physical registers of all files, in the order of their components.
using Registers = std::bitset<512>;

/// Virtual registers, which are gone when this runs, come first among the components.
std::size_t indexOf(const ori::Components& components, ori::CompId c) {
  return c - components.virtualCount();
}

void addWrites(const ori::Components& components, const ori::Instr& instr, Registers& written) {
  for (const ori::Operand& operand : instr.refs())
    if (operand.isReg() && operand.isDef && !operand.isVirtual())
      components.forEach(operand, [&](ori::CompId c) { written.set(indexOf(components, c)); });
}

/// By block: what may have been written before it.
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

} // namespace

/// A register that only guarded code reads is live above that code on paths that never wrote it. Those are not counted.
std::vector<LiveCounts> registerMap(const ori::Function& function, const FunctionCode& code) {
  std::vector<LiveCounts> byInstr(function.instrIdCount());
  const ori::Cfg cfg(function);
  const ori::Liveness liveness(cfg);
  const ori::Components& components = liveness.components();
  std::vector<Registers> written = maybeWritten(function, cfg, components);
  ori::LiveCursor cursor(liveness);
  std::vector<std::pair<const ori::Instr*, Registers>> liveBehind; // of a block, last one first
  for (const ori::Block* block : function.layout()) {
    liveBehind.clear();
    cursor.enter(*block);
    for (const ori::Instr* at = cursor.next(); at; at = cursor.next()) {
      Registers live;
      for (ori::CompId c : cursor.live())
        if (!components.isVirtual(c)) live.set(indexOf(components, c));
      liveBehind.emplace_back(at, live);
      cursor.step();
    }
    for (auto it = liveBehind.rbegin(); it != liveBehind.rend(); ++it) {
      addWrites(components, *it->first, written[block->id]);
      const Registers here = it->second & written[block->id];
      for (std::size_t r = here._Find_first(); r < here.size(); r = here._Find_next(r)) {
        const auto c = static_cast<ori::CompId>(r + components.virtualCount());
        ++byInstr[it->first->id][static_cast<std::size_t>(components.file(c))];
      }
    }
  }
  std::vector<LiveCounts> map(code.words.size());
  for (std::size_t i = 0; i < map.size(); ++i)
    if (code.origin[i]) map[i] = byInstr[code.origin[i]->id];
  return map;
}

} // namespace orias::encoder
