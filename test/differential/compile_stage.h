#pragma once

#include "orias/options.h"
#include "test/differential/generator/generator.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace orias::differential {

enum class Outcome : std::uint8_t { Good, Unsupported, Rejected, Mismatch, Fault, Count };
const char* outcomeName(Outcome outcome);

/// What the assembler made of a program.
struct Compiled {
  Outcome outcome = Outcome::Good;
  std::string reason; ///< the first diagnostic, without its place, so that the same reason counts as one
  std::vector<std::byte> cubin;
};

/// Assembles one program. The verifiers that `options` ask for run.
Compiled compile(const generator::Program& program, const Options& options);

} // namespace orias::differential
