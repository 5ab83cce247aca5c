#pragma once

#include "encoder/isa/operand.h"
#include "frontend/ids.h"
#include "frontend/lower/call_params.h"
#include "ori/function.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace orias::ptx {

/// The calls of recursive functions that become loops with a stack (recursive_calls.cpp).
class RecursiveCalls {
 public:
  explicit RecursiveCalls(FunctionLowering& f) : f_(f) {}

  void call(FunctionId callee, const CallValues& call);
  /// Whether the code being lowered belongs to a recursive function.
  bool isInside() const { return !openRegions_.empty(); }
  /// Inserts the saves of registers around the calls; the layout of the blocks is set.
  void saveRegisters();

 private:
  /// One function of a region.
  struct Body {
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
  struct Region {
    std::vector<Body> bodies; ///< the first is the one called from outside
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
    std::size_t firstBlock = 0, endBlock = 0; ///< in FunctionLowering::order()
  };

  void callFromOutside(FunctionId callee, const CallValues& call);
  void callFromInside(Region& region, FunctionId callee, const CallValues& call);
  std::size_t bodyOf(Region& region, FunctionId callee);
  void lowerBody(Region& region, std::size_t which);
  void lowerReturn(Region& region, std::size_t which);
  void moveStack(std::int64_t bytes);

  FunctionLowering& f_;
  std::vector<std::unique_ptr<Region>> regions_; // of the whole kernel; some are still open
  std::vector<Region*> openRegions_;             // from the outermost to the innermost
};

} // namespace orias::ptx
