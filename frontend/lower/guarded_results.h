#pragma once

#include "encoder/isa/operand.h"
#include "ori/builder.h"

#include <vector>

namespace orias::ptx {

/// The results of a guarded instruction without side effects. It is computed into temporaries without the guard. If it
/// became a single instruction, that takes the guard; a sequence ends in guarded copies.
class GuardedResults {
 public:
  explicit GuardedResults(ori::Builder& builder) : builder_(builder) {}

  void begin();
  /// The temporary for a result between begin() and finish(); otherwise the register itself.
  isa::Operand of(isa::Operand destination);
  void finish(isa::Operand guard);

 private:
  struct Staged {
    isa::Operand result, destination;
  };

  ori::Builder& builder_;
  std::vector<Staged> staged_;
  bool isActive_ = false;
  ori::Instr* before_ = nullptr; // the last instruction before begin(), in the same block
};

} // namespace orias::ptx
