#pragma once

#include "test/differential/compile_stage.h"

#include <span>

namespace orias::differential {

/// What a program's results are held against: the PTX interpreter, or the cubin that ptxas makes of it.
enum class Reference : std::uint8_t { Interpreter, Ptxas };

/// Runs `cubin` on the emulator and the program by the reference, on equal memory, and compares what they leave. The
/// outcome is Good, Unsupported (an engine does not know an instruction), or Mismatch (different memory, or only one of
/// them stopped); Fault when an engine throws, or when there is no ptxas. The reason tells which.
Compiled compareRuns(const generator::Program& program, std::span<const std::byte> cubin, Reference reference);

} // namespace orias::differential
