#include "ori/builder.h"
#include "ori/jump_table.h"
#include "ori/module.h"
#include "phases/phases.h"

#include <algorithm>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::Instr;

namespace {

class Expansion {
 public:
  explicit Expansion(ori::Function& function) : function_(function) {
    for (const Block* block : function.layout())
      if (block->last && block->last->op == Op::BRX) {
        const ori::JumpTable table = ori::jumpTableOf(*block->last);
        const auto bytes = static_cast<std::uint32_t>(table.targets.size()) * ori::kJumpEntryBytes;
        end_ = std::max(end_, table.offset + bytes);
      }
  }

  /// Adds four times the number to the table's address, and branches to the entry's target.
  void expand(Instr* jump) {
    std::vector<Operand> labels;
    for (unsigned i = ori::kJmxLabels; i < jump->operandCount; ++i)
      labels.push_back(jump->op_(i).value());
    ori::Builder b = ori::Builder::before(function_, jump);
    b.setSource(jump->source);
    const Operand index = jump->op_(0).value();
    const bool isSingle = std::ranges::count(labels, labels.front()) == static_cast<std::ptrdiff_t>(labels.size());
    if (isSingle || index.isImm() || index.isZeroReg()) {
      const std::size_t at = isSingle || index.isZeroReg() ? 0 : static_cast<std::uint32_t>(index.imm);
      const Operand branch[] = {Operand::pt(), labels.at(std::min(at, labels.size() - 1))};
      function_.rewrite(jump, Op::BRA, branch);
      return;
    }
    Operand word = index;
    if (!word.isReg(File::R) || word.neg()) {
      word = b.newR();
      b.copy(word, index);
    }
    const Operand scaled = b.newR(), place = b.newR(2);
    std::int32_t offset = static_cast<std::int32_t>(end_);
    if (function_.module().relocatable) {
      offset -= ori::kRelocatableBase;
      b.emit(Op::LEA, {scaled, Operand::pt(), word, Operand::immediate(ori::kRelocatableBase), Operand::immediate(2)});
    } else {
      b.emit(Op::IMAD, {scaled, word, Operand::immediate(ori::kJumpEntryBytes), Operand::rz()});
    }
    b.emit(Op::LDC,
           {ori::component(place, 0), Operand::immediate(ori::kTableBank), scaled, Operand::immediate(offset)});
    // The table begins at the bank's start, so the high word is zero.
    b.copy(ori::component(place, 1), Operand::rz());
    std::vector<Operand> operands = {Operand::pt(), place, labels.front(),
                                     Operand::immediate(static_cast<std::int32_t>(end_))};
    operands.insert(operands.end(), labels.begin(), labels.end());
    end_ += static_cast<std::uint32_t>(labels.size()) * ori::kJumpEntryBytes;
    function_.append(jump->block, function_.create(Op::BRX, operands, jump->source));
    function_.erase(jump);
  }

 private:
  ori::Function& function_;
  std::uint32_t end_ = 0; ///< of the tables so far, in bytes
};

} // namespace

/// Phase 80. Expands a branch to one of many blocks into a load from a table in constant bank 2, and a BRX to the
/// loaded word.
bool expandJmxComputation(ori::Function& function, PhaseContext&) {
  if (!function.everHad(Op::JMX)) return false;
  Expansion expansion(function);
  bool changed = false;
  for (Block* block : function.layout()) {
    if (!block->last || block->last->op != Op::JMX) continue;
    expansion.expand(block->last);
    changed = true;
  }
  return changed;
}

} // namespace orias::phases
