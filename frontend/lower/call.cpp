// Calls. Every function with a body is inlined where it is called; what calls pass is kept in registers.

#include "frontend/instr_form_table.h"
#include "frontend/lower/families.h"
#include "support/check.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

std::vector<const Function*> FunctionLowering::bodies() {
  std::vector<const Function*> all{in_};
  for (std::size_t at = 0; at < all.size(); ++at)
    for (const Operand& o : all[at]->operands) {
      if (!o.is(OperandKind::Function)) continue;
      const Function& callee = module().function(o.functionId());
      if (callee.hasBody && std::find(all.begin(), all.end(), &callee) == all.end()) all.push_back(&callee);
    }
  return all;
}

FunctionLowering::Activation FunctionLowering::enterBody(const Function& callee, ori::Block* returnTo) {
  Activation caller{in_, std::move(vregOf_), std::move(blockOf_), returnTo_, current_};
  in_ = &callee;
  vregOf_.clear();
  declareRegisters();
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

/// Does the access lie in the variable, and in the words that it touches at its natural place?
bool fitsWords(const Variable& v, std::int64_t offset, unsigned bytes) {
  return offset >= 0 && static_cast<std::uint64_t>(offset) + bytes <= v.byteSize() && offset % std::min(bytes, 4u) == 0;
}

} // namespace

void FunctionLowering::loadCallParam(IsaOperand d, VariableId id, std::int64_t offset, Type type) {
  const unsigned bytes = std::max(1u, bitWidth(type) / 8);
  if (!fitsWords(module().variable(id), offset, bytes)) {
    unsupported("an access across the parts of a parameter");
    return;
  }
  const auto word = static_cast<std::size_t>(offset) / 4;
  if (bytes >= 4) {
    for (unsigned w = 0; w < bytes / 4; ++w)
      copy(ori::component(d, w), Value::of(callParamWord(id, word + w)));
    return;
  }
  // The bytes wanted, moved down; the rest is the sign or zero.
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
    unsupported("an access across the parts of a parameter");
    return;
  }
  const auto word = static_cast<std::size_t>(offset) / 4;
  if (bytes >= 4 || v.byteSize() <= bytes) {
    for (unsigned w = 0; w < std::max(1u, bytes / 4); ++w)
      copy(callParamWord(id, word + w),
           value.isConstant() ? Value::constant(value.bits() >> (32 * w), 1) : Value::of(value.word(w)));
    return;
  }
  // Only these bytes of the word change.
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

void FunctionLowering::inlineCall(const Instruction& call) {
  const CallParts parts = callParts(*in_, call);
  if (!parts.callee->is(OperandKind::Function)) {
    unsupported("a call through a pointer");
    return;
  }
  const Function& callee = module().function(parts.callee->functionId());
  const std::string name(module().text(callee.name));
  if (in_ == &callee || std::find(inlining_.begin(), inlining_.end(), &callee) != inlining_.end()) {
    unsupported(fmt::format("the recursive function '{}'", name));
    return;
  }
  const auto passed = [&](const Operand* list) { return list ? in_->parts(*list) : std::span<const Operand>(); };
  const auto args = passed(parts.args), results = passed(parts.returns);
  if (args.size() != callee.params.size() || results.size() != callee.returns.size()) {
    unsupported(fmt::format("this call of '{}'", name));
    return;
  }
  if (!callee.hasBody) {
    callExternal(parts.callee->functionId(), args, results);
    return;
  }
  const auto wordCount = [&](VariableId id) { return (module().variable(id).byteSize() + 3) / 4; };

  ori::Block* join = beginUnguarded();
  // The arguments are read before any parameter is written.
  std::vector<std::vector<Value>> values;
  for (std::size_t n = 0; n < args.size(); ++n)
    values.push_back(argumentWords(args[n], callee.params[n].variable));
  // A result that goes straight to a register of the caller.
  std::vector<IsaOperand> direct(results.size());
  for (std::size_t n = 0; n < results.size(); ++n)
    if (!results[n].is(OperandKind::Variable)) direct[n] = dest(results[n]);

  ori::Block* after = newBlock();
  Activation caller = enterBody(callee, after);
  const auto registerOf = [&](const Parameter& p) { return out_.use(vregOf_[index(p.reg)]); };
  for (std::size_t n = 0; n < values.size(); ++n)
    for (unsigned w = 0; w < values[n].size(); ++w) {
      const Parameter& p = callee.params[n];
      if (p.reg == RegisterId::None)
        copy(callParamWord(p.variable, w), values[n][w]);
      else if (w < registerOf(p).width)
        copy(ori::component(registerOf(p), w), values[n][w]);
    }
  for (const Statement& statement : callee.statements)
    lowerStatement(statement);
  enter(after);
  std::vector<std::vector<IsaOperand>> returned;
  for (const Parameter& p : callee.returns) {
    std::vector<IsaOperand> words;
    if (p.reg != RegisterId::None)
      for (unsigned w = 0; w < registerOf(p).width; ++w)
        words.push_back(ori::component(registerOf(p), w));
    else
      for (std::uint64_t w = 0; w < wordCount(p.variable); ++w)
        words.push_back(callParamWord(p.variable, w));
    returned.push_back(std::move(words));
  }
  leaveBody(std::move(caller));
  for (std::size_t n = 0; n < results.size(); ++n)
    for (unsigned w = 0; w < returned[n].size(); ++w) {
      if (direct[n].isNone()) {
        if (w < wordCount(results[n].variableId()))
          copy(callParamWord(results[n].variableId(), w), Value::of(returned[n][w]));
      } else if (!direct[n].isZeroReg() && w < direct[n].width) {
        copy(ori::component(direct[n], w), Value::of(returned[n][w]));
      }
    }
  endUnguarded(join);
}

void lowerCall(FunctionLowering& f, const Instruction& i, const Form&) {
  f.inlineCall(i);
}

} // namespace orias::ptx
