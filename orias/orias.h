#pragma once

// The public interface of the library: compiles PTX text to a cubin, a listing, diagnostics and statistics.

#include "orias/options.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// Marks the symbols that the shared library exports.
#define ORIAS_API __attribute__((visibility("default")))

namespace orias {

/// One PTX module (or Ori module, with PhaseOptions::startFrom).
struct Input {
  std::string name; ///< for messages and listings
  std::string_view text;
};

enum class Status : std::uint8_t {
  Ok,
  InputErrors,   ///< see Result::diagnostics; there is no cubin
  InternalFault, ///< an internal error; see Result::diagnostics
};

/// An error, warning or note, as data.
struct Message {
  enum class Kind : std::uint8_t { Note, Warning, Error };
  Kind kind = Kind::Error;
  std::string input;   ///< Input::name
  unsigned line = 0;   ///< from 1; 0: no location
  unsigned column = 0; ///< the same
  std::string text;
  std::string hint; ///< how to fix it; may be empty
};

/// An object of the stack frame of a function.
struct FrameObjectReport {
  std::string name;
  std::int64_t offset = 0;  ///< bytes from the stack pointer
  std::uint64_t size = 0;   ///< bytes
  std::uint64_t align = 1;  ///< bytes
  bool isDead = false;      ///< unused: it takes no bytes
  bool isSpillSlot = false; ///< of the register allocator
  /// How the code accesses it: 0 = by constant offsets only; 1 = by addresses in registers, 8 bytes or more; 2 = the
  /// same, less than 8 bytes; 3 = its address is stored or passed on.
  unsigned category = 0;
};

/// The results for one function.
struct FunctionReport {
  std::string name;
  bool isKernel = true;
  unsigned registers = 0; ///< per thread, as the hardware counts them
  unsigned uniformRegisters = 0;
  unsigned barriers = 0;
  unsigned instructions = 0;       ///< without padding
  std::uint32_t sharedBytes = 0;   ///< static
  std::uint32_t constantBytes = 0; ///< of bank 0: reserved for the system, and parameters
  std::uint32_t frameBytes = 0;
  std::uint32_t stackBytes = 0;         ///< with the frames of the callees
  bool hasUnknownStack = false;         ///< recursion or alloca: it needs more than stackBytes
  std::vector<FrameObjectReport> frame; ///< by offset
  std::uint32_t spillStoreBytes = 0;
  std::uint32_t spillLoadBytes = 0;
  unsigned rematerialised = 0;      ///< values that are recomputed instead of staying in registers
  unsigned threadsPerBlock = 0;     ///< of kernels, like the next three; 256 without directives
  unsigned warps = 0, maxWarps = 0; ///< concurrent warps of a multiprocessor, and its limit
  std::string limitedBy;            ///< "warps", "blocks", "registers" or "shared memory"
  double milliseconds = 0;
};

struct Statistics {
  std::uint64_t globalBytes = 0;
  std::uint64_t constantBytes = 0;       ///< of bank 3: `.const` variables
  std::uint64_t addressBytes = 0;        ///< of bank 4: addresses that the loader writes
  std::vector<FunctionReport> functions; ///< in the order of the input
};

/// The time of a stage of the compilation; in order of execution.
struct StageTime {
  std::string stage;
  double milliseconds = 0;
};

struct Result {
  Status status = Status::Ok;
  std::vector<std::byte> cubin;  ///< empty after errors, for checks only, and with PhaseOptions::stopAfter
  std::string listing;           ///< if Options::wantListing
  std::string phaseText;         ///< dumps, changes and times requested by PhaseOptions
  std::string remarks;           ///< JSON, if Options::wantRemarks: one record for each decision of a phase
  std::string kernelInfo;        ///< if Options::wantKernelInfo: the metrics of phase M11
  std::string diagnostics;       ///< errors, warnings and notes, as text for a terminal
  std::vector<Message> messages; ///< the same, one by one
  unsigned errorCount = 0;
  unsigned warningCount = 0;
  Statistics statistics;
  std::vector<StageTime> times; ///< if PhaseOptions::timePhases
};

/// Assembles all inputs into one cubin. Errors in the inputs are in the result. Throws orias::Error (a
/// std::runtime_error) for invalid options, such as an unknown architecture, phase or knob.
ORIAS_API Result assemble(std::span<const Input> inputs, const Options& options = {});

/// Assembles one PTX module.
ORIAS_API Result assemble(std::string_view ptx, const Options& options = {});

} // namespace orias
