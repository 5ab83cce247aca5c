#include "tools/gpu/suite/options.h"

#include "support/check.h"
#include "tools/common/files.h"
#include "tools/common/options.h"
#include "tools/launch/write.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace orias::gpu {

namespace po = boost::program_options;
using tools::ExitStatus;
using tools::UsageError;

namespace {

using Words = std::vector<std::string>;

po::options_description shownOptions() {
  po::options_description result("Options", 100, 60);
  auto add = result.add_options();
  add("minutes", po::value<double>()->value_name("N"), "stop after N minutes");
  add("list", "list the groups and the number of their items");
  add("only", po::value<Words>()->value_name("GROUP"),
      "run only these: a group, or the beginning of GROUP/NAME/CUBIN; may be repeated");
  add("extract", po::value<std::string>()->value_name("DIR"),
      "do not run the items: write their cubins, and launch files for orias-run, to DIR");
  add("out", po::value<std::string>()->value_name("DIR"), "folder for the results [CASES/../results]");
  add("fresh", "discard the results in that folder; by default, only items without a result are run");
  add("full-machine", "also time each launch with copies of its grid that fill the device several times");
  add("limit", po::value<double>()->value_name("N"), "seconds for one item [10]");
  add("start-limit", po::value<double>()->value_name("N"), "seconds for opening the driver [60]");
  add("library", po::value<std::string>()->value_name("FILE"), "the CUDA driver [$ORIAS_CUDA_DRIVER or libcuda.so.1]");
  add("help,h", "print this text");
  return result;
}

double positive(const po::variables_map& values, const char* name, double otherwise) {
  if (values.count(name) == 0) return otherwise;
  const double value = values[name].as<double>();
  if (!(value > 0)) throw UsageError(fmt::format("--{} must be above 0", name));
  return value;
}

/// "launches" is the whole group "launches", not also "launches-O0".
bool isChosen(const Item& item, const Words& only) {
  const std::string id = item.id();
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& word) {
           return word.find('/') == std::string::npos ? item.group == word : id.starts_with(word);
         });
}

void list(const Plan& plan) {
  std::vector<std::string> groups;
  std::map<std::string, std::map<std::string, unsigned>> counts;
  for (const Item& item : plan.items) {
    if (counts.find(item.group) == counts.end()) groups.push_back(item.group);
    ++counts[item.group][item.candidateName];
  }
  for (const std::string& group : groups) {
    std::string text = fmt::format("{:<14}", group);
    for (const auto& [candidate, count] : counts[group])
      text += fmt::format(" {} {};", count, candidate);
    text.back() = '\n';
    tools::print(stdout, text);
  }
}

/// A file name that identifies the item.
std::string fileName(std::string id) {
  for (char& c : id)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
  return id;
}

void extract(const Plan& plan, const std::string& folder) {
  std::filesystem::create_directories(folder);
  const auto path = [&](const std::string& id, const char* suffix) {
    return (std::filesystem::path(folder) / (fileName(id) + suffix)).string();
  };
  std::vector<Case> cases;
  std::size_t batch = plan.batches.size();
  for (const Item& item : plan.items) {
    if (batch != item.batch) cases = readCases(plan.batches[item.batch]);
    batch = item.batch;
    Case& c = cases.at(item.number);
    const std::string cubin = path(item.id(), ".cubin");
    tools::writeWholeFile(cubin, c.candidates.at(item.candidate).cubin);
    // The expected memory becomes an expectation of the file; measured cycles do not.
    for (std::size_t i = 0; i < c.memory.size(); ++i)
      if (static_cast<int>(i) != c.cycles && !c.memory[i].empty())
        c.launch.buffers[i].expected = launch::Expectation{c.memory[i], c.launch.buffers[i].tolerance};
    c.launch.file = std::filesystem::path(cubin).filename().string();
    tools::writeWholeFile(path(item.id(), ".txt"), std::string_view(c.text));
    try {
      tools::writeWholeFile(path(item.id(), ".json"), launch::writeLaunch(c.launch));
    } catch (const Error& error) {
      tools::print(stdout, fmt::format("{}: not a launch file: {}\n", item.id(), error.what()));
    }
  }
}

ExitStatus run(std::span<const std::string> words) {
  const SuiteCommand command = parseSuiteCommand(words);
  if (command.help) {
    tools::print(stdout, suiteHelp());
    return ExitStatus::Done;
  }
  Plan plan = readPlan(command.cases);
  std::erase_if(plan.items, [&](const Item& item) { return !isChosen(item, command.only); });
  if (plan.items.empty()) throw UsageError("no item matches; --list lists the groups");
  if (command.list) {
    list(plan);
    return ExitStatus::Done;
  }
  if (!command.extract.empty()) {
    extract(plan, command.extract);
    return ExitStatus::Done;
  }
  if (command.fresh) std::filesystem::remove(std::filesystem::path(command.suite.out) / "results.jsonl");
  return runSuite(plan, command.suite);
}

} // namespace

SuiteCommand parseSuiteCommand(std::span<const std::string> words) {
  const po::variables_map values = tools::readOptions(shownOptions(), words);
  const auto has = [&](const char* name) { return values.count(name) != 0; };
  SuiteCommand command;
  command.help = has("help");
  if (command.help) return command;
  command.list = has("list");
  command.fresh = has("fresh");
  if (has("extract")) command.extract = values["extract"].as<std::string>();
  if (has("only")) command.only = values["only"].as<Words>();
  command.suite.minutes = positive(values, "minutes", 0);
  command.suite.withCopies = has("full-machine");
  command.suite.itemSeconds = positive(values, "limit", command.suite.itemSeconds);
  command.suite.startSeconds = positive(values, "start-limit", command.suite.startSeconds);
  const char* library = std::getenv("ORIAS_CUDA_DRIVER");
  command.suite.library = has("library") ? values["library"].as<std::string>() : library ? library : "libcuda.so.1";
  if (!has(tools::kInputs) || values[tools::kInputs].as<Words>().size() != 1)
    throw UsageError("expected one folder of cases; see --help");
  command.cases = values[tools::kInputs].as<Words>().front();
  command.suite.out = has("out") ? values["out"].as<std::string>()
                                 : (std::filesystem::path(command.cases).parent_path() / "results").string();
  return command;
}

std::string suiteHelp() {
  std::ostringstream out;
  out << "Usage: orias-gpu-suite [options] CASES\n\n"
         "Runs a folder of packed cases (tools/gpu/pack) on the first GPU of this computer, compares what they leave\n"
         "in memory, times them, and writes results.jsonl, report.json and report.html.\n\n"
      << shownOptions()
      << "\nExit status: 0 all results are correct, 1 some are wrong, 2 errors in the command line, 3 internal error,\n"
         "77 no GPU.\n";
  return out.str();
}

ExitStatus runSuiteProgram(std::span<const std::string> words) {
  return tools::runProgram("orias-gpu-suite", "internal error of orias-gpu-suite; the results so far are on disk",
                           [&] { return run(words); });
}

} // namespace orias::gpu
