#include "tools/reduce/command_line.h"

#include "tools/common/options.h"
#include "tools/common/program.h"

#include <boost/program_options.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

namespace orias::reduce {

namespace po = boost::program_options;
using tools::UsageError;

namespace {

using Words = std::vector<std::string>;

Engine engineNamed(const std::string& name) {
  if (name == "ours") return Engine::Ours;
  if (name == "ptxas") return Engine::Ptxas;
  if (name == "interpreter") return Engine::Interpreter;
  throw UsageError(fmt::format("unknown engine '{}'; expected ours, ptxas or interpreter", name));
}

po::options_description shownOptions() {
  po::options_description shown("Options", 100, 60);
  auto add = shown.add_options();
  add("output,o", po::value<std::string>()->value_name("FILE"),
      "write the reduced PTX to FILE, and its launch file next to it [INPUT.reduced.ptx]");
  add("subject", po::value<std::string>()->value_name("ENGINE")->default_value("ours"),
      "set the engine that fails: ours, ptxas (its cubin on the emulator) or interpreter");
  add("against", po::value<std::string>()->value_name("ENGINE")->default_value("interpreter"),
      "set the reference engine");
  add("command", po::value<std::string>()->value_name("COMMAND"),
      "instead of engines: run this shell command; exit status 0 means that the program still fails; {} is the PTX "
      "file, {launch} the launch file");
  add("arch", po::value<std::string>()->value_name("ARCH"),
      "set the chip of 'ours' and 'ptxas' [sm_90, or the .target of a file that sm_90 does not run]");
  add("opt-level,O", po::value<unsigned>()->value_name("N"), "set the optimization level of 'ours', 0 to 4 [3]");
  add("maxrregcount", po::value<unsigned>()->value_name("N"), "set the maximum number of registers per thread");
  add("knob", po::value<Words>()->value_name("NAME=VALUE"), "set a knob; may be repeated");
  add("disable-phase", po::value<Words>()->value_name("PHASE"), "disable a phase; may be repeated");
  add("verify-each", "run the verifier after each phase");
  add("fmad", po::value<bool>()->value_name("BOOL"), "contract multiplications and additions into fused multiply-adds");
  add("attempts", po::value<std::uint64_t>()->value_name("N"), "stop after N candidates");
  add("help,h", "print this text");
  return shown;
}

} // namespace

CommandLine parseCommandLine(std::span<const std::string> words) {
  const po::options_description shown = shownOptions();
  const po::variables_map values = tools::readOptions(shown, words);
  CommandLine line;
  if (values.count("help")) {
    std::ostringstream text;
    text << "Usage: orias-reduce [options] FILE.ptx LAUNCH.json\n\n"
            "Shrinks a failing PTX program while it still fails.\n\n"
         << shown;
    line.help = true;
    line.helpText = text.str();
    return line;
  }
  const Words inputs = values.count(tools::kInputs) ? values[tools::kInputs].as<Words>() : Words{};
  if (inputs.size() != 2) throw UsageError("expected a PTX file and a launch file");
  line.input = inputs[0];
  line.launch = inputs[1];
  line.output = values.count("output") ? values["output"].as<std::string>()
                                       : std::filesystem::path(line.input).replace_extension(".reduced.ptx").string();
  if (values.count("command")) line.command = values["command"].as<std::string>();
  line.trial.subject = engineNamed(values["subject"].as<std::string>());
  line.trial.reference = engineNamed(values["against"].as<std::string>());
  if (line.trial.subject == line.trial.reference) throw UsageError("--subject and --against are the same engine");
  Options& options = line.trial.options;
  if (values.count("arch")) line.arch = values["arch"].as<std::string>();
  if (values.count("opt-level")) options.optLevel = values["opt-level"].as<unsigned>();
  if (values.count("maxrregcount")) options.maxRegisters = values["maxrregcount"].as<unsigned>();
  if (values.count("knob")) options.knobs = values["knob"].as<Words>();
  if (values.count("disable-phase")) options.phases.disabled = values["disable-phase"].as<Words>();
  options.phases.verifyEach = values.count("verify-each") != 0;
  if (values.count("fmad")) options.contractFma = values["fmad"].as<bool>();
  if (values.count("attempts")) line.attempts = values["attempts"].as<std::uint64_t>();
  return line;
}

} // namespace orias::reduce
