#pragma once

#include "tools/lab/job.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::lab {

/// What a compiled kernel or function needs.
struct FunctionFigures {
  std::string name;
  bool isKernel = true;
  unsigned registers = 0; ///< of file R, per thread, as the hardware counts them
  unsigned uniformRegisters = 0;
  unsigned barriers = 0;
  unsigned instructions = 0;
  std::uint64_t codeBytes = 0;
  std::uint64_t sharedBytes = 0;
  std::uint64_t frameBytes = 0;
  unsigned spillBytes = 0; ///< of spill stores and loads; 0 with ptxas, whose cubins do not tell
};

enum class State : std::uint8_t {
  Done,
  Refused,   ///< errors in the input, or options that make no sense
  Wrong,     ///< the launch leaves other memory than the PTX interpreter
  NotRun,    ///< compiled, but the launch did not complete
  OutOfTime, ///< more seconds than the limit
  OutOfMemory,
  Fault ///< of the program itself
};
std::string_view stateName(State state);
State parseState(std::string_view name);

/// What became of a job.
struct Measurement {
  State state = State::Fault;
  std::string message;             ///< empty if State::Done
  double cpuSeconds = 0;           ///< processor time of the compilation
  std::uint64_t peakKilobytes = 0; ///< memory of the process when it had compiled; with ptxas: of ptxas
  std::vector<FunctionFigures> functions;
  std::string code; ///< hash of the machine code and of what it needs; empty if there is none
  // Of the launch; 0 without one.
  double executed = 0;                      ///< warp instructions
  double cycles = 0, fullMachineCycles = 0; ///< estimates (tools/emulator/README.md)
  double residentWarps = 0;
};

/// Does the job in this process.
Measurement measure(const Job& job);

/// Runs the job's launch out of a cubin, compares what it leaves with what the PTX leaves in the interpreter, and puts
/// the figures of the run into `found`. Throws orias::Error for launch files that cannot be read.
void measureLaunch(const Job& job, std::string_view ptx, std::span<const std::byte> cubin, Measurement& found);

/// As JSON, from the process that does the job to the one that keeps the results.
std::string writeMeasurement(const Measurement& measurement);
Measurement parseMeasurement(std::string_view json);

} // namespace orias::lab
