#pragma once

#include "tools/launch/launch.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace orias::gpu {

/// A cubin of the kernel, and its compiler: "orias -O3".
struct Candidate {
  std::string name;
  std::vector<std::byte> cubin;
};

/// The measurement of a kernel, in addition to its results.
struct Probe {
  /// The pair of instructions or the instruction: "Alu -> Fma", "LDG (L1 hit)".
  std::string what;
  enum class Kind : std::uint8_t {
    Stall,   ///< the results are right if `stall` cycles between two dependent instructions suffice
    Latency, ///< cycles of one step of a dependent chain
    Issue,   ///< cycles between two independent instructions
  } kind = Kind::Latency;
  unsigned stall = 0; ///< cycles from the first instruction to the second, in the control words
  unsigned table = 0; ///< cycles in our tables
  unsigned steps = 1; ///< dependent or independent instructions between the two reads of the clock
};

/// One launch of one kernel, from one or more cubins, and the memory that it must leave. It is self-contained: the
/// device needs no compiler and no other engine.
struct Case {
  std::string group;  ///< "forms"
  std::string name;   ///< within the group
  std::string family; ///< cases of one family fail together: "atom.add"; empty: independent
  std::string text;   ///< the relevant part of the program, for messages
  launch::Launch launch;
  std::vector<Candidate> candidates; ///< the first one is under test
  /// The expected contents of the buffers after the run, from another engine; an empty entry is an unchanged buffer. An
  /// empty list: not known.
  std::vector<std::vector<std::byte>> memory;
  int cycles = -1;          ///< the buffer with measured cycles, which is not compared
  unsigned repetitions = 0; ///< timed launches
  /// Copies of the grid along z that fill a large GPU several times; 0: the grid cannot be copied.
  unsigned gridCopies = 0;
  std::optional<Probe> probe;
};

/// The memory that the case's launch must leave; nothing if it is not known. Refers to the case.
std::optional<launch::Device> referenceOf(const Case& c);

const char* kindName(Probe::Kind kind);

/// Writes cases to one compressed file. Throws orias::Error.
void writeCases(const std::string& path, const std::vector<Case>& cases);
/// Reads what writeCases() wrote. Throws orias::Error.
std::vector<Case> readCases(const std::string& path);

} // namespace orias::gpu
