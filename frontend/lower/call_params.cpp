#include "frontend/lower/call_params.h"

#include "frontend/lower/function_lowering.h"
#include "ori/call_abi.h"
#include "support/check.h"

#include <algorithm>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

IsaOperand CallParams::word(VariableId id, std::size_t word) {
  if (words_.empty()) words_.resize(f_.module().variables.size());
  std::vector<ori::VRegId>& words = words_[index(id)];
  if (words.empty()) {
    const Variable& v = f_.module().variable(id);
    for (std::uint64_t at = 0; at < std::max<std::uint64_t>(v.byteSize(), 1); at += 4)
      words.push_back(f_.out().newVReg(File::R));
  }
  ORIAS_CHECK(word < words.size());
  return f_.out().use(words[word]);
}

namespace {

/// Returns whether the access lies within the variable and within the words that it touches when naturally aligned.
bool fitsWords(const Variable& v, std::int64_t offset, unsigned bytes) {
  return offset >= 0 && static_cast<std::uint64_t>(offset) + bytes <= v.byteSize() && offset % std::min(bytes, 4u) == 0;
}

} // namespace

void CallParams::load(IsaOperand d, VariableId id, std::int64_t offset, Type type) {
  const unsigned bytes = std::max(1u, bitWidth(type) / 8);
  if (!fitsWords(f_.module().variable(id), offset, bytes)) {
    f_.unsupported("an access across components of a parameter");
    return;
  }
  const auto first = static_cast<std::size_t>(offset) / 4;
  if (bytes >= 4) {
    for (unsigned w = 0; w < bytes / 4; ++w)
      f_.copy(ori::component(d, w), Value::of(word(id, first + w)));
    return;
  }
  // Shifts the bytes down and extends them with the sign or zero.
  const auto byte = static_cast<unsigned>(offset % 4);
  const unsigned fill = typeClass(type) == TypeClass::Signed ? 8 + byte + bytes - 1 : 4;
  const unsigned second = bytes == 1 ? fill : byte + 1;
  f_.emit(IsaOp::PRMT, {ori::component(d, 0), word(id, first), f_.imm(byte | second << 4 | fill << 8 | fill << 12),
                        IsaOperand::rz()});
}

void CallParams::store(VariableId id, std::int64_t offset, Type type, const Value& value) {
  const Variable& v = f_.module().variable(id);
  const unsigned bytes = std::max(1u, bitWidth(type) / 8);
  if (!fitsWords(v, offset, bytes)) {
    f_.unsupported("an access across components of a parameter");
    return;
  }
  const auto first = static_cast<std::size_t>(offset) / 4;
  if (bytes >= 4 || v.byteSize() <= bytes) {
    for (unsigned w = 0; w < std::max(1u, bytes / 4); ++w)
      f_.copy(word(id, first + w),
              value.isConstant() ? Value::constant(value.bits() >> (32 * w), 1) : Value::of(value.word(w)));
    return;
  }
  // Replaces only these bytes of the word.
  unsigned selector = 0x3210;
  for (unsigned b = 0; b < bytes; ++b) {
    const auto place = 4 * (static_cast<unsigned>(offset % 4) + b);
    selector = (selector & ~(0xfu << place)) | (4 + b) << place;
  }
  const IsaOperand whole = word(id, first);
  f_.emit(IsaOp::PRMT, {whole, whole, f_.imm(selector), f_.inReg(value.word(0))});
}

std::vector<Value> CallParams::argument(const Operand& argument, VariableId param) {
  std::vector<Value> words;
  const Variable& wanted = f_.module().variable(param);
  if (argument.is(OperandKind::Variable) && f_.variables().isCallParam(argument.variableId())) {
    const std::uint64_t bytes = std::min(wanted.byteSize(), f_.module().variable(argument.variableId()).byteSize());
    for (std::uint64_t w = 0; w < (bytes + 3) / 4; ++w)
      words.push_back(Value::of(word(argument.variableId(), w)));
  } else if (wanted.type == Type::Pred) {
    f_.unsupported("a predicate passed to a function");
  } else {
    const Value whole = f_.source(argument, wanted.type);
    for (unsigned w = 0; w < whole.words(); ++w)
      words.push_back(whole.isConstant() ? Value::constant(whole.bits() >> (32 * w) & 0xffffffffu, 1)
                                         : Value::of(whole.word(w)));
  }
  return words;
}

void CallParams::pass(const Function& callee, std::span<const ori::VRegId> vregOf,
                      std::span<const std::vector<Value>> values) {
  for (std::size_t n = 0; n < values.size(); ++n) {
    const Parameter& p = callee.params[n];
    for (unsigned w = 0; w < values[n].size(); ++w) {
      if (p.reg == RegisterId::None)
        f_.copy(word(p.variable, w), values[n][w]);
      else if (const IsaOperand reg = f_.out().use(vregOf[index(p.reg)]); w < reg.width)
        f_.copy(ori::component(reg, w), values[n][w]);
    }
  }
  storeInMemory(callee);
}

void CallParams::storeInMemory(const Function& body) {
  for (const Parameter& p : body.params) {
    if (p.variable == VariableId::None || !f_.variables().frameObject(p.variable)) continue;
    IsaOperand where;
    where.kind = IsaOperand::Kind::Frame;
    where.reg = *f_.variables().frameObject(p.variable);
    for (std::uint64_t at = 0; at < f_.module().variable(p.variable).byteSize(); at += 4) {
      where.imm = static_cast<std::int32_t>(at);
      f_.emit(IsaOp::STL,
              {IsaOperand::physical(File::R, ori::kStackPointer), IsaOperand(), where, word(p.variable, at / 4)},
              {{IsaMod::Size, isa::MemSize::B32}});
    }
  }
}

std::vector<std::vector<IsaOperand>> CallParams::results(const Function& callee, std::span<const ori::VRegId> vregOf) {
  std::vector<std::vector<IsaOperand>> returned;
  for (const Parameter& p : callee.returns) {
    std::vector<IsaOperand> words;
    if (p.reg != RegisterId::None) {
      const IsaOperand reg = f_.out().use(vregOf[index(p.reg)]);
      for (unsigned w = 0; w < reg.width; ++w)
        words.push_back(ori::component(reg, w));
    } else {
      for (std::uint64_t w = 0; w < (f_.module().variable(p.variable).byteSize() + 3) / 4; ++w)
        words.push_back(word(p.variable, w));
    }
    returned.push_back(std::move(words));
  }
  return returned;
}

void CallParams::take(const CallValues& call, std::span<const std::vector<IsaOperand>> returned) {
  for (std::size_t n = 0; n < call.results.size(); ++n)
    for (unsigned w = 0; w < returned[n].size(); ++w) {
      const IsaOperand& direct = call.direct[n];
      if (direct.isNone()) {
        const VariableId variable = call.results[n].variableId();
        if (w < (f_.module().variable(variable).byteSize() + 3) / 4)
          f_.copy(word(variable, w), Value::of(returned[n][w]));
      } else if (!direct.isZeroReg() && w < direct.width) {
        f_.copy(ori::component(direct, w), Value::of(returned[n][w]));
      }
    }
}

} // namespace orias::ptx
