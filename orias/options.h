#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orias {

enum class ListingFormat : std::uint8_t {
  Plain,     ///< address and instruction
  Annotated, ///< control fields, live registers, PTX lines and provenance too
  Json,      ///< the same facts for programs
};

enum class KernelInfoFormat : std::uint8_t { Text, Json };

/// How much of the code's speed may be given for speed of compilation.
enum class FastCompile : std::uint8_t { No, Min, Mid, Max };

/// What to write down while the phases run. Phases are named by number (`74`), by name (`ConvertToUniformReg`) or
/// `all`.
struct PhaseOptions {
  std::vector<std::string> dumpBefore;
  std::vector<std::string> dumpAfter;
  std::string dumpDirectory;         ///< where dumps go, one file each; empty: to Result::phaseText
  std::vector<std::string> disabled; ///< phases that do not run
  /// Phases that run in each other's place: the first and the second, the third and the fourth, and so on. The code
  /// must need neither of them, nor any phase between them.
  std::vector<std::string> swapped;
  FastCompile fastCompile = FastCompile::No; ///< leaves out more of them
  std::string stopAfter;                     ///< the last phase that runs; there is no cubin then
  std::string startFrom;                     ///< the inputs are Ori text; the first phase that runs
  bool printChanged = false;                 ///< print what each phase changed
  bool verifyEach = false;                   ///< run the verifier after every phase
  bool timePhases = false;                   ///< put a table of times into Result::phaseText
  /// Why registers are where they are: `R` (the peak of a file), `R:24`, `%name` or a line of the PTX. The answers go
  /// to Result::phaseText.
  std::vector<std::string> why;
  friend bool operator==(const PhaseOptions&, const PhaseOptions&) = default;
};

/// What is known of the launches of every kernel, as if its directives said so; a directive goes before it.
struct LaunchOptions {
  std::array<unsigned, 3> maxntid{}; ///< threads of a CTA; `x` is 0 if nothing is said, `y` and `z` then too
  unsigned minnctapersm = 0;         ///< CTAs on a multiprocessor; 0: nothing is said
  bool overrideDirectives = false;   ///< these and Options::maxRegisters go before the directives
  friend bool operator==(const LaunchOptions&, const LaunchOptions&) = default;
};

/// Cache operators (`ca`, `cg`, `cs`, `lu`, `cv` of loads; `wb`, `cg`, `cs`, `wt` of stores) of weak accesses to global
/// and generic memory; empty: as the PTX has them.
struct CacheOptions {
  std::string defaultLoad;  ///< for loads that have none
  std::string forcedLoad;   ///< for all
  std::string defaultStore; ///< for stores that have none
  std::string forcedStore;  ///< for all
  friend bool operator==(const CacheOptions&, const CacheOptions&) = default;
};

/// How to assemble. The defaults are those of the command line.
struct Options {
  static constexpr unsigned kNoRegisterLimit = 0;

  std::string arch = "sm_90";                       ///< `sm_NN[a]`, or `compute_NN[a]` to parse and check only
  unsigned optLevel = 3;                            ///< 0 … 4
  unsigned maxRegisters = kNoRegisterLimit;         ///< per thread
  unsigned maxFunctionRegisters = kNoRegisterLimit; ///< with relocatable: of functions that are no kernels, instead
  bool contractFma = true;          ///< allow a multiplication and an addition to become one fused operation
  LaunchOptions launch;             ///< bounds of launches that the PTX does not give
  CacheOptions caches;              ///< cache operators of global and generic accesses
  std::vector<std::string> entries; ///< the entry functions to assemble; empty: all
  unsigned threads = 1;             ///< functions are compiled in parallel by this many threads
  bool relocatable = false;         ///< make an object to be linked (`-c`)
  bool lineInfo = false;            ///< tables from addresses to lines, also for PTX without a `.loc`
  /// Debug information, and code that keeps to the order of the program: what the PTX asks for with `.target debug`,
  /// too. It goes with -O0 only.
  bool debugInfo = false;
  bool disableWarnings = false;
  bool warningsAreErrors = false;
  bool warnSpills = false;
  bool warnLocalMemory = false;
  bool suppressStackWarning = false;
  bool warnDouble = false;
  bool suppressDebugInfo = false; ///< no line tables, whatever else asks for them
  /// Wait for outstanding memory errors before each exit of a kernel; so does debugInfo.
  bool errorsAtExit = false;
  bool annotate = false;         ///< annotations of each function in the cubin: its size and registers
  bool checkStackBounds = false; ///< trap on entry to a function whose frame does not fit on the stack
  /// Checks in front of each access to tensor memory; nothing: with debugInfo only.
  std::optional<bool> checkTensorMemory;
  bool wantListing = false;
  ListingFormat listingFormat = ListingFormat::Annotated;
  bool wantKernelInfo = false; ///< fill Result::kernelInfo
  KernelInfoFormat kernelInfoFormat = KernelInfoFormat::Text;
  std::vector<std::string>
      knobs; ///< `NAME=VALUE`, several separated by commas or line ends; the last setting of a knob holds
  std::vector<std::string> boundParams; ///< `KERNEL.INDEX=VALUE`: parameters whose values are known
  bool wantRemarks = false;             ///< fill Result::remarks
  PhaseOptions phases;
  friend bool operator==(const Options&, const Options&) = default;
};

} // namespace orias
