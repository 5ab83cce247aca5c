#include "test/gpu/compile.h"
#include "test/gpu/sources.h"
#include "tools/gpu/suite/plan.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <map>

// orias_gpu_cases DIR: generates the cases of a pack, in the order of execution.

namespace {

using namespace orias;
using namespace orias::gpu;

struct Command {
  std::string folder;
  std::vector<std::string> launches; ///< GROUP=FOLDER
  unsigned random = 40;
  SourceOptions sources;
  bool verbose = false;
};

bool readCommand(int argc, char** argv, Command& command) {
  namespace po = boost::program_options;
  po::options_description known("orias_gpu_cases [options] DIR: makes cases for a GPU");
  bool withoutPtxas = false;
  auto add = known.add_options();
  add("help", "print this text");
  add("folder", po::value(&command.folder), "");
  add("launches", po::value(&command.launches),
      "GROUP=FOLDER: the launch files of a folder as a group; may be repeated");
  add("random", po::value(&command.random), "number of random programs of each profile [40]");
  add("stride", po::value(&command.sources.stride), "take only every so many of the forms and latency kernels [1]");
  add("no-ptxas", po::bool_switch(&withoutPtxas), "leave ptxas' cubins out");
  add("jobs", po::value(&command.sources.threads), "threads [1]");
  add("verbose", po::bool_switch(&command.verbose), "name the cases that are left out");
  po::positional_options_description positions;
  positions.add("folder", 1);
  po::variables_map values;
  po::store(po::command_line_parser(argc, argv).options(known).positional(positions).run(), values);
  po::notify(values);
  if (values.count("help") || command.folder.empty()) {
    std::cout << known;
    return false;
  }
  if (command.sources.stride == 0) throw std::runtime_error("--stride must be above 0");
  command.sources.withPtxas = !withoutPtxas && !ptxasVersion().empty();
  return true;
}

class Maker {
 public:
  explicit Maker(const Command& command)
      : command_(command),
        writer_(command.folder,
                fmt::format("orias{}", command.sources.withPtxas ? " and " + ptxasVersion() : ", no ptxas"), "sm_90") {}

  void run() {
    const SourceOptions& options = command_.sources;
    // The most informative cases are first; -O0 and cases that may fail for unrelated reasons are last.
    trivialCases(options, sink_);
    formCases(options, true, sink_);
    launches(3);
    latencyCases(options, sink_);
    formCases(options, false, sink_);
    randomCases(options, command_.random, 3, sink_);
    launches(0);
    randomCases(options, command_.random / 2, 0, sink_);
    for (const char* last : {"stops", "doubtful"})
      for (Case& c : late_[last])
        put(std::move(c));
    writer_.finish();
    for (const std::string& group : order_)
      fmt::print("{:<14} {:>6} cases, {} left out\n", group, taken_[group], left_[group]);
    fmt::print("{:.1f} MiB\n", static_cast<double>(writer_.bytes()) / (1 << 20));
  }

 private:
  void launches(unsigned level) {
    for (const std::string& word : command_.launches) {
      const std::size_t at = word.find('=');
      launchCases(command_.sources, word.substr(0, at), word.substr(at + 1), level, sink_);
    }
  }

  void count(const std::string& group, std::map<std::string, unsigned>& in) {
    if (std::find(order_.begin(), order_.end(), group) == order_.end()) order_.push_back(group);
    ++in[group];
  }

  void put(Case c) {
    count(c.group, taken_);
    writer_.add(std::move(c));
  }

  const Command& command_;
  PlanWriter writer_;
  std::map<std::string, std::vector<Case>> late_{{"stops", {}}, {"doubtful", {}}};
  std::map<std::string, unsigned> taken_, left_;
  std::vector<std::string> order_;
  Sink sink_{[this](Case c) {
               const auto late = late_.find(c.group);
               late == late_.end() ? put(std::move(c)) : late->second.push_back(std::move(c));
             },
             [this](const std::string& group, const std::string& name, const std::string& why) {
               count(group, left_);
               if (command_.verbose) fmt::print("left out: {}/{}: {}\n", group, name, why);
             }};
};

} // namespace

int main(int argc, char** argv) {
  try {
    Command command;
    if (!readCommand(argc, argv, command)) return 2;
    Maker(command).run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "orias_gpu_cases: " << error.what() << '\n';
    return 1;
  }
}
