#pragma once

#include "frontend/lower/function_lowering.h"

#include <functional>
#include <span>

namespace orias::ptx {

/// Values that an instruction takes from uniform registers only, which lanes may hold differently.
///
/// `emit` is called once, to emit the instruction; the uniform registers hold the values then. Where the lanes may
/// disagree that stands in a loop: each round takes the values of one lane and serves all lanes that hold the same,
/// which `emit` finds as the guard of the builder. Results of `emit` must go to registers that it does not read, and be
/// copied after the loop. Not under a guard (see FunctionLowering::beginUnguarded). Where one thread is alone there is
/// no loop.
struct UniformWord {
  isa::Operand uniform; ///< one register of file UR
  Value value;          ///< one word
};
void forEachUniform(FunctionLowering& f, std::span<const UniformWord> words, const std::function<void()>& emit);

/// `count` uniform registers in a row, placed as the units that take them want them.
isa::Operand uniformRun(FunctionLowering& f, unsigned count);

/// A uniform register that takes the word of one lane after the other.
struct LaneWord {
  isa::Operand uniform;
  isa::Operand word;
};
/// Puts the values of one lane after the other into uniform registers and emits what reads them, once for each lane.
/// Not under a guard. Where one thread is alone there is no loop.
void forEachLane(FunctionLowering& f, std::span<const LaneWord> words, const std::function<void()>& emit);

/// What stands around an instruction that PTX runs once for each thread, and the hardware once for a warp. From the
/// constructor to end() nothing is under the guard of the PTX instruction, which has to be free of effects but for what
/// forEachLane() emits.
class LaneRegion {
 public:
  /// Threads that the guard keeps out branch around, unless it is true for one thread of the warp at most, which others
  /// may have come here with.
  explicit LaneRegion(FunctionLowering& f);
  /// Puts the words of one thread after the other into uniform registers, and emits what reads them, once for each
  /// thread: first `prepare`, which has no effect but on uniform registers, then `emit` under a guard.
  void forEachLane(std::span<const LaneWord> words, const std::function<void()>& prepare,
                   const std::function<void()>& emit);
  /// Like ptx::forEachUniform(). For one thread at most `emit` finds a uniform guard in the builder.
  void forEachUniform(std::span<const UniformWord> words, const std::function<void()>& emit);
  void end();

 private:
  isa::Operand electedIsHere();

  FunctionLowering& f_;
  bool isElected_;
  ori::Block* join_ = nullptr;
};

/// An address in shared memory, or of another space with 32 bits, in one word.
isa::Operand sharedWord(FunctionLowering& f, const Address& a);

} // namespace orias::ptx
