#include "frontend/lower/abi_call.h"

#include "frontend/lower/call_lowering.h"
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

void AbiCalls::call(const Callee& callee, std::span<const Operand> args, std::span<const Operand> results) {
  if (args.size() != callee.params.size() || results.size() != callee.returns.size()) {
    f_.unsupported("this call: its arguments do not match the parameters");
    return;
  }
  if (results.size() > 1) {
    f_.unsupported("a call with several results in relocatable code");
    return;
  }
  const auto resultWords =
      callee.returns.empty() ? 0 : static_cast<std::uint32_t>(wordCount(f_.module().variable(callee.returns.front())));
  const bool isInMemory = resultWords > ParameterPlaces::kRegisters;

  ori::Block* join = f_.beginUnguarded();
  const bool isBelowStack = f_.stack().isBelowCalls();
  const IsaOperand stack = isBelowStack ? f_.stack().pointer() : IsaOperand::physical(File::R, ori::kStackPointer);
  ParameterPlaces places;
  std::vector<IsaOperand> inRegisters;
  if (isInMemory) {
    places.next(kAddressBytes, kAddressBytes);
    inRegisters.push_back(f_.newR());
    const IsaOperand area = resultArea(f_.module().variable(callee.returns.front()));
    f_.emit(IsaOp::IADD3, {inRegisters.front(), IsaOperand::pt(), IsaOperand::pt(),
                           IsaOperand::physical(File::R, ori::kStackPointer), area, IsaOperand::rz()});
  }
  std::uint32_t alignment = 0;
  for (std::size_t n = 0; n < args.size(); ++n) {
    const Variable& param = f_.module().variable(callee.params[n]);
    const std::vector<Value> words = f_.params().argument(args[n], callee.params[n]);
    const ParameterPlaces::Place place = places.next(param.byteSize(), param.align);
    if (place.onStack) alignment = std::max(alignment, param.align);
    for (std::uint32_t w = 0; w < words.size(); ++w) {
      if (place.onStack) {
        f_.emit(IsaOp::STL,
                {stack, IsaOperand(), IsaOperand::immediate(static_cast<std::int32_t>(place.at + 4 * w)),
                 f_.inReg(words[w].word(0))},
                {{IsaMod::Size, isa::MemSize::B32}});
        continue;
      }
      if (inRegisters.size() <= place.at + w) inRegisters.resize(place.at + w + 1, IsaOperand::rz());
      inRegisters[place.at + w] = f_.newR();
      f_.copy(inRegisters[place.at + w], words[w]);
    }
  }
  f_.out().outgoingBytes = std::max(f_.out().outgoingBytes, places.stackBytes());
  if (isBelowStack && alignment > kAlignmentBelow) {
    f_.unsupported(fmt::format("a parameter aligned to {} bytes on the stack of code that uses alloca", alignment));
    return;
  }
  if (isBelowStack && callee.where.isReg() && inRegisters.size() >= kMaxBelowPointer) {
    f_.unsupported("this number of arguments of an indirect call in a function with alloca");
    return;
  }
  f_.stack().alignArguments(alignment);

  const std::vector<IsaOperand> returned = tuplesFor(f_, isInMemory ? 0 : resultWords);
  std::vector<IsaOperand> operands = returned;
  operands.push_back(callee.where);
  operands.insert(operands.end(), inRegisters.begin(), inRegisters.end());
  if (isBelowStack) operands.push_back(stack);
  f_.b().emit(IsaOp::CALL_FUNCTION, std::span<const IsaOperand>(operands));

  const auto take = [&](IsaOperand to, std::uint32_t w) {
    if (!isInMemory) {
      f_.copy(to, Value::of(wordOf(returned, w)));
      return;
    }
    IsaOperand where = resultArea(f_.module().variable(callee.returns.front()));
    where.imm = static_cast<std::int32_t>(4 * w);
    f_.emit(IsaOp::LDL, {to, IsaOperand::physical(File::R, ori::kStackPointer), IsaOperand(), where},
            {{IsaMod::Size, isa::MemSize::B32}});
  };
  if (!results.empty()) {
    if (results[0].is(OperandKind::Variable)) {
      const VariableId to = results[0].variableId();
      for (std::uint32_t w = 0; w < std::min<std::uint64_t>(resultWords, wordCount(f_.module().variable(to))); ++w)
        take(f_.params().word(to, w), w);
    } else if (const IsaOperand direct = f_.dest(results[0]); !direct.isZeroReg()) {
      for (std::uint32_t w = 0; w < std::min<std::uint32_t>(resultWords, direct.width); ++w)
        take(ori::component(direct, w), w);
    }
  }
  endAfterCall(f_, callee.noreturn);
  f_.endUnguarded(join);
}

void AbiCalls::call(FunctionId callee, std::span<const Operand> args, std::span<const Operand> results) {
  call(calleeOf(callee), args, results);
}

AbiCalls::Callee AbiCalls::calleeOf(FunctionId id) const {
  const Function& function = f_.module().function(id);
  Callee callee;
  callee.where.kind = IsaOperand::Kind::Symbol;
  callee.where.reg = f_.layout().functionSymbol[index(id)];
  for (const Parameter& p : function.params)
    callee.params.push_back(p.variable);
  for (const Parameter& p : function.returns)
    callee.returns.push_back(p.variable);
  callee.noreturn = function.noreturn;
  return callee;
}

void AbiCalls::callThroughPointer(const CallParts& parts, std::span<const Operand> args,
                                  std::span<const Operand> results) {
  Callee callee;
  if (parts.prototype != nullptr && parts.prototype->is(OperandKind::Prototype)) {
    const Prototype& prototype = f_.module().prototypes[index(parts.prototype->prototypeId())];
    callee.params.assign(prototype.params.begin(), prototype.params.end());
    callee.returns.assign(prototype.returns.begin(), prototype.returns.end());
    callee.noreturn = prototype.noreturn;
  } else if (parts.prototype != nullptr && parts.prototype->is(OperandKind::TargetList) &&
             !f_.module().targetLists[index(parts.prototype->targetListId())].targets.empty()) {
    callee = calleeOf(FunctionId(f_.module().targetLists[index(parts.prototype->targetListId())].targets.front()));
  } else {
    f_.unsupported("an indirect call without a prototype");
    return;
  }
  callee.where = f_.sourceReg(*parts.callee, Type::U64);
  call(callee, args, results);
}

isa::Operand AbiCalls::resultArea(const Variable& result) {
  if (resultArea_ == kNoId) {
    resultArea_ = static_cast<std::uint32_t>(f_.out().frame.size());
    ori::FrameObject object;
    object.name = "result";
    f_.out().frame.push_back(object);
  }
  ori::FrameObject& object = f_.out().frame[resultArea_];
  object.size = std::max(object.size, static_cast<std::uint32_t>(4 * wordCount(result)));
  object.align = std::max({object.align, result.align, 4u});
  IsaOperand where;
  where.kind = IsaOperand::Kind::Frame;
  where.reg = resultArea_;
  return where;
}

void AbiCalls::beginFunction() {
  f_.setReturnTo(f_.newBlock());
  ParameterPlaces places;
  std::vector<ParameterPlaces::Place> placeOf;
  std::uint32_t registers = 0;
  const bool isInMemory = returnsInMemory();
  if (isInMemory) {
    places.next(kAddressBytes, kAddressBytes);
    registers = 1;
  }
  for (const Parameter& p : f_.body().params) {
    const Variable& v = f_.module().variable(p.variable);
    if (v.type == Type::Pred) {
      f_.diagnostics().error(v.loc, "not supported yet: a predicate as a parameter of a function");
      return;
    }
    placeOf.push_back(places.next(v.byteSize(), v.align));
    if (!placeOf.back().onStack)
      registers = std::max(registers, placeOf.back().at + static_cast<std::uint32_t>(wordCount(v)));
  }
  f_.b().setSource({f_.body().loc.line, 0});
  const std::vector<IsaOperand> given = tuplesFor(f_, registers);
  f_.b().emit(IsaOp::FUNCTION_ENTRY, std::span<const IsaOperand>(given));
  if (isInMemory) {
    resultAddress_ = f_.newR();
    f_.copy(resultAddress_, Value::of(wordOf(given, 0)));
  }

  for (std::size_t n = 0; n < f_.body().params.size(); ++n) {
    const Parameter& p = f_.body().params[n];
    const Variable& v = f_.module().variable(p.variable);
    IsaOperand where;
    if (placeOf[n].onStack) {
      where.kind = IsaOperand::Kind::Frame;
      where.reg = static_cast<std::uint32_t>(f_.out().frame.size());
      ori::FrameObject object;
      object.name = f_.out().intern(f_.module().text(v.name));
      object.size = static_cast<std::uint32_t>(4 * wordCount(v));
      object.align = std::max<std::uint32_t>(v.align, kAddressBytes);
      object.offset = static_cast<std::int32_t>(placeOf[n].at);
      object.isIncoming = true;
      f_.out().frame.push_back(object);
    }
    for (std::uint32_t w = 0; w < wordCount(v); ++w) {
      const bool isRegister = p.reg != RegisterId::None;
      if (isRegister && w >= f_.out().use(f_.vregs()[index(p.reg)]).width) break;
      const IsaOperand to =
          isRegister ? ori::component(f_.out().use(f_.vregs()[index(p.reg)]), w) : f_.params().word(p.variable, w);
      if (!placeOf[n].onStack) {
        f_.copy(to, Value::of(wordOf(given, placeOf[n].at + w)));
        continue;
      }
      where.imm = static_cast<std::int32_t>(4 * w);
      // The caller writes only the bytes of a narrow number.
      const isa::MemSize size = v.byteSize() == 1   ? isa::MemSize::U8
                                : v.byteSize() == 2 ? isa::MemSize::U16
                                                    : isa::MemSize::B32;
      f_.emit(IsaOp::LDL, {to, IsaOperand::physical(File::R, ori::kStackPointer), IsaOperand(), where},
              {{IsaMod::Size, size}});
    }
  }
  f_.params().storeInMemory(f_.body());
}

void AbiCalls::endFunction() {
  if (f_.returnTo() == nullptr) return;
  f_.enter(f_.returnTo());
  f_.b().setSource(sourceOfReturn());
  f_.b().setGuard(IsaOperand::pt());
  std::vector<IsaOperand> words;
  for (const std::vector<IsaOperand>& result : f_.params().results(f_.body(), f_.vregs()))
    words.insert(words.end(), result.begin(), result.end());
  if (f_.body().returns.size() > 1) {
    f_.diagnostics().error(f_.body().loc, "not supported yet: a function with several results in relocatable code");
    words.clear();
  }
  if (returnsInMemory()) {
    for (std::size_t w = 0; w < words.size(); ++w)
      f_.emit(IsaOp::STL,
              {resultAddress_, IsaOperand(), IsaOperand::immediate(static_cast<std::int32_t>(4 * w)), words[w]},
              {{IsaMod::Size, isa::MemSize::B32}});
    words.clear();
  }
  f_.b().emit(IsaOp::FUNCTION_RETURN, std::span<const IsaOperand>(words));
}

/// All returns of a function share one block. If there is only one return, the block has its source location.
ori::Source AbiCalls::sourceOfReturn() const {
  const Instruction* only = nullptr;
  for (const Instruction& instruction : f_.body().instructions) {
    if (f_.layout().forms->form(instruction).op != Op::Ret) continue;
    if (only != nullptr) return {f_.body().endLoc.line, 0};
    only = &instruction;
  }
  return only != nullptr ? FunctionLowering::sourceOf(*only) : ori::Source{f_.body().endLoc.line, 0};
}

bool AbiCalls::returnsInMemory() const {
  return f_.body().returns.size() == 1 &&
         wordCount(f_.module().variable(f_.body().returns.front().variable)) > ParameterPlaces::kRegisters;
}

bool passesArgumentsOnStack(const Module& module, const Function& body, const Instruction& call) {
  const CallParts parts = callParts(body, call);
  if (!parts.callee->is(OperandKind::Function)) return true; // a pointer: any callee will do
  const Function& callee = module.function(parts.callee->functionId());
  ParameterPlaces places;
  if (callee.returns.size() == 1 &&
      wordCount(module.variable(callee.returns.front().variable)) > ParameterPlaces::kRegisters)
    places.next(kAddressBytes, kAddressBytes);
  for (const Parameter& p : callee.params)
    places.next(module.variable(p.variable).byteSize(), module.variable(p.variable).align);
  return places.stackBytes() != 0;
}

} // namespace orias::ptx
