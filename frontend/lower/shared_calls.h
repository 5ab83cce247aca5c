#pragma once

#include "encoder/isa/operand.h"
#include "frontend/ids.h"
#include "frontend/instr_form_table.h"
#include "frontend/lower/call_params.h"
#include "frontend/module.h"
#include "ori/function.h"

#include <memory>
#include <vector>

namespace orias::ptx {

/// An inlined body that several calls of a kernel share. Each call writes its number to `returnTo`.
struct SharedBody {
  FunctionId function = FunctionId::None;
  ori::Block *entry = nullptr, *exit = nullptr;
  std::vector<ori::VRegId> vregOf;
  isa::Operand returnTo;              ///< the index of the call
  std::vector<ori::Block*> returns{}; ///< by index of the call: where it continues
};

/// The shared bodies of a kernel and their calls.
class SharedCalls {
 public:
  explicit SharedCalls(FunctionLowering& f) : f_(f) {}

  /// Lowers a call, with the body if it is the first.
  void call(FunctionId callee, const CallValues& call);
  /// Ends the bodies, after all calls.
  void lowerReturns();

 private:
  /// Null if no call of the body has been lowered yet.
  SharedBody* find(FunctionId callee);

  FunctionLowering& f_;
  std::vector<std::unique_ptr<SharedBody>> bodies_;
};

/// Returns whether the result of the instruction is independent of other threads and no thread waits for it. Lanes of
/// different calls of a shared body may then execute it together.
bool actsAlone(const Form& form);

/// For each instruction of a function: whether it may execute again within one call of the function.
std::vector<bool> instructionsInLoops(const Function& function, const FormTable& forms);

} // namespace orias::ptx
