#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orias {

enum class ListingFormat : std::uint8_t {
  Plain,     ///< address and instruction
  Annotated, ///< also control information, live registers, PTX lines and provenance
  Json,      ///< the same data for programs
};

enum class KernelInfoFormat : std::uint8_t { Text, Json };

/// How much code quality may be traded for compile time.
enum class FastCompile : std::uint8_t { No, Min, Mid, Max };

/// Control and output of the pipeline. Phases are given by number (`74`), by name (`ConvertToUniformReg`) or as
/// `all`.
struct PhaseOptions {
  std::vector<std::string> dumpBefore;
  std::vector<std::string> dumpAfter;
  std::string dumpDirectory;         ///< directory of the dumps, a file for each; empty: Result::phaseText
  std::vector<std::string> disabled; ///< phases that do not run
  /// Pairs of phases that exchange their positions: the first and the second, the third and the fourth, and so on. All
  /// of them, and the phases between them, must be optional.
  std::vector<std::string> swapped;
  FastCompile fastCompile = FastCompile::No; ///< disables more phases
  std::string stopAfter;                     ///< the last phase that runs; no cubin is made
  std::string startFrom;                     ///< the inputs are Ori text; the first phase that runs
  bool printChanged = false;                 ///< print what each phase changed
  bool verifyEach = false;                   ///< run the verifier after every phase
  bool timePhases = false;                   ///< put a table of times into Result::phaseText
  /// Registers to explain: `R` (the peak of a file), `R:24`, `%name` or a line of the PTX. The answers go to
  /// Result::phaseText.
  std::vector<std::string> why;
  friend bool operator==(const PhaseOptions&, const PhaseOptions&) = default;
};

/// Launch bounds for all kernels, as if directives specified them. Directives override them.
struct LaunchOptions {
  std::array<unsigned, 3> maxntid{}; ///< threads of a CTA; all 0 if unspecified
  unsigned minnctapersm = 0;         ///< CTAs per multiprocessor; 0: unspecified
  bool overrideDirectives = false;   ///< these and Options::maxRegisters override directives
  friend bool operator==(const LaunchOptions&, const LaunchOptions&) = default;
};

/// Cache operators (loads: `ca`, `cg`, `cs`, `lu`, `cv`; stores: `wb`, `cg`, `cs`, `wt`) of weak accesses to global and
/// generic memory; empty: those of the PTX.
struct CacheOptions {
  std::string defaultLoad;  ///< for loads without an operator
  std::string forcedLoad;   ///< for all
  std::string defaultStore; ///< for stores without an operator
  std::string forcedStore;  ///< for all
  friend bool operator==(const CacheOptions&, const CacheOptions&) = default;
};

/// How to assemble. The defaults are those of the command line.
struct Options {
  static constexpr unsigned kNoRegisterLimit = 0;

  std::string arch = "sm_90";                       ///< `sm_NN[a]`, or `compute_NN[a]` to parse and check only
  unsigned optLevel = 3;                            ///< 0 … 4
  unsigned maxRegisters = kNoRegisterLimit;         ///< per thread
  unsigned maxFunctionRegisters = kNoRegisterLimit; ///< with relocatable: of device functions, instead
  bool contractFma = true;          ///< allow a multiplication and an addition to become one fused operation
  LaunchOptions launch;             ///< launch bounds that the PTX does not specify
  CacheOptions caches;              ///< cache operators of global and generic accesses
  std::vector<std::string> entries; ///< the entry functions to assemble; empty: all
  unsigned threads = 1;             ///< functions are compiled in parallel by this many threads
  bool relocatable = false;         ///< generate an object for a linker (`-c`)
  bool lineInfo = false;            ///< tables from addresses to lines, also for PTX without a `.loc`
  /// Debug information, and code in program order, as with `.target debug` in the PTX. Requires optLevel 0.
  bool debugInfo = false;
  bool disableWarnings = false;
  bool warningsAreErrors = false;
  bool warnSpills = false;
  bool warnLocalMemory = false;
  bool suppressStackWarning = false;
  bool warnDouble = false;
  bool suppressDebugInfo = false; ///< no line tables, even if other options request them
  /// Wait for outstanding memory errors before each exit of a kernel; so does debugInfo.
  bool errorsAtExit = false;
  bool annotate = false;         ///< annotate each function in the cubin with its size and registers
  bool checkStackBounds = false; ///< trap on entry to a function if its frame does not fit into the stack
  /// Checks before each access to tensor memory; unset: only with debugInfo.
  std::optional<bool> checkTensorMemory;
  bool wantListing = false;
  ListingFormat listingFormat = ListingFormat::Annotated;
  bool wantKernelInfo = false; ///< fill Result::kernelInfo
  KernelInfoFormat kernelInfoFormat = KernelInfoFormat::Text;
  std::vector<std::string>
      knobs; ///< `NAME=VALUE`, separated by commas or line ends; the last setting of a knob applies
  std::vector<std::string> boundParams; ///< `KERNEL.INDEX=VALUE`: parameters whose values are known
  bool wantRemarks = false;             ///< fill Result::remarks
  PhaseOptions phases;
  friend bool operator==(const Options&, const Options&) = default;
};

} // namespace orias
