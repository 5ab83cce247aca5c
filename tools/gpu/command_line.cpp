#include "tools/gpu/command_line.h"

#include "tools/common/options.h"
#include "tools/common/program.h"

#include <boost/program_options.hpp>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <sstream>

namespace orias::gpu {

namespace po = boost::program_options;
using tools::UsageError;

namespace {

using Words = std::vector<std::string>;

po::options_description shownOptions() {
  po::options_description result("Options", 100, 60);
  result.add_options()("opt-level,O", po::value<unsigned>()->value_name("N"),
                       "set the optimization level of orias, 0 to 4 [3]");
  result.add_options()("ptxas", "also run the cubin of ptxas ($ORIAS_PEERS_DIR/ptxas, else from PATH)");
  result.add_options()("cubin", po::value<Words>()->value_name("FILE"), "also run this cubin; may be repeated");
  result.add_options()("repeat", po::value<unsigned>()->value_name("N"),
                       "time N launches; 0 checks only the results [20]");
  result.add_options()("warm-up", po::value<unsigned>()->value_name("N"), "run N warm-up launches first [3]");
  result.add_options()("library", po::value<std::string>()->value_name("FILE"),
                       "use this CUDA driver library [$ORIAS_CUDA_DRIVER or libcuda.so.1]");
  result.add_options()("help,h", "print this text");
  return result;
}

} // namespace

CommandLine parseCommandLine(std::span<const std::string> words) {
  const po::variables_map values = tools::readOptions(shownOptions(), words);
  const auto has = [&](const char* name) { return values.count(name) != 0; };
  CommandLine line;
  line.help = has("help");
  if (line.help) return line;
  if (has("opt-level")) {
    line.assembleOptions.optLevel = values["opt-level"].as<unsigned>();
    if (line.assembleOptions.optLevel > 4) throw UsageError("--opt-level must be 0 to 4");
  }
  line.withPtxas = has("ptxas");
  if (has("cubin")) line.cubins = values["cubin"].as<Words>();
  if (has("repeat")) line.timing.repetitions = values["repeat"].as<unsigned>();
  if (has("warm-up")) line.timing.warmUps = values["warm-up"].as<unsigned>();
  const char* library = std::getenv("ORIAS_CUDA_DRIVER");
  line.library = has("library") ? values["library"].as<std::string>() : library ? library : "libcuda.so.1";
  if (!has(tools::kInputs)) throw UsageError("no launch file is given; see --help");
  line.launchFiles = values[tools::kInputs].as<Words>();
  if (!line.cubins.empty() && line.launchFiles.size() > 1) throw UsageError("--cubin needs exactly one launch file");
  return line;
}

std::string helpText() {
  std::ostringstream out;
  out << "Usage: orias-gpu [options] LAUNCH.json...\n\n"
         "Runs launches on the first GPU of this computer, with the cubin that orias compiles and with others. "
         "Compares\n"
         "the resulting memory with the launch file and the PTX interpreter, and times the kernels.\n\n"
      << shownOptions()
      << "\nExit status: 0 results as expected, 1 wrong results or inputs that cannot be read, 2 errors in the "
         "command\n"
         "line, 3 internal error, 77 no GPU.\n";
  return out.str();
}

} // namespace orias::gpu
