#pragma once

#include "encoder/isa/operand.h"
#include "frontend/ids.h"
#include "ori/function.h"

#include <cstdint>
#include <vector>

namespace orias::ptx {

/// One function of a region.
struct RecursiveBody {
  FunctionId function = FunctionId::None;
  ori::Block *entry = nullptr, *exit = nullptr;
  std::vector<ori::VRegId> vregOf;
  /// The function's .local variables, of which each active call has its own copy, and their total size.
  struct Local {
    VariableId variable;
    std::int64_t at; ///< bytes from the stack pointer
  };
  std::vector<Local> locals;
  std::int64_t frameBytes = 0;
  struct Return {
    std::int64_t number;
    ori::Block* to;
  };
  std::vector<Return> returns;
};

/// The functions that call one another, as far as one call from outside needs them (recursive_calls.cpp).
struct RecursiveRegion {
  std::vector<RecursiveBody> bodies; ///< the first is the one that is called from outside
  ori::Block* after = nullptr;
  isa::Operand returnTo; ///< the index of the return point; 0: outside
  std::int64_t numbers = 0;
  /// Around a call from inside: where the caller's registers are to be kept, and brought back. Until that is filled in,
  /// `keep` is a branch to the block of `restore`, as if the call came back at once: so liveness sees what must outlive
  /// it. The results are taken in the block `taken` before.
  struct Call {
    ori::Instr* keep;
    ori::Block *taken, *restore;
  };
  std::vector<Call> calls;
  std::size_t firstBlock = 0, endBlock = 0; ///< in order_
};

} // namespace orias::ptx
