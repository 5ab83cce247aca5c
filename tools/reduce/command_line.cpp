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
  throw UsageError(fmt::format("'{}' is no engine; 'ours', 'ptxas' and 'interpreter' are", name));
}

po::options_description shownOptions() {
  po::options_description shown("Options", 100, 60);
  auto add = shown.add_options();
  add("output,o", po::value<std::string>()->value_name("FILE"),
      "the reduced PTX (FILE.reduced.ptx); its launch file goes beside it");
  add("subject", po::value<std::string>()->value_name("ENGINE")->default_value("ours"),
      "whose failure it is: 'ours', 'ptxas' (its cubin on the emulator) or 'interpreter'");
  add("against", po::value<std::string>()->value_name("ENGINE")->default_value("interpreter"), "who is right");
  add("command", po::value<std::string>()->value_name("COMMAND"),
      "instead: a shell command whose status 0 says that it still fails; {} is the PTX file, {launch} the launch file");
  add("opt-level,O", po::value<unsigned>()->value_name("N"), "how 'ours' assembles: 0 to 4, 3 is the default");
  add("maxrregcount", po::value<unsigned>()->value_name("N"), "the most registers");
  add("knob", po::value<Words>()->value_name("NAME=VALUE"), "may be repeated");
  add("disable-phase", po::value<Words>()->value_name("PHASE"), "may be repeated");
  add("verify-each", "the verifiers after every phase");
  add("fmad", po::value<bool>()->value_name("BOOL"), "whether products and sums may be fused");
  add("attempts", po::value<std::uint64_t>()->value_name("N"), "stop after so many candidates");
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
            "Makes a PTX program that fails as small as it can, while it goes on to fail.\n\n"
         << shown;
    line.help = true;
    line.helpText = text.str();
    return line;
  }
  const Words inputs = values.count(tools::kInputs) ? values[tools::kInputs].as<Words>() : Words{};
  if (inputs.size() != 2) throw UsageError("a PTX file and a launch file are wanted");
  line.input = inputs[0];
  line.launch = inputs[1];
  line.output = values.count("output") ? values["output"].as<std::string>()
                                       : std::filesystem::path(line.input).replace_extension(".reduced.ptx").string();
  if (values.count("command")) line.command = values["command"].as<std::string>();
  line.trial.subject = engineNamed(values["subject"].as<std::string>());
  line.trial.reference = engineNamed(values["against"].as<std::string>());
  if (line.trial.subject == line.trial.reference) throw UsageError("an engine cannot be held against itself");
  Options& options = line.trial.options;
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
