#pragma once

#include "encoder/isa/target.h"
#include "ori/function.h"

namespace orias::phases {

/// What an instruction more in this block costs, or one less saves: eight times as much in each deeper loop, nothing
/// in cold blocks.
std::int64_t weightOf(const ori::Block& block);

/// What moving an instruction to the uniform datapath gains, in units of which a cross-file copy costs six. The
/// instruction still takes an issue slot. Where many registers are live, the vector register of its result is the gain.
/// Elsewhere it is the time of a vector pipe: more for long products, twice as much on the pipe that limits the
/// function, next to nothing for loads of constants and special registers. In loops all count alike, since copies take
/// slots there in each iteration.
class UniformGain {
 public:
  explicit UniformGain(const ori::Function& function);

  std::int64_t of(const ori::Instr& writer) const;

 private:
  const isa::Target& target_;
  bool hasManyRegisters_;
  /// The pipe that is busy for more cycles than the function has instructions; 0: there is none, or nobody asks.
  unsigned busiest_ = 0;
};

} // namespace orias::phases
