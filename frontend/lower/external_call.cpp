#include "frontend/lower/external_call.h"

#include "frontend/lower/addresses.h"
#include "frontend/lower/call_lowering.h"
#include "frontend/lower/function_lowering.h"
#include "ori/call_abi.h"
#include "support/check.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace orias::ptx {

using IsaOperand = isa::Operand;

namespace {

/// Functions that the driver links to every program (observed: the names that ptxas accepts without a definition).
constexpr std::array<std::string_view, 5> kDriverFunctions{"vprintf", "malloc", "free", "__assertfail",
                                                           "cudaGraphSetConditional"};
/// Words of arguments in registers.
constexpr std::size_t kMaxWords = 10;
/// Alignment of stack arguments: vectors of four words.
constexpr std::uint32_t kStackArgumentAlignment = 16;

IsaOperand stackPointerRegister() {
  return IsaOperand::physical(isa::File::R, ori::kStackPointer);
}

/// Calls the driver function with this symbol. The arguments are in registers from R4 on, and so is the result. Use
/// between beginUnguarded() and endUnguarded().
IsaOperand callSymbol(FunctionLowering& f, std::uint32_t function, std::span<const Value> words, unsigned resultWords) {
  IsaOperand symbol;
  // If the function uses alloca, R2 is the frame's. With so many arguments no register is then left for the address.
  if (f.isRelocatable() || (f.stack().isBelowCalls() && words.size() > kMaxWords)) {
    symbol.kind = IsaOperand::Kind::Symbol;
    symbol.reg = function;
  } else {
    symbol = IsaOperand::immediate(static_cast<std::int32_t>(f.out().module().addressSlot(function)));
  }
  const IsaOperand result = resultWords ? f.newR(resultWords) : IsaOperand::rz();
  std::vector<IsaOperand> operands{result, symbol};
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t left = words.size() - at;
    const unsigned width = left >= 3 ? 4 : static_cast<unsigned>(left);
    const IsaOperand tuple = f.newR(width);
    for (unsigned w = 0; w < width; ++w, ++at)
      f.copy(ori::component(tuple, w), at < words.size() ? words[at] : Value::constant(0, 1));
    operands.push_back(tuple);
  }
  while (operands.size() < 5)
    operands.push_back(IsaOperand::rz());
  if (f.stack().isBelowCalls()) operands.push_back(f.stack().pointer());
  f.b().emit(IsaOp::CALL_EXTERN, std::span<const IsaOperand>(operands));
  return result;
}

} // namespace

bool isDriverFunction(std::string_view name) {
  return std::find(kDriverFunctions.begin(), kDriverFunctions.end(), name) != kDriverFunctions.end();
}

void reportUnresolved(FunctionLowering& f, std::string_view function) {
  f.diagnostics().error(f.current().loc, fmt::format("Unresolved extern function '{}'", function),
                        "add the input that defines it, or compile a relocatable object with -c");
}

void callExternal(FunctionLowering& f, FunctionId id, std::span<const Operand> args, std::span<const Operand> results) {
  const Function& callee = f.module().function(id);
  const std::string name(f.module().text(callee.name));
  if (!isDriverFunction(name)) {
    reportUnresolved(f, name);
    return;
  }
  // A function that a recursion calls has code and a frame of its own.
  ORIAS_CHECK(!f.calls().recursive().isInside() || name == "__assertfail", name);
  std::uint64_t resultWords = 0;
  for (const Parameter& p : callee.returns)
    resultWords += (f.module().variable(p.variable).byteSize() + 3) / 4;
  if (results.size() > 1 || resultWords > 4 || resultWords == 3) {
    f.unsupported(fmt::format("the result of '{}'", name));
    return;
  }

  ori::Block* join = f.beginUnguarded();
  // Each argument is at a multiple of its alignment.
  std::vector<Value> words;
  for (std::size_t n = 0; n < args.size(); ++n) {
    const Variable& param = f.module().variable(callee.params[n].variable);
    while (words.size() % std::clamp<std::size_t>(param.align / 4, 1, 4) != 0)
      words.push_back(Value::constant(0, 1));
    const std::vector<Value> value = f.params().argument(args[n], callee.params[n].variable);
    words.insert(words.end(), value.begin(), value.end());
  }
  if (words.size() > kMaxWords) {
    f.unsupported(fmt::format("this number of arguments of '{}'", name));
    return;
  }
  if (name == "__assertfail") f.markCold();
  const IsaOperand result =
      callSymbol(f, f.layout().functionSymbol[index(id)], words, static_cast<unsigned>(resultWords));
  if (!results.empty() && resultWords != 0) {
    if (!results[0].is(OperandKind::Variable))
      f.copy(f.dest(results[0]), Value::of(result));
    else
      for (unsigned w = 0; w < resultWords; ++w)
        f.copy(f.params().word(results[0].variableId(), w), Value::of(ori::component(result, w)));
  }
  endAfterCall(f, callee.noreturn);
  f.endUnguarded(join);
}

std::optional<IsaOperand> callDriver(FunctionLowering& f, const std::string& name, std::span<const Value> inRegisters,
                                     std::span<const Value> onStack, unsigned resultWords) {
  if (f.calls().recursive().isInside()) {
    f.unsupported(fmt::format("a call of '{}' in recursion", name));
    return std::nullopt;
  }
  const std::uint32_t symbol = symbolNamed(f.out().module(), ori::Symbol::Kind::ExternFunction, name);
  const IsaOperand stack = f.stack().isBelowCalls() ? f.stack().pointer() : stackPointerRegister();
  for (std::size_t w = 0; w < onStack.size(); ++w)
    f.emit(IsaOp::STL,
           {stack, IsaOperand(), IsaOperand::immediate(static_cast<std::int32_t>(4 * w)), f.inReg(onStack[w].word(0))},
           {{IsaMod::Size, isa::MemSize::B32}});
  f.out().outgoingBytes = std::max(f.out().outgoingBytes, static_cast<std::uint32_t>(4 * onStack.size()));
  if (!onStack.empty()) f.stack().alignArguments(kStackArgumentAlignment);
  return callSymbol(f, symbol, inRegisters, resultWords);
}

} // namespace orias::ptx
