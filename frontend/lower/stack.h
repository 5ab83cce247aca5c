#pragma once

#include "encoder/isa/operand.h"
#include "frontend/instr_form_table.h"
#include "frontend/module.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace orias::ptx {

class FunctionLowering;

/// Stack memory below the frame, for alloca and recursion, and the stack arguments of calls, which lie there too.
class DynamicStack {
 public:
  explicit DynamicStack(FunctionLowering& f) : f_(f) {}

  static constexpr std::int64_t kAlign = 16; ///< of pointer()

  /// A register with the lowest address in use below the frame, a multiple of kAlign.
  isa::Operand pointer();
  /// The start of free memory above the stack pointer `stack`: after stack arguments of calls.
  isa::Operand aboveArguments(isa::Operand stack, std::uint32_t alignment);
  /// Called code has its frame where alloca takes memory. If the function uses alloca, its calls have pointer() as
  /// their last operand, and stack arguments are relative to it.
  bool isBelowCalls();
  /// Aligns the stack arguments of a call.
  void alignArguments(std::uint32_t alignment);

 private:
  /// Whether an instruction of this function or of those that are inlined into it satisfies a condition.
  bool anyInstruction(const std::function<bool(const Function& body, const Instruction&)>& condition) const;
  /// Whether calls by the ABI in this function may have stack arguments.
  bool passesOnStack() const;
  /// Whether a driver function that reads textures may have stack arguments.
  bool passesToDriver() const;

  FunctionLowering& f_;
  isa::Operand pointer_;
  std::uint32_t outgoing_ = kNoId; // a frame object: FrameObject::isOutgoing
  std::optional<bool> isTaken_;    // by alloca, here or in inlined functions; computed on demand
};

/// Whether the function uses alloca. That memory is released when it returns.
bool takesStack(const Function& function, const FormTable& forms);

} // namespace orias::ptx
