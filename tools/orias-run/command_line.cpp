#include "tools/orias-run/command_line.h"

#include "tools/common/options.h"
#include "tools/common/program.h"

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <sstream>

namespace orias::run {

namespace po = boost::program_options;
using tools::UsageError;

namespace {

using Words = std::vector<std::string>;

const po::options_description& shownOptions() {
  static const po::options_description all = [] {
    po::options_description result("Options", 100, 60);
    result.add_options()("assemble", "compile the PTX with orias and run the cubin");
    result.add_options()("opt-level,O", po::value<unsigned>()->value_name("N"),
                         "with --assemble: set the optimization level, 0 to 4 [3]");
    result.add_options()("maxrregcount", po::value<unsigned>()->value_name("N"),
                         "with --assemble: set the maximum number of registers per thread");
    result.add_options()("knob", po::value<Words>()->value_name("NAME=VALUE"),
                         "with --assemble: set a knob; may be repeated");
    result.add_options()("disable-phase", po::value<Words>()->value_name("PHASE"),
                         "with --assemble: disable a phase; may be repeated");
    result.add_options()("compare", po::value<std::string>()->value_name("FILE"),
                         "also run this program, and compare the resulting memory");
    result.add_options()("memcheck", "report accesses that are out of bounds, misaligned or to uninitialized memory");
    result.add_options()("racecheck", "report data races in shared memory (.ptx: also in global memory)");
    result.add_options()("children-last",
                         "run grids launched by a kernel after its threads have exited, not at the launch");
    result.add_options()("timing", "make results visible only after their latency or a scoreboard wait, so that wrong "
                                   "control information gives wrong results and a report (.cubin)");
    result.add_options()("stats", "count instructions by pipe, stall cycles, divergence, bank conflicts and sectors, "
                                  "and estimate the cycles (tools/emulator/README.md)");
    result.add_options()("full-machine",
                         "with --stats: also estimate the cycles per block on a fully occupied SM (.cubin)");
    result.add_options()("trace", po::value<std::string>()->value_name("FILE")->implicit_value("-"),
                         "write a trace of all executed instructions [standard output]");
    result.add_options()("budget", po::value<std::uint64_t>()->value_name("N"),
                         "stop after N thread instructions [2000000000]");
    result.add_options()("progress", "print progress to standard error even if it is not a terminal");
    result.add_options()("json", "print the report as JSON");
    result.add_options()("help,h", "print this text");
    return result;
  }();
  return all;
}

} // namespace

CommandLine parseCommandLine(std::span<const std::string> words) {
  const po::variables_map values = tools::readOptions(shownOptions(), words);
  CommandLine line;
  if (values.count("help")) {
    line.help = true;
    return line;
  }
  const auto has = [&](const char* name) { return values.count(name) != 0; };
  line.assemble = has("assemble");
  for (const char* name : {"opt-level", "maxrregcount", "knob", "disable-phase"})
    if (has(name) && !line.assemble) throw UsageError(fmt::format("--{} needs --assemble", name));
  if (has("opt-level")) {
    line.assembleOptions.optLevel = values["opt-level"].as<unsigned>();
    if (line.assembleOptions.optLevel > 4) throw UsageError("--opt-level must be 0 to 4");
  }
  if (has("maxrregcount")) line.assembleOptions.maxRegisters = values["maxrregcount"].as<unsigned>();
  if (has("knob")) line.assembleOptions.knobs = values["knob"].as<Words>();
  if (has("disable-phase")) line.assembleOptions.phases.disabled = values["disable-phase"].as<Words>();
  if (has("compare")) line.compareWith = values["compare"].as<std::string>();
  line.run.memcheck = has("memcheck");
  line.run.racecheck = has("racecheck");
  line.run.childrenLast = has("children-last");
  line.run.timing = has("timing");
  line.run.stats = has("stats");
  line.run.fullMachine = has("full-machine");
  if (line.run.fullMachine && !line.run.stats) throw UsageError("--full-machine needs --stats");
  line.json = has("json");
  line.progress = has("progress");
  if (has("trace")) {
    line.run.trace = true;
    line.traceFile = values["trace"].as<std::string>();
  }
  if (has("budget")) line.run.instructionBudget = values["budget"].as<std::uint64_t>();
  if (!has(tools::kInputs)) throw UsageError("no launch file is given; see --help");
  const auto& inputs = values[tools::kInputs].as<Words>();
  if (inputs.size() > 2) throw UsageError("expected a launch file and at most one program");
  line.launchFile = inputs[0];
  if (inputs.size() == 2) line.program = inputs[1];
  return line;
}

std::string helpText() {
  std::ostringstream out;
  out << "Usage: orias-run [options] LAUNCH.json [FILE]\n\n"
         "Runs a kernel on the CPU and compares the resulting memory with the expected values of the launch file.\n"
         "FILE replaces the program that the launch file names. .ptx runs on the PTX interpreter, .cubin and .ori\n"
         "(after any phase) on the SASS emulator.\n\n"
      << shownOptions()
      << "\nExit status: 0 results as expected, 1 wrong results, findings, or inputs that cannot be read, 2 errors in "
         "the\n"
         "command line, 3 internal error.\n";
  return out.str();
}

} // namespace orias::run
