#pragma once

#include "encoder/isa/operand.h"
#include "frontend/ids.h"
#include "frontend/instr_form_table.h"
#include "frontend/module.h"
#include "ori/function.h"

#include <vector>

namespace orias::ptx {

/// An inlined body that several calls of a kernel share. Each call says in `returnTo` which one it is.
struct SharedBody {
  FunctionId function = FunctionId::None;
  ori::Block *entry = nullptr, *exit = nullptr;
  std::vector<ori::VRegId> vregOf;
  isa::Operand returnTo;              ///< the index of the call
  std::vector<ori::Block*> returns{}; ///< by index of the call: where it goes on
};

/// Does the result of the instruction depend on no other thread, and does none wait for it? Lanes that take different
/// calls of a shared body may run it together.
bool actsAlone(const Form& form);

/// For each instruction of a function: may it run again without another call of the function?
std::vector<bool> instructionsInLoops(const Function& function, const FormTable& forms);

} // namespace orias::ptx
