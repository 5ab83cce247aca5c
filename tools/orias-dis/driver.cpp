#include "tools/orias-dis/driver.h"

#include "encoder/cubin/cubin.h"
#include "encoder/cubin_code.h"
#include "encoder/hazard.h"
#include "encoder/listing.h"
#include "support/nearest.h"
#include "tools/common/files.h"
#include "tools/orias-dis/command_line.h"
#include "tools/orias-dis/control_graph.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::dis {

using tools::ExitStatus;

namespace {

constexpr std::string_view kProgram = "orias-dis";
constexpr std::string_view kFaultNote = "internal error of orias-dis; please report it with the cubin";

/// The requested functions, in the order of the file. Throws orias::Error for a name that does not exist.
std::vector<const cubin::Function*> chooseFunctions(const cubin::Module& module, const CommandLine& line) {
  for (const std::string& wanted : line.kernels) {
    NearestName nearest(wanted);
    for (const cubin::Function& function : module.functions)
      nearest.offer(function.name);
    if (std::ranges::none_of(module.functions, [&](const auto& f) { return f.name == wanted; }))
      throw Error(fmt::format("unknown function '{}'{}", wanted,
                              nearest.best().empty() ? "" : fmt::format("; did you mean '{}'?", nearest.best())));
  }
  std::vector<const cubin::Function*> chosen;
  for (const cubin::Function& function : module.functions)
    if (line.kernels.empty() || std::ranges::find(line.kernels, function.name) != line.kernels.end())
      chosen.push_back(&function);
  return chosen;
}

std::string render(const encoder::FunctionListing& listing, const std::string& ptx, const CommandLine& line) {
  switch (line.format) {
  case CommandLine::Format::Plain: return encoder::renderPlain(listing, {.rawWords = line.rawWords});
  case CommandLine::Format::Annotated: return encoder::renderAnnotated(listing, ptx);
  case CommandLine::Format::Json: return encoder::renderJson(listing, ptx);
  }
  return {};
}

std::string graphOf(const cubin::Function& function, const encoder::FunctionListing& listing, const isa::Target& target,
                    const CommandLine& line) {
  const ControlGraph graph =
      recoverGraph(listing, encoder::wordsOf(function), encoder::indirectTargetsOf(function), target);
  return line.graphFormat == CommandLine::GraphFormat::Dot ? renderDot(graph, listing) : renderText(graph, listing);
}

/// The report of the hazard checker on one function; empty if there are no hazards.
std::string hazardsOf(const cubin::Function& function, const isa::Target& target) {
  const std::vector<isa::Word> words = encoder::wordsOf(function);
  const hazard::Report report = hazard::check(words, target);
  std::string out;
  for (const hazard::Violation& violation : report.violations) {
    out += fmt::format("{}: {}", function.name, hazard::describe(violation, words, target));
    if (violation.needed > violation.actual)
      out += fmt::format("; {} cycles are missing", violation.needed - violation.actual);
    out += '\n';
  }
  if (!report.unknown.empty())
    tools::complain(kProgram, "note",
                    fmt::format("{}: {} instructions are not in the instruction table and are not checked",
                                function.name, report.unknown.size()));
  return out;
}

ExitStatus checkHazards(const std::vector<const cubin::Function*>& functions, const isa::Target& target) {
  if (!target.isAssembled())
    throw tools::UsageError(
        fmt::format("not supported yet: hazards of {}, whose latencies are not known", target.name()));
  std::string found;
  for (const cubin::Function* function : functions)
    found += hazardsOf(*function, target);
  tools::print(stdout, found.empty() ? fmt::format("{} functions, no hazards\n", functions.size()) : found);
  return found.empty() ? ExitStatus::Done : ExitStatus::InputErrors;
}

ExitStatus run(std::span<const std::string> words) {
  const CommandLine line = parseCommandLine(words);
  if (line.show == CommandLine::Show::Help) {
    tools::print(stdout, helpText());
    return ExitStatus::Done;
  }
  const std::string file = tools::readWholeFile(line.input);
  const cubin::Module module = cubin::read(std::as_bytes(std::span(file)));
  const isa::Target& target = encoder::targetOf(module.abi);
  const std::vector<const cubin::Function*> functions = chooseFunctions(module, line);
  if (line.show == CommandLine::Show::Hazards) return checkHazards(functions, target);

  const bool isJson = line.show == CommandLine::Show::Listing && line.format == CommandLine::Format::Json;
  const std::string ptx = encoder::ptxTextOf(module);
  std::string out;
  for (const cubin::Function* function : functions) {
    if (!out.empty()) out += isJson ? ",\n" : "\n";
    const encoder::FunctionListing listing = encoder::makeListing(*function, module, target);
    out +=
        line.show == CommandLine::Show::Graph ? graphOf(*function, listing, target, line) : render(listing, ptx, line);
  }
  tools::print(stdout, isJson ? "[\n" + out + "\n]\n" : out);
  return ExitStatus::Done;
}

} // namespace

ExitStatus runDriver(std::span<const std::string> words) {
  return tools::runProgram(kProgram, kFaultNote, [&] { return run(words); });
}

} // namespace orias::dis
