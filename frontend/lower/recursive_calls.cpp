// Recursive functions. A call from outside opens a region of the control flow graph. The region has one entry, one
// exit, and one copy of the body of each function in the recursion. A call from inside saves the caller's registers in
// local memory below the stack pointer, writes the number of its return point to a register, and jumps. A return
// compares that register with each possible return point. The analyses and phases see loops and memory, but no calls.
//
// The liveness of the finished graph determines the saved registers, so the saves are inserted last.

#include "frontend/lower/recursive_calls.h"

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

constexpr std::int64_t kWord = 4, kStackAlign = DynamicStack::kAlign;

} // namespace

void RecursiveCalls::moveStack(std::int64_t bytes) {
  f_.emit(IsaOp::IADD3, {f_.stack().pointer(), IsaOperand::pt(), IsaOperand::pt(), f_.stack().pointer(), f_.imm(bytes),
                         IsaOperand::rz()});
}

void RecursiveCalls::call(FunctionId callee, const CallValues& call) {
  for (Region* region : openRegions_)
    if (f_.layout().calls->areMutual(region->bodies.front().function, callee)) {
      callFromInside(*region, callee, call);
      return;
    }
  callFromOutside(callee, call);
}

std::size_t RecursiveCalls::bodyOf(Region& region, FunctionId callee) {
  for (std::size_t n = 0; n < region.bodies.size(); ++n)
    if (region.bodies[n].function == callee) return n;
  Body body;
  body.function = callee;
  body.entry = f_.newBlock();
  body.exit = f_.newBlock();
  const Function& function = f_.module().function(callee);
  body.vregOf = f_.declareRegisters(function);
  for (const Statement& s : function.statements) {
    if (s.kind != StatementKind::Variable) continue;
    const Variable& v = f_.module().variables[s.index];
    if (v.space != StateSpace::Local) continue;
    if (v.align > kStackAlign)
      f_.unsupported(fmt::format("the alignment of '{}' in a recursive function", f_.module().text(v.name)));
    body.locals.push_back({VariableId(s.index), body.frameBytes});
    body.frameBytes += static_cast<std::int64_t>(v.byteSize() + kStackAlign - 1) / kStackAlign * kStackAlign;
  }
  region.bodies.push_back(std::move(body));
  return region.bodies.size() - 1;
}

void RecursiveCalls::callFromOutside(FunctionId callee, const CallValues& call) {
  regions_.push_back(std::make_unique<Region>());
  Region& region = *regions_.back();
  openRegions_.push_back(&region);
  region.after = f_.newBlock();
  region.returnTo = f_.newR();
  f_.stack().pointer();
  const Function& function = f_.module().function(callee);
  const std::size_t root = bodyOf(region, callee);
  f_.params().pass(function, region.bodies[root].vregOf, call.args);
  f_.copy(region.returnTo, Value::constant(0, 1));
  region.firstBlock = f_.order().size();
  for (std::size_t n = 0; n < region.bodies.size(); ++n)
    lowerBody(region, n);
  for (std::size_t n = 0; n < region.bodies.size(); ++n)
    lowerReturn(region, n);
  region.endBlock = f_.order().size();
  f_.enter(region.after);
  openRegions_.pop_back();
  f_.params().take(call, f_.params().results(function, region.bodies[root].vregOf));
}

void RecursiveCalls::lowerBody(Region& region, std::size_t which) {
  // A copy, because calls in the body may add other bodies.
  const Body body = region.bodies[which];
  const Function& function = f_.module().function(body.function);
  FunctionLowering::Activation caller = f_.enterBody(function, body.exit, body.vregOf);
  f_.enter(body.entry);
  if (body.frameBytes != 0) {
    moveStack(-body.frameBytes);
    const IsaOperand base = f_.newR();
    f_.copy(base, Value::of(f_.stack().pointer()));
    for (const auto& [variable, at] : body.locals) {
      IsaOperand place = base;
      if (at != 0) {
        place = f_.newR();
        f_.emit(IsaOp::IADD3, {place, IsaOperand::pt(), IsaOperand::pt(), base, f_.imm(at), IsaOperand::rz()});
      }
      f_.variables().setLocalBase(variable, place);
    }
  }
  f_.lowerStatements();
  if (f_.blockIsOpen()) f_.branch(body.exit);
  f_.leaveBody(std::move(caller));
}

void RecursiveCalls::lowerReturn(Region& region, std::size_t which) {
  const Body& body = region.bodies[which];
  f_.enter(body.exit);
  if (body.frameBytes != 0) moveStack(body.frameBytes);
  for (std::size_t n = which == 0 ? 0 : 1; n < body.returns.size(); ++n) {
    f_.branchIf(f_.compared(region.returnTo, isa::ICmp::EQ, body.returns[n].number), body.returns[n].to);
  }
  f_.branch(which == 0 ? region.after : body.returns.front().to);
}

void RecursiveCalls::callFromInside(Region& region, FunctionId callee, const CallValues& call) {
  const std::size_t which = bodyOf(region, callee);
  const Function& function = f_.module().function(callee);
  // An argument may itself be a parameter.
  std::vector<std::vector<Value>> args = call.args;
  for (std::vector<Value>& words : args)
    for (Value& word : words) {
      if (word.isConstant()) continue;
      const IsaOperand kept = f_.newR(word.words());
      f_.copy(kept, word);
      word = Value::of(kept);
    }
  const std::int64_t number = ++region.numbers;
  ori::Block *const resume = f_.newBlock(), *const restore = f_.newBlock();
  region.bodies[which].returns.push_back({number, resume});
  f_.branchIf(f_.newP(), restore);
  ori::Instr* const keep = f_.order()[f_.order().size() - 2]->last;
  f_.copy(region.returnTo, Value::constant(static_cast<std::uint64_t>(number), 1));
  f_.params().pass(function, region.bodies[which].vregOf, args);
  f_.b().emit(IsaOp::BRA, {IsaOperand::pt(), IsaOperand::label(region.bodies[which].entry->id)});
  f_.startBlock(resume);
  // The results may be in the same registers as those of the caller.
  auto returned = f_.params().results(function, region.bodies[which].vregOf);
  for (auto& words : returned)
    for (IsaOperand& word : words) {
      const IsaOperand result = f_.newR();
      f_.copy(result, Value::of(word));
      word = result;
    }
  f_.enter(restore);
  region.calls.push_back({keep, resume, restore});
  f_.params().take(call, returned);
}

void RecursiveCalls::saveRegisters() {
  if (regions_.empty()) return;
  const IsaOperand stack = f_.stack().pointer();
  const ori::Liveness& liveness = f_.out().analyses().liveness();
  const ori::Components& components = liveness.components();
  struct Kept {
    const Region::Call* call;
    std::vector<IsaOperand> words;
  };
  std::vector<Kept> all;
  for (const auto& region : regions_) {
    // Only registers that the region itself writes can be clobbered in it.
    std::vector<bool> isWritten(components.count(), false);
    for (std::size_t n = region->firstBlock; n < region->endBlock; ++n)
      for (const ori::Instr& instr : *f_.order()[n])
        for (unsigned i = 0; i < instr.operandCount; ++i)
          if (instr.op_(i).isDef) components.forEach(instr.op_(i), [&](ori::CompId c) { isWritten[c] = true; });
    components.forEach(stack, [&](ori::CompId c) { isWritten[c] = false; });
    for (const Region::Call& call : region->calls) {
      Kept kept{&call, {}};
      std::vector<bool> isResult(components.count(), false);
      for (const ori::Instr& instr : *call.taken)
        if (instr.operandCount > 0 && instr.op_(0).isDef)
          components.forEach(instr.op_(0), [&](ori::CompId c) { isResult[c] = true; });
      liveness.liveIn(call.restore->id).forEach([&](ori::CompId c) {
        if (isWritten[c] && !isResult[c] && components.isVirtual(c))
          kept.words.push_back(f_.out().part(components.vreg(c), components.sub(c), 1));
      });
      all.push_back(std::move(kept));
    }
  }
  for (const Kept& kept : all) {
    const std::int64_t bytes =
        (static_cast<std::int64_t>(kept.words.size()) * kWord + kStackAlign - 1) / kStackAlign * kStackAlign;
    ori::Block* const back = kept.call->restore;
    ori::Builder keep = ori::Builder::before(f_.out(), kept.call->keep);
    ori::Builder restore = back->first ? ori::Builder::before(f_.out(), back->first) : ori::Builder(f_.out(), back);
    keep.setSource(kept.call->keep->source);
    restore.setSource(kept.call->keep->source);
    const auto move = [&](ori::Builder& b, std::int64_t by) {
      if (by != 0)
        b.emit(IsaOp::IADD3, {stack, IsaOperand::pt(), IsaOperand::pt(), stack, f_.imm(by), IsaOperand::rz()});
    };
    const ModValue size{IsaMod::Size, isa::MemSize::B32};
    move(keep, -bytes);
    std::int32_t at = 0;
    for (const IsaOperand& word : kept.words) {
      const IsaOperand offset = IsaOperand::immediate(at);
      at += kWord;
      if (word.file == File::P) {
        const IsaOperand number = keep.newR(), back = restore.newR();
        keep.emit(IsaOp::SEL, {number, IsaOperand::rz(), f_.imm(1), word.notted()});
        keep.emit(IsaOp::STL, {stack, IsaOperand(), offset, number}, {size});
        restore.emit(IsaOp::LDL, {back, stack, IsaOperand(), offset}, {size});
        restore.emit(IsaOp::ISETP, {word, IsaOperand::pt(), back, IsaOperand::rz(), IsaOperand::pt()},
                     {{IsaMod::Cmp, isa::ICmp::NE}, {IsaMod::Type, isa::IntType::U32}});
        continue;
      }
      ORIAS_CHECK(word.file == File::R);
      keep.emit(IsaOp::STL, {stack, IsaOperand(), offset, word}, {size});
      restore.emit(IsaOp::LDL, {word, stack, IsaOperand(), offset}, {size});
    }
    move(restore, bytes);
    f_.out().erase(kept.call->keep);
  }
}

} // namespace orias::ptx
