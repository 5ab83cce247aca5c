// Functions with an ABI of their own, in relocatable code: calls of them, and how they begin and end.

#include "frontend/lower/function_lowering.h"
#include "frontend/lower/parameter_places.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::ptx {

using isa::File;
using IsaOperand = isa::Operand;

namespace {

constexpr std::uint32_t kWordsOfTuple = 4;
constexpr std::uint32_t kTuples = ParameterPlaces::kRegisters / kWordsOfTuple;
constexpr std::uint32_t kStackPointer = 1;

std::uint64_t wordCount(const Variable& v) {
  return (v.byteSize() + 3) / 4;
}

/// The tuples that hold the first `words` registers of parameters or results; what is not there is RZ.
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

void FunctionLowering::callByAbi(FunctionId id, std::span<const Operand> args, std::span<const Operand> results) {
  const Function& callee = module().function(id);
  const std::string_view name = module().text(callee.name);
  std::uint64_t resultWords = 0;
  for (const Parameter& p : callee.returns)
    resultWords += wordCount(module().variable(p.variable));
  if (results.size() > 1 || resultWords > ParameterPlaces::kRegisters) {
    unsupported(fmt::format("the result of '{}', which is not in registers", name));
    return;
  }

  ori::Block* join = beginUnguarded();
  ParameterPlaces places;
  std::vector<IsaOperand> inRegisters;
  for (std::size_t n = 0; n < args.size(); ++n) {
    const Variable& param = module().variable(callee.params[n].variable);
    const std::vector<Value> words = argumentWords(args[n], callee.params[n].variable);
    const ParameterPlaces::Place place = places.next(param.byteSize(), param.align);
    for (std::uint32_t w = 0; w < words.size(); ++w) {
      if (place.onStack) {
        emit(IsaOp::STL,
             {IsaOperand::physical(File::R, kStackPointer), IsaOperand(),
              IsaOperand::immediate(static_cast<std::int32_t>(place.at + 4 * w)), inReg(words[w].word(0))},
             {{IsaMod::Size, isa::MemSize::B32}});
        continue;
      }
      if (inRegisters.size() <= place.at + w) inRegisters.resize(place.at + w + 1, IsaOperand::rz());
      inRegisters[place.at + w] = newR();
      copy(inRegisters[place.at + w], words[w]);
    }
  }
  out_.outgoingBytes = std::max(out_.outgoingBytes, places.stackBytes());

  const std::vector<IsaOperand> returned = tuplesFor(*this, static_cast<std::uint32_t>(resultWords));
  IsaOperand symbol;
  symbol.kind = IsaOperand::Kind::Symbol;
  symbol.reg = layout_.functionSymbol[index(id)];
  std::vector<IsaOperand> operands = returned;
  operands.push_back(symbol);
  operands.insert(operands.end(), inRegisters.begin(), inRegisters.end());
  builder_.emit(IsaOp::CALL_FUNCTION, std::span<const IsaOperand>(operands));

  if (!results.empty() && resultWords != 0) {
    if (results[0].is(OperandKind::Variable)) {
      for (std::uint32_t w = 0; w < std::min(resultWords, wordCount(module().variable(results[0].variableId()))); ++w)
        copy(callParamWord(results[0].variableId(), w), Value::of(wordOf(returned, w)));
    } else if (const IsaOperand direct = dest(results[0]); !direct.isZeroReg()) {
      for (std::uint32_t w = 0; w < std::min<std::uint64_t>(resultWords, direct.width); ++w)
        copy(ori::component(direct, w), Value::of(wordOf(returned, w)));
    }
  }
  endUnguarded(join);
}

void FunctionLowering::beginFunction() {
  paramOffset_.assign(module().variables.size(), kNoId);
  returnTo_ = newBlock();
  ParameterPlaces places;
  std::vector<ParameterPlaces::Place> placeOf;
  std::uint32_t registers = 0;
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
      object.align = std::clamp<std::uint32_t>(v.align, 4, 8); // the stack pointer is a multiple of 8
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
      // Of a narrow number the caller writes no more than its bytes.
      const isa::MemSize size = v.byteSize() == 1   ? isa::MemSize::U8
                                : v.byteSize() == 2 ? isa::MemSize::U16
                                                    : isa::MemSize::B32;
      emit(IsaOp::LDL, {to, IsaOperand::physical(File::R, kStackPointer), IsaOperand(), where}, {{IsaMod::Size, size}});
    }
  }
}

void FunctionLowering::endFunction() {
  if (returnTo_ == nullptr) return;
  enter(returnTo_);
  builder_.setSource({in_->endLoc.line, 0});
  builder_.setGuard(IsaOperand::pt());
  std::vector<IsaOperand> words;
  for (const std::vector<IsaOperand>& result : resultWords(*in_, vregOf_))
    words.insert(words.end(), result.begin(), result.end());
  if (in_->returns.size() > 1 || words.size() > ParameterPlaces::kRegisters) {
    diagnostics_.error(in_->loc, fmt::format("not supported yet: the result of '{}', which is not in registers",
                                             module().text(in_->name)));
    words.clear();
  }
  builder_.emit(IsaOp::FUNCTION_RETURN, std::span<const IsaOperand>(words));
}

} // namespace orias::ptx
