#include "phases/tail_merge.h"

#include "encoder/isa/desc.h"

#include <algorithm>

namespace orias::phases {

using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;

bool mayBeShared(const Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (Flag flag : {Flag::Convergent, Flag::Fence, Flag::Branch, Flag::Terminator, Flag::WarpWide})
    if (row.has(flag)) return false;
  if (row.pipe == isa::Pipe::Cbu || row.pipe == isa::Pipe::Mma) return false;
  if (row.has(Flag::SideEffect) && !row.has(Flag::Store) && !row.has(Flag::Atomic)) return false;
  return std::none_of(instr.ops().begin(), instr.ops().end(), [](const ori::Operand& o) { return o.isLabel(); });
}

bool isPlainExit(const Instr& instr) {
  return instr.op == Op::EXIT && !ori::isConditional(instr);
}

void dropEmptyBlocks(ori::Function& function, const std::vector<bool>& isNamed) {
  const auto isNothing = [&](const Block& block) {
    return block.empty() && !isNamed[block.id] && block.fallthrough != kNoId && block.fallthrough != block.id &&
           &block != function.entry();
  };
  // The block where an empty block finally leads; blocks of an endless empty loop lead to themselves.
  const auto onFrom = [&](BlockId id) {
    BlockId at = id;
    for (std::size_t steps = 0; isNothing(*function.block(at)); ++steps) {
      if (steps > function.layout().size()) return id;
      at = function.block(at)->fallthrough;
    }
    return at;
  };
  // Computed before anything changes, as it takes many steps to detect an endless loop.
  std::vector<BlockId> end(function.blockIdCount(), kNoId);
  for (const Block* block : function.layout())
    end[block->id] = onFrom(block->id);
  for (Block* block : function.layout()) {
    if (block->fallthrough != kNoId) block->fallthrough = end[block->fallthrough];
    if (!block->last || !ori::isTerminator(block->last->op)) continue;
    for (unsigned i = 0; i < block->last->operandCount; ++i)
      if (block->last->op_(i).isLabel())
        function.setOperand(block->last, i, Operand::label(end[block->last->op_(i).reg]));
  }
  std::vector<bool> doomed(function.blockIdCount(), false);
  for (const Block* block : function.layout())
    doomed[block->id] = end[block->id] != block->id;
  function.eraseBlocks(doomed);
}

} // namespace orias::phases
