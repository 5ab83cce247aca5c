#include "tools/orias/driver.h"

#include "encoder/isa/target.h"
#include "encoder/isa/uniform_features.h"
#include "orias/knob_sections.h"
#include "orias/orias.h"
#include "phases/knobs.h"
#include "phases/manager.h"
#include "tools/check_each/check_each.h"
#include "tools/check_each/check_uniform.h"
#include "tools/common/files.h"
#include "tools/orias/command_line.h"
#include "tools/orias/help.h"
#include "tools/orias/report.h"
#include "tools/orias/reproduce.h"
#include "tools/report/report.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>

namespace orias::driver {

using tools::complain;
using tools::print;
using tools::readWholeFile;
using tools::writeWholeFile;

namespace {

constexpr std::string_view kProgram = "orias";
constexpr std::string_view kFaultNote =
    "internal error of orias; rerun with --reproduce=DIR and report it with these files";

void listVersions() {
  for (std::string_view version : acceptedPtxVersions())
    print(stdout, fmt::format("{}\n", version));
}

/// Prints the warnings. Returns true unless one of them is treated as an error.
bool tellWarnings(const CommandLine& line) {
  if (line.options.disableWarnings) return true;
  for (const std::string& warning : line.warnings)
    complain(kProgram, line.options.warningsAreErrors ? "error" : "warning", warning);
  return line.warnings.empty() || !line.options.warningsAreErrors;
}

/// Knob EmitLDCU, which exists only for some chips, in their assembler. Throws UsageError if it is not available.
bool emitsLdcu(const CommandLine& line) {
  try {
    if (!KnobSections(line.options.knobs).all().enabled(phases::Knob::EmitLDCU)) return false;
  } catch (const Error& e) {
    throw UsageError(e.what());
  }
  const auto arch = isa::Target::parse(line.options.arch);
  if (!arch) return false; // assembling reports the error
  const std::string_view problem =
      isa::loadConstantUniformProblem(*arch->target, line.textOnly && !line.sassFile.empty());
  if (!problem.empty()) throw UsageError(std::string(problem));
  return true;
}

/// The listing with LDCU in place of ULDC, which differs only in its name.
std::string withLdcu(std::string text) {
  constexpr std::string_view kOld = " ULDC", kNew = " LDCU";
  for (std::size_t at = 0; (at = text.find(kOld, at)) != std::string::npos; at += kNew.size())
    text.replace(at, kOld.size(), kNew);
  return text;
}

/// Writes the requested outputs. Nothing is written after an error.
void writeOutputs(const CommandLine& line, const report::Reported& reported, bool showsLdcu) {
  const Result& result = reported.result;
  auto write = [](const std::string& file, const std::string& text) {
    if (file == "-")
      print(stdout, text);
    else
      writeWholeFile(file, text);
  };
  if (line.listingFile) write(*line.listingFile, result.listing);
  if (!line.kernelInfoFile.empty()) write(line.kernelInfoFile, result.kernelInfo);
  if (!line.remarksFile.empty()) write(line.remarksFile, result.remarks);
  if (!line.reportFile.empty()) write(line.reportFile, reported.report);
  if (!line.sassFile.empty()) writeWholeFile(line.sassFile, showsLdcu ? withLdcu(result.listing) : result.listing);
  if (!result.cubin.empty() && !line.textOnly) writeWholeFile(line.outputFile, result.cubin);
}

/// The program of a launch file.
std::string programOf(const launch::Launch& launch, const std::string& launchFile) {
  std::string name = launch::programPath(launch, launchFile);
  if (name.empty())
    throw UsageError(fmt::format("'{}' does not name a program; give one as the second argument", launchFile));
  return name;
}

/// The program for --check-each and --check-uniform: the input, or else that of the launch file.
struct Checked {
  launch::Launch launch;
  std::string name, text;
  check_each::CheckOptions options;
};

Checked toCheck(const CommandLine& line, std::string_view option, const std::string& launchFile,
                std::span<const Input> inputs) {
  if (inputs.size() > 1) throw UsageError(fmt::format("{} takes one input", option));
  Checked checked{launch::readLaunchFile(launchFile), {}, {}, {}};
  checked.options.assemble = line.options;
  if (inputs.empty()) {
    checked.name = programOf(checked.launch, launchFile);
    checked.text = readWholeFile(checked.name);
  } else {
    checked.name = inputs[0].name;
    checked.text = inputs[0].text;
  }
  return checked;
}

ExitStatus runCheckEach(const CommandLine& line, std::span<const Input> inputs) {
  const Checked run = toCheck(line, "--check-each", line.checkEachLaunch, inputs);
  const check_each::Verdict verdict = check_each::checkEach(run.text, run.launch, run.options);
  if (verdict.ok)
    print(stdout, fmt::format("{}: {} states of '{}' give the results of the PTX\n", run.name, verdict.checked,
                              run.launch.kernel));
  else
    print(stdout, fmt::format("{}: {}", run.name, verdict.text));
  if (verdict.skipped)
    complain(kProgram, "note", fmt::format("{} states could not be run by the emulator", verdict.skipped));
  return verdict.ok ? ExitStatus::Done : ExitStatus::InputErrors;
}

ExitStatus runCheckUniform(const CommandLine& line, std::span<const Input> inputs) {
  const Checked run = toCheck(line, "--check-uniform", line.checkUniformLaunch, inputs);
  const check_each::UniformVerdict verdict = check_each::checkUniform(run.text, run.launch, run.options);
  print(stdout, verdict.text);
  print(stdout, fmt::format("{}: {} of {} registers of '{}' are marked uniform in {} states; {} reads compared, {}\n",
                            run.name, verdict.uniformRegisters, verdict.registers, run.launch.kernel, verdict.checked,
                            verdict.compared, verdict.ok ? "all alike" : "not all alike"));
  if (verdict.skipped)
    complain(kProgram, "note", fmt::format("{} states could not be run by the emulator", verdict.skipped));
  return verdict.ok ? ExitStatus::Done : ExitStatus::InputErrors;
}

/// Adds the program of --report-launch as an ordinary input.
void addLaunchedProgram(const CommandLine& line, std::vector<std::string>& texts, std::vector<Input>& inputs) {
  if (line.reportLaunch.empty() || !inputs.empty()) return;
  const std::string name = programOf(launch::readLaunchFile(line.reportLaunch), line.reportLaunch);
  texts.push_back(readWholeFile(name));
  inputs.push_back({name, texts.back()});
}

/// An Ori file specifies its chip. Another chip cannot be requested, because instructions are already selected. Throws
/// UsageError.
void checkNamedChip(const CommandLine& line, std::span<const Input> inputs) {
  const auto isArch = [](const std::string& word) { return word.starts_with("--gpu-name"); };
  const auto arch = isa::Target::parse(line.options.arch);
  if (line.options.phases.startFrom.empty() || !arch ||
      std::none_of(line.optionWords.begin(), line.optionWords.end(), isArch))
    return;
  for (const Input& input : inputs) {
    constexpr std::string_view kModule = "module ";
    std::size_t at = input.text.starts_with(kModule) ? 0 : input.text.find("\nmodule ");
    if (at == std::string_view::npos) continue;
    at = input.text.find(kModule, at) + kModule.size();
    const std::string_view name = input.text.substr(at, input.text.find_first_of(" ;\n", at) - at);
    if (name != arch->target->name())
      throw UsageError(
          fmt::format("{} is code for {}, which cannot be assembled for {}", input.name, name, arch->target->name()));
  }
}

/// The result, and with --report the page.
report::Reported assembleAsAsked(const CommandLine& line, std::span<const Input> inputs) {
  if (line.reportFile.empty()) return {assemble(inputs, line.options), {}, {}};
  report::ReportOptions options;
  options.format = line.reportAsJson ? report::Format::Json : report::Format::Html;
  options.launchFile = line.reportLaunch;
  options.command = std::string(kProgram);
  for (const std::string& word : line.optionWords)
    options.command += ' ' + word;
  return report::assembleWithReport(inputs, line.options, options);
}

ExitStatus assembleAll(const CommandLine& line) {
  const bool showsLdcu = emitsLdcu(line);
  std::vector<std::string> texts;
  texts.reserve(line.inputs.size() + 1); // the views below point into it
  std::vector<Input> inputs;
  for (const InputSource& source : line.inputs) {
    texts.push_back(source.text ? *source.text : readWholeFile(source.name));
    inputs.push_back({source.name == "-" ? "<standard input>" : source.name, texts.back()});
  }
  addLaunchedProgram(line, texts, inputs);
  checkNamedChip(line, inputs);
  if (!line.reproduceDirectory.empty()) writeReproducer(line, inputs);

  if (!line.checkEachLaunch.empty()) return runCheckEach(line, inputs);
  if (!line.checkUniformLaunch.empty()) return runCheckUniform(line, inputs);

  report::Reported reported;
  try {
    reported = assembleAsAsked(line, inputs);
  } catch (const Error& e) {
    throw UsageError(e.what()); // an architecture, phase or knob that does not exist
  }
  const Result& result = reported.result;
  print(stdout, result.phaseText);
  print(stderr, result.diagnostics);
  for (const std::string& problem : reported.problems)
    complain(kProgram, "warning", problem);
  if (result.status == Status::InternalFault) {
    complain(kProgram, "note", kFaultNote);
    return ExitStatus::InternalFault;
  }
  if (result.status == Status::InputErrors) return ExitStatus::InputErrors;

  std::string warnings = usageWarnings(result, line.options);
  print(stderr, warnings);
  if (!warnings.empty() && line.options.warningsAreErrors) return ExitStatus::InputErrors;
  print(stderr, stackWarnings(result, line.options));
  if (line.verbose && !result.cubin.empty()) print(stderr, verboseReport(result, line.options));
  writeOutputs(line, reported, showsLdcu);
  return ExitStatus::Done;
}

ExitStatus run(std::span<const std::string> words) {
  CommandLine line = parseCommandLine(words);
  if (const char* knobs = std::getenv("ORIAS_KNOBS")) line.options.knobs.insert(line.options.knobs.begin(), knobs);
  if (const char* file = std::getenv("ORIAS_KNOBS_FILE"))
    line.options.knobs.insert(line.options.knobs.begin(), tools::readWholeFile(file));
  switch (line.action) {
  case CommandLine::Action::Help: print(stdout, helpText()); return ExitStatus::Done;
  case CommandLine::Action::Version: print(stdout, versionText()); return ExitStatus::Done;
  case CommandLine::Action::ListVersions: listVersions(); return ExitStatus::Done;
  case CommandLine::Action::ListPhases: print(stdout, phases::listPhases()); return ExitStatus::Done;
  case CommandLine::Action::ListKnobs: print(stdout, phases::Knobs::list()); return ExitStatus::Done;
  case CommandLine::Action::Assemble: break;
  }
  if (!line.reportLaunch.empty() && line.reportFile.empty())
    throw UsageError("option '--report-launch' requires --report");
  if (!tellWarnings(line)) return ExitStatus::UsageErrors;
  if (line.textOnly && line.sassFile.empty()) throw UsageError("--forcetext requires --sso=FILE");
  return assembleAll(line);
}

} // namespace

ExitStatus runDriver(std::span<const std::string> words) {
  return tools::runProgram(kProgram, kFaultNote, [&] { return run(words); });
}

} // namespace orias::driver
