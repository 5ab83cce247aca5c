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
                         "set the result store, an SQLite file [results.db]");
    result.add_options()("jobs,j", po::value<unsigned>()->value_name("N"),
                         "run N processes at a time [number of cores]");
    result.add_options()("output,o", po::value<std::string>()->value_name("FILE"),
                         "write the table or the knob file to FILE [standard output]; with jobs: the output folder");
    result.add_options()(
        "format", po::value<std::string>()->value_name("text|csv|json"),
        "set the format of query [text] and export [csv]; with report, json writes the data of the page");
    result.add_options()("engine", po::value<std::string>()->value_name("ninja|slurm"),
                         "set the build system that will run the jobs written by jobs [ninja]");
    result.add_options()("objective", po::value<std::string>()->value_name("cycles|full-machine|registers"),
                         "set what tune minimizes: estimated cycles of the launch, estimated cycles per block on a "
                         "fully occupied SM, or registers [cycles]");
    result.add_options()("budget", po::value<std::string>()->value_name("TIME"),
                         "set the time limit of tune and soak, such as 90s or 2h [5m]");
    result.add_options()(
        "max-jobs", po::value<std::size_t>()->value_name("N"),
        "stop tune after N launches and soak after N runs, instead of by time; makes the result of tune reproducible");
    result.add_options()("seed", po::value<std::uint64_t>()->value_name("N"),
                         "set the random seed of tune, and the first seed of soak [1]");
    result.add_options()("gpu-name,arch", po::value<std::string>()->value_name("sm_NN"),
                         "set the target of tune and diff");
    result.add_options()("knob", po::value<Words>()->value_name("NAME"),
                         "search only this knob with tune; may be repeated [all but debugging and assumption knobs]");
    result.add_options()("option", po::value<Words>()->value_name("OPTION"),
                         "search also this option with tune, such as -O2 or --maxrregcount=64; may be repeated");
    result.add_options()(
        "left", po::value<std::string>()->value_name("OPTIONS"),
        "with diff: set the options of the left side, if it is PTX; options for ptxas begin with 'ptxas'");
    result.add_options()("right", po::value<std::string>()->value_name("OPTIONS"),
                         "with diff: set the options of the right side");
    result.add_options()("kernel", po::value<std::string>()->value_name("NAME"), "with diff: compare only this kernel");
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
    throw UsageError(fmt::format("--budget expects a time such as 90s, 5m or 2h, got '{}'", text));
  return number * factor;
}

/// The words of an option whose value is a command line: "-O3 --knob X=1".
Words wordsOf(const po::variables_map& values, const char* option) {
  return values.count(option) != 0 ? po::split_unix(values[option].as<std::string>()) : Words{};
}

template <typename T>
T oneOf(const std::string& option, const std::string& value, std::initializer_list<std::pair<const char*, T>> choices) {
  for (const auto& [name, choice] : choices)
    if (value == name) return choice;
  throw UsageError(fmt::format("{} does not take '{}'; see --help", option, value));
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
                                 {"report", Command::Report},
                                 {"diff", Command::Diff},
                                 {"jobs", Command::Jobs},
                                 {"merge", Command::Merge},
                                 {"soak", Command::Soak},
                                 {"do-job", Command::DoJob},
                                 {"run-job", Command::RunJob}});
  const bool takesNone = line.command == Command::RunJob || line.command == Command::Export;
  const std::size_t least = takesNone ? 1 : 2, most = line.command == Command::Diff ? 3 : least;
  if (inputs.size() < least || inputs.size() > most)
    throw UsageError(fmt::format("'{}' takes {}; see --help", inputs[0],
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
    throw UsageError(fmt::format("'{}' requires --output", inputs[0]));
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
  if (has("option")) line.options = values["option"].as<Words>();
  return line;
}

std::string helpText() {
  std::ostringstream out;
  out << "Usage: orias-lab sweep PLAN.json [--store=FILE] [-j N]\n"
         "   or: orias-lab tune LAUNCH.json [--objective=cycles|full-machine|registers] [--budget=5m] [-o KNOBS]\n"
         "   or: orias-lab query \"SELECT ...\" [--store=FILE]\n"
         "   or: orias-lab export [--store=FILE] [--format=csv|json] [-o FILE]\n"
         "   or: orias-lab report STORE -o PAGE.html\n"
         "   or: orias-lab diff FILE.ptx --left=OPTIONS --right=OPTIONS | diff A.cubin B.cubin\n"
         "   or: orias-lab jobs PLAN.json --engine=ninja|slurm -o FOLDER\n"
         "   or: orias-lab merge FOLDER [--store=FILE]\n"
         "   or: orias-lab soak COMMAND [--store=FILE] [--budget=8h] [-j N]\n\n"
         "Runs experiments with orias.\n"
         "  sweep   compiles and runs the kernels of a plan on all its targets, options and knobs, one process per\n"
         "          job; jobs whose results are in the store are skipped\n"
         "  tune    searches knobs and options for one kernel and writes a file for orias --knobs-file\n"
         "  query   prints the result of an SQL query; export writes the whole table\n"
         "  report  writes a page with tables and plots (docs/report.md)\n"
         "  diff    compares the code of a kernel under two sets of options, or of two cubins\n"
         "  jobs    writes the jobs of a sweep as files for Ninja or Slurm; merge adds their results to a store\n"
         "  soak    runs a shell command with increasing seeds in place of {seed}, and keeps failing runs\n"
         "tools/lab/README.md describes plans and the tables of a store.\n\n"
      << shownOptions()
      << "\nExit status: 0 success, 1 errors in an input or failed jobs, 2 errors in the command line,\n"
         "3 internal error.\n";
  return out.str();
}

} // namespace orias::lab
