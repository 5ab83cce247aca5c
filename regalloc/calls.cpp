#include "regalloc/calls.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "regalloc/call_abi.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace orias::regalloc {

using isa::File;
using ori::Op;
using IsaOperand = isa::Operand;

bool hasCalls(const ori::Function& function) {
  for (const ori::Block* block : function.layout())
    for (const ori::Instr& instr : *block)
      if (isCall(instr)) return true;
  return false;
}

namespace {

IsaOperand reg(std::uint32_t number, unsigned width = 1) {
  return IsaOperand::physical(File::R, number, width);
}

/// Free before a call: arguments stand elsewhere, and so does what lives across it.
constexpr std::uint32_t kScratch = 0;

struct Move {
  std::uint32_t to, from;
};

/// Moves that happen at once, one after the other: first those whose target nobody reads any more; where all that are
/// left go in circles, one word steps aside.
void emitMoves(ori::Builder& b, std::vector<Move> moves) {
  std::erase_if(moves, [](const Move& m) { return m.to == m.from; });
  while (!moves.empty()) {
    const auto isRead = [&](std::uint32_t r) {
      return std::any_of(moves.begin(), moves.end(), [&](const Move& m) { return m.from == r; });
    };
    auto ready = std::find_if(moves.begin(), moves.end(), [&](const Move& m) { return !isRead(m.to); });
    if (ready != moves.end()) {
      b.emit(Op::MOV, {reg(ready->to), reg(ready->from)});
      moves.erase(ready);
      continue;
    }
    const std::uint32_t blocked = moves.front().from;
    b.emit(Op::MOV, {reg(kScratch), reg(blocked)});
    for (Move& m : moves)
      if (m.from == blocked) m.from = kScratch;
  }
}

/// On chips before sm_90 LEPC knows no other place than its own: it begins a block, which ends with the call, and
/// settleReturnAddresses() finds the distance to add. Returns the block behind the call.
ori::Block* emitOwnAddress(ori::Function& function, ori::Builder& b, ori::Instr* call) {
  ori::Block* here = function.splitAfter(b.emit(Op::MOV, {reg(kScratch), IsaOperand::immediate(1)}));
  ori::Block* behind = function.splitAfter(call);
  b = ori::Builder::before(function, call);
  b.setSource(call->source);
  b.emit(Op::LEPC, {reg(kReturnAddress, 2), IsaOperand::label(here->id)});
  b.emit(Op::IMAD_WIDE,
         {reg(kReturnAddress, 2), IsaOperand::pt(), reg(kScratch), IsaOperand::immediate(0), reg(kReturnAddress, 2)},
         {{isa::Mod::Type, isa::IntType::U32}});
  return behind;
}

void expand(ori::Function& function, ori::Instr* call) {
  ori::Builder b = ori::Builder::before(function, call);
  b.setSource(call->source);
  std::vector<Move> moves;
  std::vector<std::pair<std::uint32_t, IsaOperand>> constants;
  std::uint32_t to = kFirstArgument;
  for (unsigned i = 2; i < call->operandCount; ++i) {
    const IsaOperand given = call->op_(i).value();
    for (unsigned w = 0; w < given.width; ++w, ++to)
      if (!given.isReg())
        constants.emplace_back(to, ori::component(given, w));
      else if (!given.isZeroReg())
        moves.push_back({to, given.reg + w});
  }
  emitMoves(b, std::move(moves));
  for (const auto& [place, value] : constants)
    b.emit(Op::MOV, {reg(place), value});
  b.emit(Op::LDC, {reg(kCalleeAddress, 2), IsaOperand::immediate(4), IsaOperand::rz(), call->op_(1).value()},
         {{isa::Mod::Size, isa::MemSize::B64}});
  ori::Block* behind = nullptr;
  if (function.module().target().hasClusters()) {
    behind = function.splitAfter(call);
    b.emit(Op::LEPC, {reg(kReturnAddress, 2), IsaOperand::label(behind->id)});
  } else {
    behind = emitOwnAddress(function, b, call);
  }
  b.emit(Op::CALL_ABS_R, {IsaOperand::pt(), reg(kCalleeAddress, 2)});
  ori::Builder after = behind->first ? ori::Builder::before(function, behind->first) : ori::Builder(function, behind);
  after.setSource(call->source);
  const IsaOperand result = call->op_(0).value();
  if (!result.isZeroReg())
    for (unsigned w = 0; w < result.width; ++w)
      after.emit(Op::MOV, {ori::component(result, w), reg(kFirstArgument + w)});
  function.erase(call);
}

} // namespace

void expandCalls(ori::Function& function) {
  std::vector<ori::Instr*> calls;
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      if (isCall(instr)) calls.push_back(&instr);
  for (ori::Instr* call : calls)
    expand(function, call);
  settleReturnAddresses(function);
}

void settleReturnAddresses(ori::Function& function) {
  if (function.module().target().hasClusters()) return;
  constexpr std::int32_t kInstructionBytes = 16;
  for (ori::Block* block : function.layout()) {
    if (block->first == nullptr || block->first->op != Op::LEPC) continue;
    std::int32_t bytes = 0;
    ori::Instr* sum = nullptr;
    for (ori::Instr& instr : *block) {
      bytes += kInstructionBytes;
      if (instr.op == Op::IMAD_WIDE) sum = &instr;
    }
    const int distance = isa::desc(Op::IMAD_WIDE).slotIndex("Rb");
    function.setOperand(sum, static_cast<unsigned>(distance), IsaOperand::immediate(bytes));
  }
}

} // namespace orias::regalloc
