#include "regalloc/calls.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/calls.h"
#include "ori/module.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace orias::regalloc {

using isa::File;
using ori::Op;
using IsaOperand = isa::Operand;

namespace {

IsaOperand reg(std::uint32_t number, unsigned width = 1) {
  return IsaOperand::physical(File::R, number, width);
}

bool isOfFileR(const IsaOperand& o) {
  return o.isReg(File::R) && !o.isZeroReg();
}

/// On chips before sm_90 LEPC returns only its own address. It begins a block, which ends with the call, and
/// settleReturnAddresses() computes the distance to add. Returns the block after the call.
ori::Block* emitOwnAddress(ori::Function& function, ori::Builder& b, ori::Instr* call, const IsaOperand& pair,
                           std::uint32_t scratch) {
  ori::Block* here = function.splitAfter(b.emit(Op::MOV, {reg(scratch), IsaOperand::immediate(1)}));
  ori::Block* behind = function.splitAfter(call);
  b = ori::Builder::before(function, call);
  b.setSource(call->source);
  b.emit(Op::LEPC, {pair, IsaOperand::label(here->id)});
  b.emit(Op::IMAD_WIDE, {pair, IsaOperand::pt(), reg(scratch), IsaOperand::immediate(0), pair},
         {{isa::Mod::Type, isa::IntType::U32}});
  return behind;
}

/// Moves the words of the operands from `first` on to the registers from R4 on.
std::vector<Move> argumentMoves(const ori::Instr& call, unsigned first, unsigned end) {
  std::vector<Move> moves;
  std::uint32_t to = ori::kFirstArgument;
  for (unsigned i = first; i < end; ++i) {
    const IsaOperand given = call.op_(i).value();
    for (unsigned w = 0; w < given.width; ++w, ++to) {
      // Empty words of a tuple are not arguments.
      if (given.isZeroReg() && call.op == Op::CALL_EXTERN) continue;
      moves.push_back({to, ori::component(given, w)});
    }
  }
  return moves;
}

IsaOperand half(IsaOperand symbol, bool isHigh) {
  symbol.sub = isHigh ? 1 : 0;
  return symbol;
}

/// The code after a call takes the results from R4 on.
void takeResults(ori::Builder& b, const ori::Instr& call, unsigned count) {
  std::uint32_t from = ori::kFirstArgument;
  std::vector<Move> moves;
  for (unsigned i = 0; i < count; ++i) {
    const IsaOperand result = call.op_(i).value();
    if (!result.isZeroReg())
      for (unsigned w = 0; w < result.width; ++w)
        moves.push_back({result.reg + w, reg(from + w)});
    from += 4;
  }
  emitMoves(b, std::move(moves), ori::kScratchAtEntry);
}

void expand(ori::Function& function, ori::Instr* call) {
  const unsigned results = call->op == Op::CALL_FUNCTION ? ori::kResultTuples : 1;
  const IsaOperand callee = call->op_(results).value();
  const bool isPointer = ori::isThroughPointer(*call);
  const std::uint32_t address =
      ori::conventionOf(*call) == ori::Convention::Pointer ? ori::kCalleeBelowArguments : ori::kCalleeAddress;
  ori::Builder b = ori::Builder::before(function, call);
  b.setSource(call->source);
  const unsigned end = call->operandCount - (function.hasFramePointer ? 1 : 0);
  std::vector<Move> moves = argumentMoves(*call, results + 1, end);
  if (function.hasFramePointer) moves.push_back({ori::kStackPointer, call->op_(end).value()});
  for (unsigned w = 0; isPointer && w < callee.width; ++w)
    moves.push_back({address + w, ori::component(callee, w)});
  emitMoves(b, std::move(moves), ori::kScratchBeforeCall);
  const bool isSymbol = callee.kind == IsaOperand::Kind::Symbol;
  if (!isSymbol && !isPointer)
    b.emit(Op::LDC, {reg(address, 2), IsaOperand::immediate(4), IsaOperand::rz(), callee},
           {{isa::Mod::Size, isa::MemSize::B64}});
  ori::Block* behind = emitReturnAddress(function, call, ori::kReturnAddress, ori::kScratchBeforeCall);
  b = ori::Builder::before(function, call);
  b.setSource(call->source);
  if (isSymbol)
    b.emit(Op::CALL_ABS, {IsaOperand::pt(), callee});
  else
    b.emit(Op::CALL_ABS_R, {IsaOperand::pt(), reg(address, 2)});
  ori::Builder after = behind->first ? ori::Builder::before(function, behind->first) : ori::Builder(function, behind);
  after.setSource(call->source);
  takeResults(after, *call, results);
  function.erase(call);
}

} // namespace

ori::Block* emitReturnAddress(ori::Function& function, ori::Instr* call, std::uint32_t pair, std::uint32_t scratch) {
  ori::Builder b = ori::Builder::before(function, call);
  b.setSource(call->source);
  if (!function.module().target().has(isa::Capability::LabelAddresses))
    return emitOwnAddress(function, b, call, reg(pair, 2), scratch);
  ori::Block* behind = function.splitAfter(call);
  b.emit(Op::LEPC, {reg(pair, 2), IsaOperand::label(behind->id)});
  return behind;
}

/// First the moves whose target no remaining move reads. If only cycles are left, one word moves to `scratch`.
void emitMoves(ori::Builder& b, std::vector<Move> moves, std::uint32_t scratch) {
  std::vector<Move> constants;
  std::erase_if(moves, [&](const Move& m) {
    if (!isOfFileR(m.from)) constants.push_back(m);
    return !isOfFileR(m.from) || m.from.reg == m.to;
  });
  while (!moves.empty()) {
    const auto isRead = [&](std::uint32_t r) {
      return std::any_of(moves.begin(), moves.end(), [&](const Move& m) { return m.from.reg == r; });
    };
    auto ready = std::find_if(moves.begin(), moves.end(), [&](const Move& m) { return !isRead(m.to); });
    if (ready != moves.end()) {
      b.emit(Op::MOV, {reg(ready->to), ready->from});
      moves.erase(ready);
      continue;
    }
    const std::uint32_t blocked = moves.front().from.reg;
    b.emit(Op::MOV, {reg(scratch), reg(blocked)});
    for (Move& m : moves)
      if (m.from.reg == blocked) m.from = reg(scratch);
  }
  for (const Move& m : constants)
    b.emit(Op::MOV, {reg(m.to), m.from});
}

void expandCalls(ori::Function& function) {
  std::vector<ori::Instr*> calls;
  for (ori::Block* block : function.layout())
    for (ori::Instr& instr : *block)
      if (ori::isCall(instr)) calls.push_back(&instr);
  for (ori::Instr* call : calls)
    expand(function, call);
  settleReturnAddresses(function);
}

void expandAddresses(ori::Function& function) {
  for (ori::Block* block : function.layout())
    function.forEachSafe(*block, [&](ori::Instr& instr) {
      if (instr.op != Op::ADDRESS) return;
      ori::Builder b = ori::Builder::before(function, &instr);
      b.setSource(instr.source);
      b.setGuard(instr.guard().value());
      const IsaOperand to = instr.op_(0).value(), symbol = instr.op_(1).value();
      for (unsigned w = 0; w < to.width && !to.isZeroReg(); ++w)
        b.emit(Op::MOV, {ori::component(to, w), half(symbol, w == 1)});
      function.erase(&instr);
    });
}

namespace {

/// Whether the block starts with LEPC, except for NOPs that make it wait at -O0. LEPC's address is the start of the
/// block.
bool startsWithLepc(const ori::Block& block) {
  for (const ori::Instr& instr : block)
    if (instr.op != Op::NOP) return instr.op == Op::LEPC;
  return false;
}

} // namespace

void settleReturnAddresses(ori::Function& function) {
  if (function.module().target().has(isa::Capability::LabelAddresses)) return;
  constexpr std::int32_t kInstructionBytes = 16;
  ori::Block* before = nullptr; // the only predecessor of a block that starts with LEPC
  for (ori::Block* block : function.layout()) {
    ori::Block* previous = std::exchange(before, block);
    if (startsWithLepc(*block))
      while (block->first->op == Op::NOP) {
        ori::Instr* nop = block->first;
        function.unlink(nop);
        function.append(previous, nop);
      }
    if (block->first == nullptr || block->first->op != Op::LEPC) continue;
    std::int32_t bytes = 0;
    ori::Instr* sum = nullptr;
    for (ori::Instr& instr : *block) {
      bytes += kInstructionBytes;
      if (instr.op == Op::IMAD_WIDE) sum = &instr;
    }
    const int distance = isa::desc(Op::IMAD_WIDE).slotIndex(isa::SlotId::Rb);
    function.setOperand(sum, static_cast<unsigned>(distance), IsaOperand::immediate(bytes));
  }
}

} // namespace orias::regalloc
