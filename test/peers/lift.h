#pragma once

// Converts machine words back to an allocated Ori function, so that phases after allocation can be tried on the code of
// others.

#include "encoder/isa/codec.h"
#include "ori/function.h"

#include <map>
#include <optional>
#include <vector>

namespace orias::test {

/// Appends the words to `function`, with blocks split at targets and ends of blocks. Returns false if a word has no
/// row, or if the words alone do not determine the control flow (calls, returns, branches to a register). Control
/// fields and NOPs are dropped.
inline bool lift(std::span<const isa::Word> words, ori::Function& function) {
  std::vector<isa::Inst> insts;
  for (const isa::Word& word : words) {
    const auto inst = isa::decode(word);
    if (!inst) return false;
    insts.push_back(*inst);
  }
  const auto labelOf = [&](std::size_t i) -> std::optional<std::size_t> {
    for (unsigned s = 0; s < insts[i].operandCount; ++s)
      if (insts[i].operands[s].kind == isa::Operand::Kind::Label)
        return static_cast<std::size_t>(static_cast<std::int64_t>(i) + 1 + insts[i].operands[s].imm / 16);
    return std::nullopt;
  };
  std::map<std::size_t, ori::Block*> starts{{0, nullptr}};
  for (std::size_t i = 0; i < insts.size(); ++i) {
    const isa::InstrDesc& row = isa::desc(insts[i].op);
    for (const char* stem : {"CALL", "RET", "BRX", "JMX", "WARPSYNC.COLLECTIVE"})
      if (row.mnemonic.starts_with(stem)) return false;
    if (const auto label = labelOf(i)) {
      if (*label >= insts.size()) return false;
      starts[*label] = nullptr;
    }
    if (row.has(isa::Flag::Terminator)) starts[i + 1] = nullptr;
  }
  starts.erase(insts.size());
  for (auto& [at, block] : starts)
    block = function.newBlock();
  ori::Block* block = nullptr;
  for (std::size_t i = 0; i < insts.size(); ++i) {
    if (const auto start = starts.find(i); start != starts.end()) {
      if (block) block->fallthrough = start->second->id;
      block = start->second;
    }
    isa::Inst inst = insts[i];
    const isa::InstrDesc& row = isa::desc(inst.op);
    if (inst.op == isa::Op::NOP) continue;
    for (unsigned s = 0; s < inst.operandCount; ++s) {
      isa::Operand& operand = inst.operands[s];
      operand.flags &= static_cast<std::uint8_t>(~isa::Operand::kReuse);
      if (operand.kind == isa::Operand::Kind::Label) operand = isa::Operand::label(starts.at(*labelOf(i))->id);
    }
    ori::Instr* instr =
        function.append(block, function.create(inst.op, std::span(inst.operands.data(), inst.operandCount)));
    instr->mods = inst.mods;
    function.setGuard(instr, inst.guard);
    bool isConditional = !inst.guard.isZeroReg();
    for (unsigned s = 0; s < inst.operandCount; ++s)
      isConditional |= inst.operands[s].isReg() && !inst.operands[s].isZeroReg();
    if (row.has(isa::Flag::Terminator) && !isConditional) block = nullptr;
    if (block == nullptr && i + 1 < insts.size() && !starts.count(i + 1)) return false;
  }
  function.allocated = true;
  return true;
}

} // namespace orias::test
