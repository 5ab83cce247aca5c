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
/// copied after the loop. Not under a guard (see FunctionLowering::beginUnguarded).
struct UniformWord {
  isa::Operand uniform; ///< one register of file UR
  Value value;          ///< one word
};
void forEachUniform(FunctionLowering& f, std::span<const UniformWord> words, const std::function<void()>& emit);

} // namespace orias::ptx
