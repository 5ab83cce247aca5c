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
    result.add_options()("assemble", "assemble the PTX with orias first, and run the cubin");
    result.add_options()("opt-level,O", po::value<unsigned>()->value_name("N"),
                         "with --assemble: 0 to 4, 3 is the default");
    result.add_options()("maxrregcount", po::value<unsigned>()->value_name("N"), "with --assemble: the most registers");
    result.add_options()("knob", po::value<Words>()->value_name("NAME=VALUE"), "with --assemble; may be repeated");
    result.add_options()("disable-phase", po::value<Words>()->value_name("PHASE"), "with --assemble; may be repeated");
    result.add_options()("compare", po::value<std::string>()->value_name("FILE"),
                         "run this program too, and compare what the two leave in memory");
    result.add_options()("memcheck", "report accesses that are out of bounds, misaligned or of uninitialised memory");
    result.add_options()(
        "racecheck",
        "report accesses to shared memory (.ptx: to global memory, too) that conflict and that nothing orders");
    result.add_options()("children-last",
                         "grids that a kernel launches run when its threads have ended, not at the launch");
    result.add_options()("timing", "results become visible only after their latency, or after a wait for their "
                                   "scoreboard; a wrong control word gives wrong results and a report (.cubin)");
    result.add_options()(
        "stats",
        "count instructions by pipe, stall cycles, divergence, bank conflicts and sectors, and estimate the cycles (an "
        "estimate of ours: tools/emulator/README.md)");
    result.add_options()("full-machine",
                         "with --stats: also estimate the cycles of a block on a multiprocessor that is full of blocks "
                         "of the kernel (.cubin)");
    result.add_options()("trace", po::value<std::string>()->value_name("FILE")->implicit_value("-"),
                         "write each instruction down; to standard output without a file");
    result.add_options()("budget", po::value<std::uint64_t>()->value_name("N"),
                         "stop after so many thread instructions; 2000000000 is the default");
    result.add_options()("progress", "say on standard error how far a long run is, even if that is no terminal");
    result.add_options()("json", "the report as JSON");
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
    if (line.assembleOptions.optLevel > 4) throw UsageError("--opt-level goes from 0 to 4");
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
  if (!has(tools::kInputs)) throw UsageError("no launch file is named; --help tells more");
  const auto& inputs = values[tools::kInputs].as<Words>();
  if (inputs.size() > 2) throw UsageError("a launch file and at most one program are wanted");
  line.launchFile = inputs[0];
  if (inputs.size() == 2) line.program = inputs[1];
  return line;
}

std::string helpText() {
  std::ostringstream out;
  out << "Usage: orias-run [options] LAUNCH.json [FILE]\n\n"
         "Runs a kernel on this computer's processor and compares what it leaves in memory with what the launch file\n"
         "expects. FILE, or else the program that the launch file names, decides what runs: .ptx the PTX interpreter,\n"
         ".cubin and .ori (at any phase) the emulator.\n\n"
      << shownOptions()
      << "\nExit status: 0 results as expected, 1 wrong results, findings, or inputs that cannot be read, 2 errors in "
         "the\n"
         "command line, 3 a fault of orias-run.\n";
  return out.str();
}

} // namespace orias::run
