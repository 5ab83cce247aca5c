// Calls. Functions with a body are inlined at their calls, except recursive ones (recursive_calls.cpp) and large ones
// (shared_calls.cpp). Arguments and results are kept in registers.

#include "frontend/instr_form_table.h"
#include "frontend/lower/families.h"
#include "frontend/lower/inline_plan.h"
#include "ori/call_abi.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

std::vector<const Function*> FunctionLowering::bodies() {
  std::vector<const Function*> all{in_};
  std::vector<bool> isKnown(module().functions.size(), false);
  isKnown[index(idOf(*in_))] = true;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const FunctionId caller = idOf(*all[at]);
    // Pointers to functions with code of their own lead to that code.
    for (const FunctionId callee :
         isRelocatable() ? layout_.plan->directCallees(caller) : layout_.calls->callees(caller)) {
      const Function& body = module().function(callee);
      if (!body.hasBody || !isInlined(callee) || isKnown[index(callee)]) continue;
      isKnown[index(callee)] = true;
      all.push_back(&body);
    }
  }
  return all;
}

FunctionLowering::Activation FunctionLowering::enterBody(const Function& callee, ori::Block* returnTo,
                                                         std::vector<ori::VRegId> vregOf) {
  Activation caller{in_, std::move(vregOf_), std::move(blockOf_), returnTo_, current_};
  in_ = &callee;
  vregOf_ = std::move(vregOf);
  blockOf_.assign(callee.labels.size(), nullptr);
  returnTo_ = returnTo;
  inlining_.push_back(&callee);
  return caller;
}

void FunctionLowering::leaveBody(Activation&& caller) {
  in_ = caller.function;
  vregOf_ = std::move(caller.vregOf);
  blockOf_ = std::move(caller.blockOf);
  returnTo_ = caller.returnTo;
  current_ = caller.current;
  inlining_.pop_back();
}

bool FunctionLowering::isInlined(FunctionId callee) const {
  return layout_.plan->isInlined(callee);
}

bool FunctionLowering::isCallParam(VariableId id) const {
  return module().variable(id).space == StateSpace::Param && paramOffset_[index(id)] == kNoId;
}

IsaOperand FunctionLowering::callParamWord(VariableId id, std::size_t word) {
  if (callParamWords_.empty()) callParamWords_.resize(module().variables.size());
  std::vector<ori::VRegId>& words = callParamWords_[index(id)];
  if (words.empty()) {
    const Variable& v = module().variable(id);
    for (std::uint64_t at = 0; at < std::max<std::uint64_t>(v.byteSize(), 1); at += 4)
      words.push_back(out_.newVReg(File::R));
  }
  ORIAS_CHECK(word < words.size());
  return out_.use(words[word]);
}

namespace {

/// Returns whether the access lies within the variable and within the words that it touches when naturally aligned.
bool fitsWords(const Variable& v, std::int64_t offset, unsigned bytes) {
  return offset >= 0 && static_cast<std::uint64_t>(offset) + bytes <= v.byteSize() && offset % std::min(bytes, 4u) == 0;
}

} // namespace

void FunctionLowering::loadCallParam(IsaOperand d, VariableId id, std::int64_t offset, Type type) {
  const unsigned bytes = std::max(1u, bitWidth(type) / 8);
  if (!fitsWords(module().variable(id), offset, bytes)) {
    unsupported("an access across components of a parameter");
    return;
  }
  const auto word = static_cast<std::size_t>(offset) / 4;
  if (bytes >= 4) {
    for (unsigned w = 0; w < bytes / 4; ++w)
      copy(ori::component(d, w), Value::of(callParamWord(id, word + w)));
    return;
  }
  // Shifts the bytes down and extends them with the sign or zero.
  const auto byte = static_cast<unsigned>(offset % 4);
  const unsigned fill = typeClass(type) == TypeClass::Signed ? 8 + byte + bytes - 1 : 4;
  const unsigned second = bytes == 1 ? fill : byte + 1;
  emit(IsaOp::PRMT, {ori::component(d, 0), callParamWord(id, word), imm(byte | second << 4 | fill << 8 | fill << 12),
                     IsaOperand::rz()});
}

void FunctionLowering::storeCallParam(VariableId id, std::int64_t offset, Type type, const Value& value) {
  const Variable& v = module().variable(id);
  const unsigned bytes = std::max(1u, bitWidth(type) / 8);
  if (!fitsWords(v, offset, bytes)) {
    unsupported("an access across components of a parameter");
    return;
  }
  const auto word = static_cast<std::size_t>(offset) / 4;
  if (bytes >= 4 || v.byteSize() <= bytes) {
    for (unsigned w = 0; w < std::max(1u, bytes / 4); ++w)
      copy(callParamWord(id, word + w),
           value.isConstant() ? Value::constant(value.bits() >> (32 * w), 1) : Value::of(value.word(w)));
    return;
  }
  // Replaces only these bytes of the word.
  unsigned selector = 0x3210;
  for (unsigned b = 0; b < bytes; ++b) {
    const auto place = 4 * (static_cast<unsigned>(offset % 4) + b);
    selector = (selector & ~(0xfu << place)) | (4 + b) << place;
  }
  const IsaOperand whole = callParamWord(id, word);
  emit(IsaOp::PRMT, {whole, whole, imm(selector), inReg(value.word(0))});
}

std::vector<Value> FunctionLowering::argumentWords(const Operand& argument, VariableId param) {
  std::vector<Value> words;
  const Variable& wanted = module().variable(param);
  if (argument.is(OperandKind::Variable) && isCallParam(argument.variableId())) {
    const std::uint64_t bytes = std::min(wanted.byteSize(), module().variable(argument.variableId()).byteSize());
    for (std::uint64_t w = 0; w < (bytes + 3) / 4; ++w)
      words.push_back(Value::of(callParamWord(argument.variableId(), w)));
  } else if (wanted.type == Type::Pred) {
    unsupported("a predicate passed to a function");
  } else {
    const Value whole = source(argument, wanted.type);
    for (unsigned w = 0; w < whole.words(); ++w)
      words.push_back(whole.isConstant() ? Value::constant(whole.bits() >> (32 * w) & 0xffffffffu, 1)
                                         : Value::of(whole.word(w)));
  }
  return words;
}

void FunctionLowering::passArguments(const Function& callee, std::span<const ori::VRegId> vregOf,
                                     std::span<const std::vector<Value>> values) {
  for (std::size_t n = 0; n < values.size(); ++n) {
    const Parameter& p = callee.params[n];
    for (unsigned w = 0; w < values[n].size(); ++w) {
      if (p.reg == RegisterId::None)
        copy(callParamWord(p.variable, w), values[n][w]);
      else if (const IsaOperand reg = out_.use(vregOf[index(p.reg)]); w < reg.width)
        copy(ori::component(reg, w), values[n][w]);
    }
  }
  storeParameters(callee);
}

void FunctionLowering::storeParameters(const Function& body) {
  for (const Parameter& p : body.params) {
    if (p.variable == VariableId::None || frameObject_[index(p.variable)] == kNoId) continue;
    IsaOperand where;
    where.kind = IsaOperand::Kind::Frame;
    where.reg = frameObject_[index(p.variable)];
    for (std::uint64_t at = 0; at < module().variable(p.variable).byteSize(); at += 4) {
      where.imm = static_cast<std::int32_t>(at);
      emit(IsaOp::STL,
           {IsaOperand::physical(File::R, ori::kStackPointer), IsaOperand(), where, callParamWord(p.variable, at / 4)},
           {{IsaMod::Size, isa::MemSize::B32}});
    }
  }
}

std::vector<std::vector<IsaOperand>> FunctionLowering::resultWords(const Function& callee,
                                                                   std::span<const ori::VRegId> vregOf) {
  std::vector<std::vector<IsaOperand>> returned;
  for (const Parameter& p : callee.returns) {
    std::vector<IsaOperand> words;
    if (p.reg != RegisterId::None) {
      const IsaOperand reg = out_.use(vregOf[index(p.reg)]);
      for (unsigned w = 0; w < reg.width; ++w)
        words.push_back(ori::component(reg, w));
    } else {
      for (std::uint64_t w = 0; w < (module().variable(p.variable).byteSize() + 3) / 4; ++w)
        words.push_back(callParamWord(p.variable, w));
    }
    returned.push_back(std::move(words));
  }
  return returned;
}

void FunctionLowering::takeResults(const CallValues& call, std::span<const std::vector<IsaOperand>> returned) {
  for (std::size_t n = 0; n < call.results.size(); ++n)
    for (unsigned w = 0; w < returned[n].size(); ++w) {
      const IsaOperand& direct = call.direct[n];
      if (direct.isNone()) {
        const VariableId variable = call.results[n].variableId();
        if (w < (module().variable(variable).byteSize() + 3) / 4)
          copy(callParamWord(variable, w), Value::of(returned[n][w]));
      } else if (!direct.isZeroReg() && w < direct.width) {
        copy(ori::component(direct, w), Value::of(returned[n][w]));
      }
    }
}

void FunctionLowering::inlineBody(const Function& callee, const CallValues& call) {
  ori::Block* after = newBlock();
  const bool givesStackBack = takesStack(callee);
  const IsaOperand stack = givesStackBack ? newR() : IsaOperand();
  if (givesStackBack) copy(stack, Value::of(stackPointer()));
  Activation caller = enterBody(callee, after, declareRegisters(callee));
  passArguments(callee, vregOf_, call.args);
  for (const Statement& statement : callee.statements)
    lowerStatement(statement);
  enter(after);
  if (givesStackBack) copy(stackPointer(), Value::of(stack));
  const auto returned = resultWords(callee, vregOf_);
  leaveBody(std::move(caller));
  takeResults(call, returned);
}

void FunctionLowering::endAfterCall(bool noreturn) {
  if (noreturn) endBlock(builder_.emit(IsaOp::EXIT, {}));
}

void FunctionLowering::callOne(FunctionId id, std::span<const Operand> args, std::span<const Operand> results) {
  const Function& callee = module().function(id);
  if (args.size() != callee.params.size() || results.size() != callee.returns.size()) {
    unsupported(fmt::format("this call of '{}'", module().text(callee.name)));
    return;
  }
  if (!isInlined(id) && !isDriverFunction(module().text(callee.name))) {
    callByAbi(abiCallee(id), args, results);
    return;
  }
  if (!callee.hasBody) {
    callExternal(id, args, results);
    return;
  }
  if (callsByAbi_ && layout_.calls->isRecursive(id)) {
    unsupported(fmt::format(
        "recursion of '{}', which cannot be called by the ABI, with calls of functions that are not inlined",
        module().text(callee.name)));
    return;
  }
  ori::Block* join = beginUnguarded();
  CallValues call{{}, {}, results};
  // All arguments are read before any parameter is written.
  for (std::size_t n = 0; n < args.size(); ++n)
    call.args.push_back(argumentWords(args[n], callee.params[n].variable));
  // A result that is returned directly in a register of the caller.
  for (const Operand& result : results)
    call.direct.push_back(result.is(OperandKind::Variable) ? IsaOperand() : dest(result));
  if (layout_.calls->isRecursive(id))
    callRecursive(id, call);
  else if (layout_.plan->isShared(id))
    callShared(id, call);
  else
    inlineBody(callee, call);
  endAfterCall(callee.noreturn);
  endUnguarded(join);
}

void FunctionLowering::call(const Instruction& instruction) {
  const CallParts parts = callParts(*in_, instruction);
  const auto passed = [&](const Operand* list) { return list ? in_->parts(*list) : std::span<const Operand>(); };
  const auto args = passed(parts.args), results = passed(parts.returns);
  const std::vector<FunctionId> targets = layout_.calls->targets(*in_, instruction);
  if (parts.callee->is(OperandKind::Function)) {
    callOne(targets.front(), args, results);
    return;
  }
  if (isRelocatable()) {
    callThroughPointer(parts, args, results);
    return;
  }
  // Through a pointer: a comparison for each possible callee. Any other value is not a function, and traps.
  ori::Block* join = beginUnguarded();
  ori::Block* after = newBlock();
  const IsaOperand pointer = sourceReg(*parts.callee, Type::U64);
  for (const FunctionId target : targets) {
    ori::Block* next = newBlock();
    const auto address = static_cast<std::int64_t>(functionAddress(target));
    branchIf(compared(ori::component(pointer, 0), isa::ICmp::NE, address), next);
    callOne(target, args, results);
    branch(after);
    enter(next);
  }
  emit(IsaOp::BPT, {imm(1)});
  enter(after);
  endUnguarded(join);
}

void lowerCall(FunctionLowering& f, const Instruction& i, const Form&) {
  f.call(i);
}

} // namespace orias::ptx
