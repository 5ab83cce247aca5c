#pragma once

#include "tools/lab/job.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::lab {

/// The resources of a compiled kernel or function.
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
  unsigned spillBytes = 0; ///< of spill stores and loads; 0 with ptxas, whose cubins do not record it
};

enum class State : std::uint8_t {
  Done,
  Refused,   ///< errors in the input, or invalid options
  Wrong,     ///< memory differs from that of the PTX interpreter after the launch
  NotRun,    ///< compiled, but the launch did not complete
  OutOfTime, ///< exceeded the time limit
  OutOfMemory,
  Fault ///< of the program itself
};
std::string_view stateName(State state);
State parseState(std::string_view name);

/// The outcome of a job.
struct Measurement {
  State state = State::Fault;
  std::string message;             ///< empty if State::Done
  double cpuSeconds = 0;           ///< processor time of the compilation
  std::uint64_t peakKilobytes = 0; ///< peak memory of the process after compiling; with ptxas: of ptxas
  std::vector<FunctionFigures> functions;
  std::string code; ///< hash of the machine code and its resources; empty if there is none
  // Of the launch; 0 without one.
  double executed = 0;                      ///< warp instructions
  double cycles = 0, fullMachineCycles = 0; ///< estimates (tools/emulator/README.md)
  double residentWarps = 0;
};

/// Executes the job in this process.
Measurement measure(const Job& job);

/// Runs the job's launch with a cubin, compares the resulting memory with that of the PTX interpreter, and stores the
/// figures of the run in `found`. Throws orias::Error for launch files that cannot be read.
void measureLaunch(const Job& job, std::string_view ptx, std::span<const std::byte> cubin, Measurement& found);

/// As JSON, from the process that executes the job to the one that stores the results.
std::string writeMeasurement(const Measurement& measurement);
Measurement parseMeasurement(std::string_view json);

} // namespace orias::lab
