// Functions with an ABI of their own, in relocatable code: their calls, prologues and epilogues.

#include "frontend/lower/function_lowering.h"
#include "frontend/lower/parameter_places.h"
#include "ori/call_abi.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

constexpr std::uint32_t kWordsOfTuple = 4;
constexpr std::uint32_t kTuples = ParameterPlaces::kRegisters / kWordsOfTuple;
constexpr std::uint32_t kStackAlignment = 8;  ///< of the stack at a call, unless parameters on the stack require more
constexpr std::uint32_t kAddressBytes = 4;    ///< of a result, in local memory
constexpr std::uint32_t kAlignmentBelow = 16; ///< of the stack pointer where alloca is used
/// With more arguments the pointer would be in R2, which then holds the frame's address.
constexpr std::size_t kMaxBelowPointer = 10;

std::uint64_t wordCount(const Variable& v) {
  return (v.byteSize() + 3) / 4;
}

/// The tuples that hold the first `words` registers of parameters or results, padded with RZ.
std::vector<IsaOperand> tuplesFor(FunctionLowering& f, std::uint32_t words) {
  std::vector<IsaOperand> tuples;
  for (std::uint32_t t = 0; t < kTuples; ++t) {
    const std::uint32_t left = words > t * kWordsOfTuple ? words - t * kWordsOfTuple : 0;
    tuples.push_back(left == 0 ? IsaOperand::rz() : f.newR(left >= 3 ? 4 : left));
  }
  return tuples;
}

IsaOperand wordOf(const std::vector<IsaOperand>& tuples, std::uint32_t word) {
  return ori::component(tuples[word / kWordsOfTuple], word % kWordsOfTuple);
}

} // namespace

void FunctionLowering::callByAbi(const AbiCallee& callee, std::span<const Operand> args,
                                 std::span<const Operand> results) {
  if (args.size() != callee.params.size() || results.size() != callee.returns.size()) {
    unsupported("this call: its arguments do not match the parameters");
    return;
  }
  if (results.size() > 1) {
    unsupported("a call with several results in relocatable code");
    return;
  }
  const auto resultWords =
      callee.returns.empty() ? 0 : static_cast<std::uint32_t>(wordCount(module().variable(callee.returns.front())));
  const bool isInMemory = resultWords > ParameterPlaces::kRegisters;

  ori::Block* join = beginUnguarded();
  const bool isBelowStack = callsBelowStack();
  const IsaOperand stack = isBelowStack ? stackPointer() : IsaOperand::physical(File::R, ori::kStackPointer);
  ParameterPlaces places;
  std::vector<IsaOperand> inRegisters;
  if (isInMemory) {
    places.next(kAddressBytes, kAddressBytes);
    inRegisters.push_back(newR());
    const IsaOperand area = resultArea(module().variable(callee.returns.front()));
    emit(IsaOp::IADD3, {inRegisters.front(), IsaOperand::pt(), IsaOperand::pt(),
                        IsaOperand::physical(File::R, ori::kStackPointer), area, IsaOperand::rz()});
  }
  std::uint32_t alignment = 0;
  for (std::size_t n = 0; n < args.size(); ++n) {
    const Variable& param = module().variable(callee.params[n]);
    const std::vector<Value> words = argumentWords(args[n], callee.params[n]);
    const ParameterPlaces::Place place = places.next(param.byteSize(), param.align);
    if (place.onStack) alignment = std::max(alignment, param.align);
    for (std::uint32_t w = 0; w < words.size(); ++w) {
      if (place.onStack) {
        emit(IsaOp::STL,
             {stack, IsaOperand(), IsaOperand::immediate(static_cast<std::int32_t>(place.at + 4 * w)),
              inReg(words[w].word(0))},
             {{IsaMod::Size, isa::MemSize::B32}});
        continue;
      }
      if (inRegisters.size() <= place.at + w) inRegisters.resize(place.at + w + 1, IsaOperand::rz());
      inRegisters[place.at + w] = newR();
      copy(inRegisters[place.at + w], words[w]);
    }
  }
  out_.outgoingBytes = std::max(out_.outgoingBytes, places.stackBytes());
  if (isBelowStack && alignment > kAlignmentBelow) {
    unsupported(fmt::format("a parameter aligned to {} bytes on the stack of code that uses alloca", alignment));
    return;
  }
  if (isBelowStack && callee.where.isReg() && inRegisters.size() >= kMaxBelowPointer) {
    unsupported("this number of arguments of an indirect call in a function with alloca");
    return;
  }
  alignArguments(alignment);

  const std::vector<IsaOperand> returned = tuplesFor(*this, isInMemory ? 0 : resultWords);
  std::vector<IsaOperand> operands = returned;
  operands.push_back(callee.where);
  operands.insert(operands.end(), inRegisters.begin(), inRegisters.end());
  if (isBelowStack) operands.push_back(stack);
  builder_.emit(IsaOp::CALL_FUNCTION, std::span<const IsaOperand>(operands));

  const auto take = [&](IsaOperand to, std::uint32_t w) {
    if (!isInMemory) {
      copy(to, Value::of(wordOf(returned, w)));
      return;
    }
    IsaOperand where = resultArea(module().variable(callee.returns.front()));
    where.imm = static_cast<std::int32_t>(4 * w);
    emit(IsaOp::LDL, {to, IsaOperand::physical(File::R, ori::kStackPointer), IsaOperand(), where},
         {{IsaMod::Size, isa::MemSize::B32}});
  };
  if (!results.empty()) {
    if (results[0].is(OperandKind::Variable)) {
      const VariableId to = results[0].variableId();
      for (std::uint32_t w = 0; w < std::min<std::uint64_t>(resultWords, wordCount(module().variable(to))); ++w)
        take(callParamWord(to, w), w);
    } else if (const IsaOperand direct = dest(results[0]); !direct.isZeroReg()) {
      for (std::uint32_t w = 0; w < std::min<std::uint32_t>(resultWords, direct.width); ++w)
        take(ori::component(direct, w), w);
    }
  }
  endAfterCall(callee.noreturn);
  endUnguarded(join);
}

FunctionLowering::AbiCallee FunctionLowering::abiCallee(FunctionId id) const {
  const Function& function = module().function(id);
  AbiCallee callee;
  callee.where.kind = IsaOperand::Kind::Symbol;
  callee.where.reg = layout_.functionSymbol[index(id)];
  for (const Parameter& p : function.params)
    callee.params.push_back(p.variable);
  for (const Parameter& p : function.returns)
    callee.returns.push_back(p.variable);
  callee.noreturn = function.noreturn;
  return callee;
}

bool FunctionLowering::passesOnStack() {
  const auto passes = [&](const Function& body, const Instruction& i) {
    if (layout_.forms->form(i).op != Op::Call) return false;
    const CallParts parts = callParts(body, i);
    if (!parts.callee->is(OperandKind::Function)) return true; // a pointer: any callee will do
    const Function& callee = module().function(parts.callee->functionId());
    ParameterPlaces places;
    if (callee.returns.size() == 1 &&
        wordCount(module().variable(callee.returns.front().variable)) > ParameterPlaces::kRegisters)
      places.next(kAddressBytes, kAddressBytes);
    for (const Parameter& p : callee.params)
      places.next(module().variable(p.variable).byteSize(), module().variable(p.variable).align);
    return places.stackBytes() != 0;
  };
  const std::vector<const Function*> all = bodies();
  return std::ranges::any_of(all, [&](const Function* body) {
    return std::ranges::any_of(body->instructions, [&](const Instruction& i) { return passes(*body, i); });
  });
}

void FunctionLowering::callThroughPointer(const CallParts& parts, std::span<const Operand> args,
                                          std::span<const Operand> results) {
  AbiCallee callee;
  if (parts.prototype != nullptr && parts.prototype->is(OperandKind::Prototype)) {
    const Prototype& prototype = module().prototypes[index(parts.prototype->prototypeId())];
    callee.params.assign(prototype.params.begin(), prototype.params.end());
    callee.returns.assign(prototype.returns.begin(), prototype.returns.end());
    callee.noreturn = prototype.noreturn;
  } else if (parts.prototype != nullptr && parts.prototype->is(OperandKind::TargetList) &&
             !module().targetLists[index(parts.prototype->targetListId())].targets.empty()) {
    callee = abiCallee(FunctionId(module().targetLists[index(parts.prototype->targetListId())].targets.front()));
  } else {
    unsupported("an indirect call without a prototype");
    return;
  }
  callee.where = sourceReg(*parts.callee, Type::U64);
  callByAbi(callee, args, results);
}

isa::Operand FunctionLowering::resultArea(const Variable& result) {
  if (resultArea_ == kNoId) {
    resultArea_ = static_cast<std::uint32_t>(out_.frame.size());
    ori::FrameObject object;
    object.name = "result";
    out_.frame.push_back(object);
  }
  ori::FrameObject& object = out_.frame[resultArea_];
  object.size = std::max(object.size, static_cast<std::uint32_t>(4 * wordCount(result)));
  object.align = std::max({object.align, result.align, 4u});
  IsaOperand where;
  where.kind = IsaOperand::Kind::Frame;
  where.reg = resultArea_;
  return where;
}

/// Stack arguments begin at the stack pointer. An object without bytes aligns the frame. An alignment of at most
/// kStackAlignment needs nothing.
void FunctionLowering::alignArguments(std::uint32_t alignment) {
  if (alignment <= kStackAlignment) return;
  ori::FrameObject object;
  object.name = "arguments";
  object.align = alignment;
  out_.frame.push_back(object);
}

void FunctionLowering::beginFunction() {
  paramOffset_.assign(module().variables.size(), kNoId);
  returnTo_ = newBlock();
  ParameterPlaces places;
  std::vector<ParameterPlaces::Place> placeOf;
  std::uint32_t registers = 0;
  const bool isInMemory = returnsInMemory();
  if (isInMemory) {
    places.next(kAddressBytes, kAddressBytes);
    registers = 1;
  }
  for (const Parameter& p : in_->params) {
    const Variable& v = module().variable(p.variable);
    if (v.type == Type::Pred) {
      diagnostics_.error(v.loc, "not supported yet: a predicate as a parameter of a function");
      return;
    }
    placeOf.push_back(places.next(v.byteSize(), v.align));
    if (!placeOf.back().onStack)
      registers = std::max(registers, placeOf.back().at + static_cast<std::uint32_t>(wordCount(v)));
  }
  builder_.setSource({in_->loc.line, 0});
  const std::vector<IsaOperand> given = tuplesFor(*this, registers);
  builder_.emit(IsaOp::FUNCTION_ENTRY, std::span<const IsaOperand>(given));
  if (isInMemory) {
    resultAddress_ = newR();
    copy(resultAddress_, Value::of(wordOf(given, 0)));
  }

  for (std::size_t n = 0; n < in_->params.size(); ++n) {
    const Parameter& p = in_->params[n];
    const Variable& v = module().variable(p.variable);
    IsaOperand where;
    if (placeOf[n].onStack) {
      where.kind = IsaOperand::Kind::Frame;
      where.reg = static_cast<std::uint32_t>(out_.frame.size());
      ori::FrameObject object;
      object.name = out_.intern(module().text(v.name));
      object.size = static_cast<std::uint32_t>(4 * wordCount(v));
      object.align = std::max<std::uint32_t>(v.align, kAddressBytes);
      object.offset = static_cast<std::int32_t>(placeOf[n].at);
      object.isIncoming = true;
      out_.frame.push_back(object);
    }
    for (std::uint32_t w = 0; w < wordCount(v); ++w) {
      const bool isRegister = p.reg != RegisterId::None;
      if (isRegister && w >= out_.use(vregOf_[index(p.reg)]).width) break;
      const IsaOperand to =
          isRegister ? ori::component(out_.use(vregOf_[index(p.reg)]), w) : callParamWord(p.variable, w);
      if (!placeOf[n].onStack) {
        copy(to, Value::of(wordOf(given, placeOf[n].at + w)));
        continue;
      }
      where.imm = static_cast<std::int32_t>(4 * w);
      // The caller writes only the bytes of a narrow number.
      const isa::MemSize size = v.byteSize() == 1   ? isa::MemSize::U8
                                : v.byteSize() == 2 ? isa::MemSize::U16
                                                    : isa::MemSize::B32;
      emit(IsaOp::LDL, {to, IsaOperand::physical(File::R, ori::kStackPointer), IsaOperand(), where},
           {{IsaMod::Size, size}});
    }
  }
  storeParameters(*in_);
}

void FunctionLowering::endFunction() {
  if (returnTo_ == nullptr) return;
  enter(returnTo_);
  builder_.setSource(sourceOfReturn());
  builder_.setGuard(IsaOperand::pt());
  std::vector<IsaOperand> words;
  for (const std::vector<IsaOperand>& result : resultWords(*in_, vregOf_))
    words.insert(words.end(), result.begin(), result.end());
  if (in_->returns.size() > 1) {
    diagnostics_.error(in_->loc, "not supported yet: a function with several results in relocatable code");
    words.clear();
  }
  if (returnsInMemory()) {
    for (std::size_t w = 0; w < words.size(); ++w)
      emit(IsaOp::STL,
           {resultAddress_, IsaOperand(), IsaOperand::immediate(static_cast<std::int32_t>(4 * w)), words[w]},
           {{IsaMod::Size, isa::MemSize::B32}});
    words.clear();
  }
  builder_.emit(IsaOp::FUNCTION_RETURN, std::span<const IsaOperand>(words));
}

/// All returns of a function share one block. If there is only one return, the block has its source location.
ori::Source FunctionLowering::sourceOfReturn() const {
  const Instruction* only = nullptr;
  for (const Instruction& instruction : in_->instructions) {
    if (layout_.forms->form(instruction).op != Op::Ret) continue;
    if (only != nullptr) return {in_->endLoc.line, 0};
    only = &instruction;
  }
  return only != nullptr ? sourceOf(*only) : ori::Source{in_->endLoc.line, 0};
}

bool FunctionLowering::returnsInMemory() const {
  return in_->returns.size() == 1 &&
         wordCount(module().variable(in_->returns.front().variable)) > ParameterPlaces::kRegisters;
}

} // namespace orias::ptx
