#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orias::lab {

/// What one job may take. A job that takes more is stopped, and kept with the reason.
struct Limits {
  unsigned seconds = 120;                   ///< of the clock, for the whole job
  unsigned megabytes = 4096;                ///< of address space
  std::uint64_t instructions = 200'000'000; ///< of all threads, for each run of the launch
  friend bool operator==(const Limits&, const Limits&) = default;
};

/// Who assembles.
enum class Assembler : std::uint8_t { Orias, Ptxas };
std::string_view assemblerName(Assembler assembler);

/// One compilation of one PTX file, and one run of it if there is a launch file.
struct Job {
  Assembler assembler = Assembler::Orias;
  std::string ptxFile;
  std::string launchFile; ///< empty: compile only
  std::string chip;
  std::vector<std::string> options;  ///< words of the command line that both assemblers take: "-O2"
  std::vector<std::string> knobs;    ///< "NAME=VALUE", by name
  std::vector<std::string> disabled; ///< phases that do not run
  std::vector<std::string> swapped;  ///< two phases that run in each other's place; or empty
  Limits limits;
  friend bool operator==(const Job&, const Job&) = default;
};

/// The job as JSON, for the process that does it; parseJob() reads it again.
std::string writeJob(const Job& job);
Job parseJob(std::string_view json);

/// The name of a job's result: equal for equal bytes of the inputs, options, limits and programs (`version`), whatever
/// the files are called. Throws orias::Error for files that cannot be read.
std::string jobId(const Job& job, std::string_view version);

/// SHA-1, as the text of a UUID.
std::string hashOf(std::string_view bytes);

/// The command line that repeats the compilation: "orias -arch=sm_90 -O3 --knob … kernel.ptx".
std::string commandOf(const Job& job);

/// A hash of the programs that do the jobs: this one, and ptxas where it is installed.
std::string versionOfPrograms();

} // namespace orias::lab
