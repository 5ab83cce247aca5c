#include "ori/calls.h"

#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"
#include "ori/module.h"

namespace orias::ori {

namespace {

using isa::File;

constexpr File kFiles[] = {File::R, File::P, File::UR, File::UP, File::B};

/// All registers for which `isLost(file, register)` is true.
template <typename F> RegisterSet registersWhere(const isa::Target& target, F&& isLost) {
  RegisterSet set;
  for (const File file : kFiles)
    for (std::uint32_t r = 0; r < target.registerCount(file); ++r)
      if (isLost(file, r)) set.add(file, r);
  return set;
}

bool callsItself(const Function& function, const Instr& call) {
  const std::optional<std::uint32_t> callee = calleeOf(call);
  if (!callee) return false;
  const Module& module = function.module();
  const Symbol& named = module.symbols[*callee];
  return named.kind == Symbol::Kind::Function && module.functions[named.index].get() == &function;
}

RegisterSet lostBy(Convention convention, const isa::Target& target) {
  return registersWhere(target, [&](File file, std::uint32_t r) { return !survivesCall(convention, file, r); });
}

/// Registers that expandCalls() writes around a call.
RegisterSet takenBySequence(const Instr& call) {
  RegisterSet set;
  for (const std::uint32_t r : {kScratchBeforeCall, kScratchAtEntry, kReturnAddress, kReturnAddress + 1})
    set.add(File::R, r);
  std::uint32_t argument = kFirstArgument;
  for (unsigned i = kResultTuples + 1; i < call.operandCount; ++i)
    for (unsigned w = 0; w < call.op_(i).width; ++w)
      set.add(File::R, argument++);
  return set;
}

} // namespace

bool hasCalls(const Function& function) {
  if (!function.everHad(Op::CALL_EXTERN) && !function.everHad(Op::CALL_FUNCTION)) return false;
  for (const Block* block : function.layout())
    for (const Instr& instr : *block)
      if (isCall(instr)) return true;
  return false;
}

std::optional<std::uint32_t> calleeOf(const Instr& call) {
  constexpr unsigned kCalleeOfMachineCall = 1;
  if (call.op != Op::CALL_FUNCTION && call.op != isa::Op::CALL_ABS) return std::nullopt;
  const Operand& callee = call.op_(call.op == Op::CALL_FUNCTION ? kResultTuples : kCalleeOfMachineCall);
  if (callee.kind != isa::Operand::Kind::Symbol) return std::nullopt;
  return callee.reg;
}

const RegisterSet* knownChanges(const Function& caller, const Instr& call) {
  const std::optional<std::uint32_t> callee = calleeOf(call);
  return callee ? caller.changesOf(*callee) : nullptr;
}

RegisterSet changedByCalling(const Function& function) {
  const isa::Target& target = function.module().target();
  RegisterSet changed;
  bool callsUnknown = false;
  for (const Block* block : function.layout())
    for (const Instr& instr : *block) {
      isa::forEachTouch(instr.op, std::span<const std::uint8_t, isa::kMaxMods>(instr.mods), instr.guard(),
                        std::span<const Operand>(instr.ops()), target, [&](const isa::Touch& t) {
                          if (t.isDef) changed.add(t.file, t.reg);
                        });
      if (instr.op != isa::Op::CALL_ABS && instr.op != isa::Op::CALL_ABS_R) continue;
      if (const RegisterSet* known = knownChanges(function, instr))
        changed |= *known;
      else if (!callsItself(function, instr)) // a call of itself adds nothing
        callsUnknown = true;
    }
  if (callsUnknown)
    for (const Convention convention : {Convention::System, Convention::Function, Convention::Pointer})
      changed |= lostBy(convention, target);
  return registersWhere(
      target, [&](File file, std::uint32_t r) { return changed.contains(file, r) && !isKeptByFunctions(file, r); });
}

RegisterSet changedAt(const Function& caller, const Instr& call) {
  const RegisterSet* known = knownChanges(caller, call);
  if (!known) return lostBy(conventionOf(call), caller.module().target());
  // Where lanes have diverged, others may run while the callee waits, and the lanes of a warp share the uniform
  // registers.
  RegisterSet changed = registersWhere(caller.module().target(), [&](File file, std::uint32_t r) {
    return file != File::R && file != File::P && !survivesCall(Convention::Function, file, r);
  });
  changed |= *known;
  changed |= takenBySequence(call);
  return changed;
}

} // namespace orias::ori
