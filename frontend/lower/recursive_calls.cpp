// Recursive functions. A call from outside opens a region of the control flow graph. The region has one entry, one
// exit, and one copy of the body of each function in the recursion. A call from inside saves the caller's registers in
// local memory below the stack pointer, writes the number of its return point to a register, and jumps. A return
// compares that register with each possible return point. The analyses and phases see loops and memory, but no calls.
//
// The liveness of the finished graph determines the saved registers, so the saves are inserted last.

#include "frontend/lower/function_lowering.h"
#include "ori/analysis/analyses.h"
#include "ori/call_abi.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

constexpr std::int64_t kWord = 4, kStackAlign = 16;

} // namespace

isa::Operand FunctionLowering::stackPointer() {
  if (stackPointer_.isNone()) {
    out_.growsStack = true;
    ori::Builder b = entryBuilder();
    stackPointer_ = b.newR();
    b.emit(IsaOp::LOP3, {IsaOperand::pt(), stackPointer_, IsaOperand::physical(File::R, ori::kStackPointer),
                         imm(-kStackAlign), IsaOperand::rz(), imm(0xc0), IsaOperand::pt().notted()});
  }
  return stackPointer_;
}

void FunctionLowering::moveStack(std::int64_t bytes) {
  emit(IsaOp::IADD3,
       {stackPointer(), IsaOperand::pt(), IsaOperand::pt(), stackPointer(), imm(bytes), IsaOperand::rz()});
}

void FunctionLowering::callRecursive(FunctionId callee, const CallValues& call) {
  for (RecursiveRegion* region : openRegions_)
    if (layout_.calls->areMutual(region->bodies.front().function, callee)) {
      callFromInside(*region, callee, call);
      return;
    }
  callFromOutside(callee, call);
}

std::size_t FunctionLowering::bodyOf(RecursiveRegion& region, FunctionId callee) {
  for (std::size_t n = 0; n < region.bodies.size(); ++n)
    if (region.bodies[n].function == callee) return n;
  RecursiveBody body;
  body.function = callee;
  body.entry = newBlock();
  body.exit = newBlock();
  const Function& function = module().function(callee);
  body.vregOf = declareRegisters(function);
  for (const Statement& s : function.statements) {
    if (s.kind != StatementKind::Variable) continue;
    const Variable& v = module().variables[s.index];
    if (v.space != StateSpace::Local) continue;
    if (v.align > kStackAlign)
      unsupported(fmt::format("the alignment of '{}' in a recursive function", module().text(v.name)));
    body.locals.push_back({VariableId(s.index), body.frameBytes});
    body.frameBytes += static_cast<std::int64_t>(v.byteSize() + kStackAlign - 1) / kStackAlign * kStackAlign;
  }
  region.bodies.push_back(std::move(body));
  return region.bodies.size() - 1;
}

void FunctionLowering::callFromOutside(FunctionId callee, const CallValues& call) {
  regions_.push_back(std::make_unique<RecursiveRegion>());
  RecursiveRegion& region = *regions_.back();
  openRegions_.push_back(&region);
  region.after = newBlock();
  region.returnTo = newR();
  stackPointer();
  const Function& function = module().function(callee);
  const std::size_t root = bodyOf(region, callee);
  passArguments(function, region.bodies[root].vregOf, call.args);
  copy(region.returnTo, Value::constant(0, 1));
  region.firstBlock = order_.size();
  for (std::size_t n = 0; n < region.bodies.size(); ++n)
    lowerRecursiveBody(region, n);
  for (std::size_t n = 0; n < region.bodies.size(); ++n)
    lowerReturn(region, n);
  region.endBlock = order_.size();
  enter(region.after);
  openRegions_.pop_back();
  takeResults(call, resultWords(function, region.bodies[root].vregOf));
}

void FunctionLowering::lowerRecursiveBody(RecursiveRegion& region, std::size_t which) {
  // A copy, because calls in the body may add other bodies.
  const RecursiveBody body = region.bodies[which];
  const Function& function = module().function(body.function);
  Activation caller = enterBody(function, body.exit, body.vregOf);
  enter(body.entry);
  if (body.frameBytes != 0) {
    moveStack(-body.frameBytes);
    const IsaOperand base = newR();
    copy(base, Value::of(stackPointer()));
    localBase_.resize(module().variables.size());
    for (const auto& [variable, at] : body.locals) {
      IsaOperand place = base;
      if (at != 0) {
        place = newR();
        emit(IsaOp::IADD3, {place, IsaOperand::pt(), IsaOperand::pt(), base, imm(at), IsaOperand::rz()});
      }
      localBase_[index(variable)] = place;
    }
  }
  for (const Statement& statement : function.statements)
    lowerStatement(statement);
  if (blockIsOpen()) branch(body.exit);
  leaveBody(std::move(caller));
}

void FunctionLowering::lowerReturn(RecursiveRegion& region, std::size_t which) {
  const RecursiveBody& body = region.bodies[which];
  enter(body.exit);
  if (body.frameBytes != 0) moveStack(body.frameBytes);
  for (std::size_t n = which == 0 ? 0 : 1; n < body.returns.size(); ++n) {
    branchIf(compared(region.returnTo, isa::ICmp::EQ, body.returns[n].number), body.returns[n].to);
  }
  branch(which == 0 ? region.after : body.returns.front().to);
}

void FunctionLowering::callFromInside(RecursiveRegion& region, FunctionId callee, const CallValues& call) {
  const std::size_t which = bodyOf(region, callee);
  const Function& function = module().function(callee);
  // An argument may itself be a parameter.
  std::vector<std::vector<Value>> args = call.args;
  for (std::vector<Value>& words : args)
    for (Value& word : words) {
      if (word.isConstant()) continue;
      const IsaOperand kept = newR(word.words());
      copy(kept, word);
      word = Value::of(kept);
    }
  const std::int64_t number = ++region.numbers;
  ori::Block *const resume = newBlock(), *const restore = newBlock();
  region.bodies[which].returns.push_back({number, resume});
  branchIf(newP(), restore);
  ori::Instr* const keep = order_[order_.size() - 2]->last;
  copy(region.returnTo, Value::constant(static_cast<std::uint64_t>(number), 1));
  passArguments(function, region.bodies[which].vregOf, args);
  builder_.emit(IsaOp::BRA, {IsaOperand::pt(), IsaOperand::label(region.bodies[which].entry->id)});
  startBlock(resume);
  // The results may be in the same registers as those of the caller.
  auto returned = resultWords(function, region.bodies[which].vregOf);
  for (auto& words : returned)
    for (IsaOperand& word : words) {
      const IsaOperand result = newR();
      copy(result, Value::of(word));
      word = result;
    }
  enter(restore);
  region.calls.push_back({keep, resume, restore});
  takeResults(call, returned);
}

void FunctionLowering::saveAcrossRecursion() {
  if (regions_.empty()) return;
  const ori::Liveness& liveness = out_.analyses().liveness();
  const ori::Components& components = liveness.components();
  struct Kept {
    const RecursiveRegion::Call* call;
    std::vector<IsaOperand> words;
  };
  std::vector<Kept> all;
  for (const auto& region : regions_) {
    // Only registers that the region itself writes can be clobbered in it.
    std::vector<bool> isWritten(components.count(), false);
    for (std::size_t n = region->firstBlock; n < region->endBlock; ++n)
      for (const ori::Instr& instr : *order_[n])
        for (unsigned i = 0; i < instr.operandCount; ++i)
          if (instr.op_(i).isDef) components.forEach(instr.op_(i), [&](ori::CompId c) { isWritten[c] = true; });
    components.forEach(stackPointer_, [&](ori::CompId c) { isWritten[c] = false; });
    for (const RecursiveRegion::Call& call : region->calls) {
      Kept kept{&call, {}};
      std::vector<bool> isResult(components.count(), false);
      for (const ori::Instr& instr : *call.taken)
        if (instr.operandCount > 0 && instr.op_(0).isDef)
          components.forEach(instr.op_(0), [&](ori::CompId c) { isResult[c] = true; });
      liveness.liveIn(call.restore->id).forEach([&](ori::CompId c) {
        if (isWritten[c] && !isResult[c] && components.isVirtual(c))
          kept.words.push_back(out_.part(components.vreg(c), components.sub(c), 1));
      });
      all.push_back(std::move(kept));
    }
  }
  for (const Kept& kept : all) {
    const std::int64_t bytes =
        (static_cast<std::int64_t>(kept.words.size()) * kWord + kStackAlign - 1) / kStackAlign * kStackAlign;
    ori::Block* const back = kept.call->restore;
    ori::Builder keep = ori::Builder::before(out_, kept.call->keep);
    ori::Builder restore = back->first ? ori::Builder::before(out_, back->first) : ori::Builder(out_, back);
    keep.setSource(kept.call->keep->source);
    restore.setSource(kept.call->keep->source);
    const auto move = [&](ori::Builder& b, std::int64_t by) {
      if (by != 0)
        b.emit(IsaOp::IADD3,
               {stackPointer_, IsaOperand::pt(), IsaOperand::pt(), stackPointer_, imm(by), IsaOperand::rz()});
    };
    const ModValue size{IsaMod::Size, isa::MemSize::B32};
    move(keep, -bytes);
    std::int32_t at = 0;
    for (const IsaOperand& word : kept.words) {
      const IsaOperand offset = IsaOperand::immediate(at);
      at += kWord;
      if (word.file == File::P) {
        const IsaOperand number = keep.newR(), back = restore.newR();
        keep.emit(IsaOp::SEL, {number, IsaOperand::rz(), imm(1), word.notted()});
        keep.emit(IsaOp::STL, {stackPointer_, IsaOperand(), offset, number}, {size});
        restore.emit(IsaOp::LDL, {back, stackPointer_, IsaOperand(), offset}, {size});
        restore.emit(IsaOp::ISETP, {word, IsaOperand::pt(), back, IsaOperand::rz(), IsaOperand::pt()},
                     {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}});
        continue;
      }
      ORIAS_CHECK(word.file == File::R);
      keep.emit(IsaOp::STL, {stackPointer_, IsaOperand(), offset, word}, {size});
      restore.emit(IsaOp::LDL, {word, stackPointer_, IsaOperand(), offset}, {size});
    }
    move(restore, bytes);
    out_.erase(kept.call->keep);
  }
}

} // namespace orias::ptx
