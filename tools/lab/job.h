#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orias::lab {

/// The limits of one job. A job that exceeds them is stopped, and recorded with the reason.
struct Limits {
  unsigned seconds = 120;                   ///< wall-clock time of the whole job
  unsigned megabytes = 4096;                ///< of address space
  std::uint64_t instructions = 200'000'000; ///< of all threads, for each run of the launch
  friend bool operator==(const Limits&, const Limits&) = default;
};

/// The assembler to use.
enum class Assembler : std::uint8_t { Orias, Ptxas };
std::string_view assemblerName(Assembler assembler);

/// One compilation of one PTX file, and one run of it if there is a launch file.
struct Job {
  Assembler assembler = Assembler::Orias;
  std::string ptxFile;
  std::string launchFile; ///< empty: compile only
  std::string chip;
  std::vector<std::string> options;  ///< command-line words that both assemblers accept: "-O2"
  std::vector<std::string> knobs;    ///< "NAME=VALUE", by name
  std::vector<std::string> disabled; ///< disabled phases
  std::vector<std::string> swapped;  ///< two phases that exchange their positions; or empty
  Limits limits;
  friend bool operator==(const Job&, const Job&) = default;
};

/// The job as JSON, for the process that executes it; parseJob() reads it again.
std::string writeJob(const Job& job);
Job parseJob(std::string_view json);

/// The key of a job's result: equal for equal bytes of the inputs, options, limits and programs (`version`), regardless
/// of file names. Throws orias::Error for files that cannot be read.
std::string jobId(const Job& job, std::string_view version);

/// SHA-1, in the format of a UUID.
std::string hashOf(std::string_view bytes);

/// The command line that repeats the compilation: "orias -arch=sm_90 -O3 --knob … kernel.ptx".
std::string commandOf(const Job& job);

/// Identifies the programs that execute the jobs of an assembler: this one (by the build ID of its file, or a hash of
/// the file if it has none), and for Assembler::Ptxas also the installed ptxas.
std::string versionOf(Assembler assembler);

/// versionOf() of the assemblers that a list of jobs uses, computed once.
struct Versions {
  explicit Versions(std::span<const Job> jobs);
  const std::string& of(const Job& job) const { return job.assembler == Assembler::Ptxas ? ptxas : orias; }

  std::string orias;
  std::string ptxas; ///< empty if no job needs it
};

} // namespace orias::lab
