#include "tools/orias-dis/command_line.h"

#include "tools/common/options.h"
#include "tools/common/program.h"

#include <boost/program_options.hpp>
#include <fmt/format.h>
#include <map>
#include <sstream>

namespace orias::dis {

namespace po = boost::program_options;
using tools::UsageError;

namespace {

const po::options_description& shownOptions() {
  static const po::options_description all = [] {
    po::options_description result("Options", 80, 50);
    result.add_options()("kernel,k", po::value<std::vector<std::string>>()->value_name("NAME"),
                         "show only this function; may be repeated")(
        "listing-format", po::value<std::string>()->value_name("FORMAT"),
        "set the format: plain, annotated or json [annotated]")("json", "same as --listing-format=json")(
        "raw", "add the 128-bit encoding of each instruction to a plain listing (other formats always have it)")(
        "cfg", po::value<std::string>()->value_name("FORMAT"),
        "print the control-flow graph instead of the listing, as text or dot (Graphviz)")(
        "check-hazards", "report each dependence that the control information violates, instead of a listing; exit "
                         "with 1 if there is one")("help,h", "print this text");
    return result;
  }();
  return all;
}

/// The choice with the name `value`. Throws UsageError for another word.
template <typename T>
T choose(std::string_view option, const std::string& value, const std::map<std::string, T>& choices) {
  if (const auto found = choices.find(value); found != choices.end()) return found->second;
  std::string all;
  for (const auto& [name, choice] : choices)
    all += fmt::format("{}'{}'", all.empty() ? "" : ", ", name);
  throw UsageError(fmt::format("option '{}' cannot be '{}'; it can be {}", option, value, all));
}

} // namespace

CommandLine parseCommandLine(std::span<const std::string> words) {
  using Show = CommandLine::Show;
  const po::variables_map values = tools::readOptions(shownOptions(), words);
  CommandLine line;
  if (values.count("help")) {
    line.show = Show::Help;
    return line;
  }
  const auto textOf = [&](const char* option) { return values[option].as<std::string>(); };
  if (values.count("kernel")) line.kernels = values["kernel"].as<std::vector<std::string>>();
  if (values.count("listing-format"))
    line.format = choose<CommandLine::Format>("--listing-format", textOf("listing-format"),
                                              {{"annotated", CommandLine::Format::Annotated},
                                               {"json", CommandLine::Format::Json},
                                               {"plain", CommandLine::Format::Plain}});
  if (values.count("json")) line.format = CommandLine::Format::Json;
  line.rawWords = values.count("raw") != 0;
  if (values.count("cfg") && values.count("check-hazards"))
    throw UsageError("--cfg and --check-hazards exclude each other");
  if (values.count("check-hazards")) line.show = Show::Hazards;
  if (values.count("cfg")) {
    line.show = Show::Graph;
    line.graphFormat = choose<CommandLine::GraphFormat>(
        "--cfg", textOf("cfg"), {{"dot", CommandLine::GraphFormat::Dot}, {"text", CommandLine::GraphFormat::Text}});
  }
  if (!values.count(tools::kInputs)) throw UsageError("no cubin is given; see --help");
  const auto& inputs = values[tools::kInputs].as<std::vector<std::string>>();
  if (inputs.size() != 1) throw UsageError("expected one cubin");
  line.input = inputs.front();
  return line;
}

std::string helpText() {
  std::ostringstream out;
  out << "Usage: orias-dis [options] FILE.cubin\n\n"
         "Disassembles a cubin for sm_75 to sm_121, produced by orias or ptxas.\n\n"
      << shownOptions()
      << "\nExit status: 0 success, 1 unreadable cubin or hazards found, 2 errors in the command line, 3 "
         "internal error.\n";
  return out.str();
}

} // namespace orias::dis
