#include "encoder/control_flow.h"

#include "encoder/code.h"
#include "encoder/isa/codec.h"
#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"

namespace orias::encoder {

Flow flowOf(const isa::Inst& inst, std::uint32_t index, std::uint32_t count) {
  const isa::InstrDesc& row = isa::desc(inst.op);
  Flow flow;
  flow.isCall = row.mnemonic.starts_with("CALL");
  flow.isReturn = row.mnemonic.starts_with("RET");
  flow.isIndirect = row.mnemonic.starts_with("BRX");
  bool isConditional = !inst.guard.isZeroReg();
  for (unsigned i = 0; i < inst.operandCount; ++i) {
    const isa::Operand& operand = inst.operands[i];
    // A branch may have a second condition, or one on a uniform register (BRA.DIV).
    if (operand.isReg() && !operand.isZeroReg() && operand.file != isa::File::R) isConditional = true;
    if (operand.kind != isa::Operand::Kind::Label) continue;
    const std::int64_t to = static_cast<std::int64_t>(index) + 1 + operand.imm / static_cast<int>(kWordBytes);
    if (to < 0 || to >= static_cast<std::int64_t>(count)) continue;
    // The label of RET is the function that it leaves; that of BRX is the base of its register. Neither is a target.
    if (row.has(isa::Flag::Branch) && !flow.isReturn && !flow.isIndirect) flow.target = static_cast<std::uint32_t>(to);
    if (inst.op == isa::Op::CALL_REL) flow.callee = static_cast<std::uint32_t>(to);
  }
  flow.fallsThrough = flow.isCall || !row.has(isa::Flag::Terminator) || isConditional;
  return flow;
}

std::vector<Flow> flowsOf(std::span<const isa::Word> words, const isa::Target& target) {
  const auto count = static_cast<std::uint32_t>(words.size());
  std::vector<Flow> flows(count);
  for (std::uint32_t i = 0; i < count; ++i)
    if (const auto inst = isa::decodeFor(target, words[i])) flows[i] = flowOf(*inst, i, count);
  return flows;
}

std::vector<FlowBlock> flowBlocks(std::span<const Flow> flows, const IndirectTargets& indirect) {
  const auto count = static_cast<std::uint32_t>(flows.size());
  std::vector<char> isLeader(count + 1, 0);
  isLeader[0] = 1;
  for (std::uint32_t i = 0; i < count; ++i) {
    const Flow& flow = flows[i];
    if (flow.target) isLeader[*flow.target] = 1;
    if (flow.callee) isLeader[*flow.callee] = 1;
    if (flow.target || flow.isCall || flow.isIndirect || flow.isReturn || !flow.fallsThrough) isLeader[i + 1] = 1;
  }
  for (const auto& [branch, targets] : indirect)
    for (std::uint32_t target : targets)
      if (target < count) isLeader[target] = 1;

  std::vector<FlowBlock> blocks;
  std::vector<std::uint32_t> blockAt(count, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (isLeader[i]) blocks.push_back({i, i, {}});
    blocks.back().end = i + 1;
    blockAt[i] = static_cast<std::uint32_t>(blocks.size() - 1);
  }
  using Kind = FlowEdge::Kind;
  for (FlowBlock& block : blocks) {
    const Flow& last = flows[block.end - 1];
    if (last.fallsThrough && block.end < count)
      block.successors.push_back({blockAt[block.end], last.isCall ? Kind::AfterCall : Kind::FallThrough});
    if (last.target) block.successors.push_back({blockAt[*last.target], Kind::Taken});
    if (const auto table = indirect.find(block.end - 1); table != indirect.end())
      for (std::uint32_t target : table->second)
        if (target < count) block.successors.push_back({blockAt[target], Kind::Indirect});
  }
  return blocks;
}

} // namespace orias::encoder
