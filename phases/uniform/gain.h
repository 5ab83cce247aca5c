#pragma once

#include "encoder/isa/target.h"
#include "ori/function.h"

namespace orias::phases {

/// The cost of an additional instruction in this block: eight times as much in each deeper loop, zero in cold blocks.
std::int64_t weightOf(const ori::Block& block);

/// The gain of moving an instruction to the uniform datapath, in units of which a cross-file copy costs six. The
/// instruction still takes an issue slot. Where register pressure is high, the gain is the vector register of the
/// result. Elsewhere it is the time of a vector pipe: more for long products, twice as much on the pipe that limits the
/// function, almost none for loads of constants and special registers. In loops all count alike, since copies take
/// slots there in each iteration.
class UniformGain {
 public:
  explicit UniformGain(const ori::Function& function);

  std::int64_t of(const ori::Instr& writer) const;

 private:
  const isa::Target& target_;
  bool hasManyRegisters_;
  /// The pipe that is busy for more cycles than the function has instructions; 0: none, or not needed.
  unsigned busiest_ = 0;
};

} // namespace orias::phases
