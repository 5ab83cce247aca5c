#include "tools/lab/command_line.h"

#include "orias/options.h"
#include "tools/common/options.h"
#include "tools/common/program.h"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <charconv>
#include <sstream>

namespace orias::lab {

namespace po = boost::program_options;
using tools::UsageError;
using Words = std::vector<std::string>;

namespace {

const po::options_description& shownOptions() {
  static const po::options_description all = [] {
    po::options_description result("Options", 100, 60);
    result.add_options()("store", po::value<std::string>()->value_name("FILE"),
                         "the results, an SQLite file; results.db is the default");
    result.add_options()("jobs,j", po::value<unsigned>()->value_name("N"),
                         "processes at a time; the number of cores is the default");
    result.add_options()("output,o", po::value<std::string>()->value_name("FILE"),
                         "write the table or the knob file here instead of to standard output; the folder of 'jobs'");
    result.add_options()("format", po::value<std::string>()->value_name("text|csv|json"),
                         "of query and export; text is the default of query, csv that of export");
    result.add_options()("engine", po::value<std::string>()->value_name("ninja|slurm"),
                         "what will run the jobs that 'jobs' writes; ninja is the default");
    result.add_options()("objective", po::value<std::string>()->value_name("cycles|full-machine|registers"),
                         "what tune makes small: estimated cycles of the launch (the default), estimated cycles of a "
                         "block on a full multiprocessor, or registers");
    result.add_options()("budget", po::value<std::string>()->value_name("TIME"),
                         "how long tune searches: 90s, 5m (the default), 2h");
    result.add_options()("max-jobs", po::value<std::size_t>()->value_name("N"),
                         "tune stops after so many jobs instead; the result is the same each time");
    result.add_options()("seed", po::value<std::uint64_t>()->value_name("N"),
                         "of tune's random choices; 1 is the default");
    result.add_options()("gpu-name,arch", po::value<std::string>()->value_name("sm_NN"), "the chip of tune and diff");
    result.add_options()("knob", po::value<Words>()->value_name("NAME"),
                         "a knob that tune searches; may be repeated. Without it: all but those for debugging");
    result.add_options()("left", po::value<std::string>()->value_name("OPTIONS"),
                         "of diff: the options of the first side, if it is PTX. Options of ptxas begin with 'ptxas'");
    result.add_options()("right", po::value<std::string>()->value_name("OPTIONS"), "the options of the second side");
    result.add_options()("kernel", po::value<std::string>()->value_name("NAME"), "of diff: only this kernel");
    result.add_options()("help,h", "print this text");
    return result;
  }();
  return all;
}

double secondsOf(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error != std::errc() || factor == 0 || number <= 0)
    throw UsageError(fmt::format("--budget takes a time like 90s, 5m or 2h, not '{}'", text));
  return number * factor;
}

/// The words of an option that is a command line: "-O3 --knob X=1".
Words wordsOf(const po::variables_map& values, const char* option) {
  return values.count(option) != 0 ? po::split_unix(values[option].as<std::string>()) : Words{};
}

template <typename T>
T oneOf(const std::string& option, const std::string& value, std::initializer_list<std::pair<const char*, T>> choices) {
  for (const auto& [name, choice] : choices)
    if (value == name) return choice;
  throw UsageError(fmt::format("{} does not take '{}'; --help tells more", option, value));
}

} // namespace

CommandLine parseCommandLine(std::span<const std::string> words) {
  using Command = CommandLine::Command;
  CommandLine line;
  const po::variables_map values = tools::readOptions(shownOptions(), words);
  const auto has = [&](const char* name) { return values.count(name) != 0; };
  if (has("help") || !has(tools::kInputs)) return line;
  const Words& inputs = values[tools::kInputs].as<Words>();
  line.command = oneOf<Command>("orias-lab", inputs[0],
                                {{"sweep", Command::Sweep},
                                 {"tune", Command::Tune},
                                 {"query", Command::Query},
                                 {"export", Command::Export},
                                 {"diff", Command::Diff},
                                 {"jobs", Command::Jobs},
                                 {"merge", Command::Merge},
                                 {"do-job", Command::DoJob},
                                 {"run-job", Command::RunJob}});
  const bool takesNone = line.command == Command::RunJob || line.command == Command::Export;
  const std::size_t least = takesNone ? 1 : 2, most = line.command == Command::Diff ? 3 : least;
  if (inputs.size() < least || inputs.size() > most)
    throw UsageError(fmt::format("'{}' takes {}; --help tells more", inputs[0],
                                 takesNone   ? "no input"
                                 : most == 3 ? "one PTX file, or two files"
                                             : "one input"));
  if (inputs.size() > 1) line.input = inputs[1];
  line.storePath = has("store") ? values["store"].as<std::string>() : "results.db";
  if (line.command == Command::Tune && !has("store")) line.storePath = ":memory:";
  if (has("jobs")) line.atOnce = values["jobs"].as<unsigned>();
  if (has("output")) line.output = values["output"].as<std::string>();
  line.format = line.command == Command::Export ? TableFormat::Csv : TableFormat::Text;
  if (has("format"))
    line.format =
        oneOf<TableFormat>("--format", values["format"].as<std::string>(),
                           {{"text", TableFormat::Text}, {"csv", TableFormat::Csv}, {"json", TableFormat::Json}});
  if (has("engine"))
    line.engine = oneOf<Engine>("--engine", values["engine"].as<std::string>(),
                                {{"ninja", Engine::Ninja}, {"slurm", Engine::Slurm}});
  if (line.output == "-" && (line.command == Command::Jobs || line.command == Command::DoJob))
    throw UsageError(fmt::format("'{}' wants --output", inputs[0]));
  if (has("objective"))
    line.objective = oneOf<Objective>("--objective", values["objective"].as<std::string>(),
                                      {{"cycles", Objective::Cycles},
                                       {"full-machine", Objective::FullMachineCycles},
                                       {"registers", Objective::Registers}});
  if (has("budget")) line.seconds = secondsOf(values["budget"].as<std::string>());
  if (has("max-jobs")) line.mostJobs = values["max-jobs"].as<std::size_t>();
  if (has("seed")) line.seed = values["seed"].as<std::uint64_t>();
  line.chip = has("gpu-name") ? values["gpu-name"].as<std::string>() : Options{}.arch;
  line.diff = {{inputs.size() > 1 ? inputs[1] : "", wordsOf(values, "left")},
               {inputs.size() > 2 ? inputs[2] : line.input, wordsOf(values, "right")},
               line.chip,
               has("kernel") ? values["kernel"].as<std::string>() : ""};
  if (has("knob")) line.knobs = values["knob"].as<Words>();
  return line;
}

std::string helpText() {
  std::ostringstream out;
  out << "Usage: orias-lab sweep PLAN.json [--store=FILE] [-j N]\n"
         "       orias-lab tune LAUNCH.json [--objective=cycles|full-machine|registers] [--budget=5m] [-o KNOBS]\n"
         "       orias-lab query \"SELECT ...\" [--store=FILE]\n"
         "       orias-lab export [--store=FILE] [--format=csv|json] [-o FILE]\n"
         "       orias-lab diff FILE.ptx --left=OPTIONS --right=OPTIONS | diff A.cubin B.cubin\n"
         "       orias-lab jobs PLAN.json --engine=ninja|slurm -o FOLDER\n"
         "       orias-lab merge FOLDER [--store=FILE]\n\n"
         "Experiments with orias. sweep compiles and runs the kernels of a plan with all its chips, options and "
         "knobs,\n"
         "each job in a process of its own, and keeps the results; what is there is not done again. tune searches\n"
         "knobs for one kernel, and writes a file for orias --knobs-file. jobs writes a sweep as files for Ninja or\n"
         "Slurm, merge puts their results into a store. tools/lab/README.md describes plans and the tables of a "
         "store.\n\n"
      << shownOptions()
      << "\nExit status: 0 done, 1 errors in an input, or jobs of a sweep that failed, 2 errors in the command line,\n"
         "3 a fault of orias-lab.\n";
  return out.str();
}

} // namespace orias::lab
