#pragma once

#include "frontend/lower/function_lowering.h"

#include <functional>
#include <span>

namespace orias::ptx {

/// Values that an instruction takes from uniform registers only, and that may be divergent.
///
/// `emit` is called once, to emit the instruction, when the uniform registers hold the values. If the lanes may
/// disagree, the code is a loop: each iteration takes the values of one lane and serves all lanes with the same values;
/// the builder's guard selects those in `emit`. Results of `emit` must go to registers that it does not read, and be
/// copied after the loop. Not under a guard (see FunctionLowering::beginUnguarded). If only one thread is active, there
/// is no loop.
struct UniformWord {
  isa::Operand uniform; ///< one register of file UR
  Value value;          ///< one word
};
void forEachUniform(FunctionLowering& f, std::span<const UniformWord> words, const std::function<void()>& emit);

/// `count` consecutive uniform registers, aligned as the units that read them require.
isa::Operand uniformRun(FunctionLowering& f, unsigned count);

/// A uniform register that receives the word of one lane after the other.
struct LaneWord {
  isa::Operand uniform;
  isa::Operand word;
};
/// Puts the values of one lane after the other into uniform registers and emits the instruction that reads them, once
/// for each lane. Not under a guard. If only one thread is active, there is no loop.
void forEachLane(FunctionLowering& f, std::span<const LaneWord> words, const std::function<void()>& emit);

/// Surrounds an instruction that PTX executes once for each thread, but the hardware once for a warp. Code between the
/// constructor and end() is not under the guard of the PTX instruction, so it must have no effects except those that
/// forEachLane() emits.
class LaneRegion {
 public:
  /// Threads whose guard is false branch around the region. There is no branch if the guard is true for at most one
  /// thread of the warp; other threads may then be active in the region, too.
  explicit LaneRegion(FunctionLowering& f);
  /// Puts the words of one thread after the other into uniform registers and emits the instructions that read them,
  /// once for each thread: first `prepare`, which affects only uniform registers, then `emit` under a guard.
  void forEachLane(std::span<const LaneWord> words, const std::function<void()>& prepare,
                   const std::function<void()>& emit);
  /// Like ptx::forEachUniform(). If at most one thread is active, the builder has a uniform guard during `emit`.
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
