#include "encoder/code.h"

#include "ori/analysis/cfg.h"
#include "ori/analysis/liveness.h"

namespace orias::encoder {

std::vector<LiveCounts> registerMap(const ori::Function& function, const FunctionCode& code) {
  std::vector<LiveCounts> byInstr(function.instrIdCount());
  const ori::Cfg cfg(function);
  const ori::Liveness liveness(cfg);
  ori::LiveCursor cursor(liveness);
  for (const ori::Block* block : function.layout()) {
    cursor.enter(*block);
    for (const ori::Instr* at = cursor.next(); at; at = cursor.next()) {
      byInstr[at->id] = cursor.counts();
      cursor.step();
    }
  }
  std::vector<LiveCounts> map(code.words.size());
  for (std::size_t i = 0; i < map.size(); ++i)
    if (code.origin[i]) map[i] = byInstr[code.origin[i]->id];
  return map;
}

} // namespace orias::encoder
