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
  /// The function's .local variables, with a copy for each activation, and their total size.
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

/// The mutually recursive functions that one call from outside requires (recursive_calls.cpp).
struct RecursiveRegion {
  std::vector<RecursiveBody> bodies; ///< the first is the one called from outside
  ori::Block* after = nullptr;
  isa::Operand returnTo; ///< the index of the return point; 0: outside
  std::int64_t numbers = 0;
  /// The positions around a call from inside where the caller's registers are saved and restored. Until these are
  /// filled in, `keep` is a branch to the block of `restore`, as if the call returned at once. So liveness finds the
  /// registers that are live across the call. The results are read earlier, in the block `taken`.
  struct Call {
    ori::Instr* keep;
    ori::Block *taken, *restore;
  };
  std::vector<Call> calls;
  std::size_t firstBlock = 0, endBlock = 0; ///< in order_
};

} // namespace orias::ptx
