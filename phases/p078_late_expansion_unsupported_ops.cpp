#include "encoder/isa/desc.h"
#include "ori/cfg_edit.h"
#include "phases/copy_block.h"
#include "phases/expansion.h"
#include "phases/phases.h"

#include <vector>

namespace orias::phases {

namespace {

/// The code after a slow path that is copied: moves of the result, and the branch back.
constexpr unsigned kMaxCopied = 4;

/// Whether a block only copies values and then branches back to the fast path.
bool isReturn(const ori::Block& block) {
  const ori::Instr* branch = ori::plainBranch(block);
  if (!branch || branch->isGuarded()) return false;
  unsigned count = 0;
  for (const ori::Instr& instr : block)
    if (++count > kMaxCopied || (&instr != branch && !isa::desc(instr.op).has(isa::Flag::Copy))) return false;
  return true;
}

/// Expands a macro. A second path of its code returns by itself, so that its lanes need not reconverge with the others
/// before.
void expand(ori::Function& function, ori::Instr* macro) {
  const ori::Block* block = macro->block;
  isDoubleMacro(*macro) ? expandSlowDoubleMacro(function, macro) : expandSlowFloatMacro(function, macro);
  const ori::Instr* branch = ori::plainBranch(*block);
  if (!branch || !branch->isGuarded()) return; // there is only one path
  const ori::Block& rest = *function.block(block->fallthrough);
  if (!isReturn(rest)) return;
  ori::Block* second = function.block(branch->op_(1).reg);
  function.erase(second->last);
  copyBlock(function, rest, second, [](ori::BlockId id) { return id; });
}

} // namespace

/// Phase 78. Expands the slow paths of exactly rounded divisions and roots, which phase 5 left as macros in cold
/// blocks. Each is up to 70 instructions in three blocks, where optimization has little to gain.
bool lateExpansionUnsupportedOps(ori::Function& function, PhaseContext&) {
  std::vector<ori::Instr*> macros;
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      if (isExactMacro(instr)) macros.push_back(&instr);
  for (ori::Instr* macro : macros)
    expand(function, macro);
  return !macros.empty();
}

} // namespace orias::phases
