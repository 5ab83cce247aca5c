#include "tools/orias/command_line.h"
#include "tools/orias/option_table.h"

#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace orias;
using namespace orias::driver;

namespace {

CommandLine parse(std::vector<std::string> words) {
  return parseCommandLine(words);
}

std::string usageError(std::vector<std::string> words) {
  try {
    parseCommandLine(words);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

/// A value that the option accepts and that is not its default.
std::string sampleValue(const OptionSpec& option) {
  switch (option.takes) {
  case Takes::Nothing: return "";
  case Takes::Bool: return option.id == Option::Fmad || option.id == Option::AllowExpensive ? "false" : "true";
  case Takes::Number: return option.id == Option::Machine ? "64" : option.id == Option::RegAllocOptLevel ? "1" : "2";
  case Takes::Registers: return "40";
  case Takes::Choice:
    return option.id == Option::OfastCompile ? "min"
                                             : std::string(option.valueText.substr(0, option.valueText.find('|')));
  case Takes::List: return "7";
  case Takes::GluedText: return "x";
  case Takes::Text: return option.id == Option::GpuName ? "sm_80" : "x";
  }
  return "";
}

/// Every way to write an option with its value.
std::vector<std::vector<std::string>> forms(const OptionSpec& option) {
  std::string value = sampleValue(option);
  std::vector<std::vector<std::string>> result;
  auto add = [&](const std::string& name, bool isLetter) {
    if (option.takes == Takes::Nothing) {
      result.push_back({name});
      return;
    }
    result.push_back({name + "=" + value});
    if (option.takes == Takes::GluedText || (isLetter && option.id == Option::OptLevel)) return;
    result.push_back({name, value});
  };
  add("--" + std::string(option.longName), false);
  if (!option.shortName.empty()) add("-" + std::string(option.shortName), option.shortName.size() == 1);
  return result;
}

} // namespace

TEST_CASE("every option is known in its long, short, = and space forms, and all forms mean the same") {
  for (const OptionSpec& option : optionTable()) {
    if (option.id == Option::OptionsFile || option.id == Option::KnobsFile) continue; // read files
    if (option.effect == Effect::Refused) continue;
    CAPTURE(option.longName);
    auto all = forms(option);
    CommandLine first;
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].push_back("a.ptx");
      CAPTURE(all[i].front());
      CommandLine line;
      REQUIRE_NOTHROW(line = parseCommandLine(all[i]));
      CHECK(line.inputs.back().name == "a.ptx");
      if (i == 0) first = line;
      CHECK(line == first);
    }
  }
}

TEST_CASE("the table says truly which options have an effect") {
  CommandLine nothing = parse({"a.ptx"});
  for (const OptionSpec& option : optionTable()) {
    if (option.id == Option::OptionsFile || option.id == Option::KnobsFile || option.id == Option::Machine) continue;
    CAPTURE(option.longName);
    std::vector<std::string> words = forms(option).front();
    words.push_back("a.ptx");
    if (option.effect == Effect::Refused) {
      CHECK_THROWS_AS(parseCommandLine(words), UsageError);
      continue;
    }
    CommandLine line = parseCommandLine(words);
    CHECK(line.warnings.empty() == (option.effect != Effect::Warned));
    line.warnings.clear();
    line.optionWords.clear();
    bool changed = !(line == nothing);
    // The samples are the defaults; the others are checked below.
    if (option.id == Option::ListingFormat || option.id == Option::KernelInfoFormat) changed = true;
    CHECK(changed == (option.effect == Effect::Full));
  }
}

TEST_CASE("options that are refused or have no effect say why") {
  for (const OptionSpec& option : optionTable()) {
    if (option.effect != Effect::Refused && option.effect != Effect::Warned) continue;
    CAPTURE(option.longName);
    std::vector<std::string> words = forms(option).front();
    words.push_back("a.ptx");
    std::string message;
    try {
      message = parseCommandLine(words).warnings.at(0);
    } catch (const UsageError& error) {
      message = error.what();
    }
    // "option '--x' is not supported: <reason>"
    CHECK(message.find(option.display()) != std::string::npos);
    CHECK(message.size() > message.find(": ") + 10);
  }
}

TEST_CASE("kernel information goes to standard output or a file, as text or JSON") {
  const CommandLine text = parse({"a.ptx", "--kernel-info"});
  CHECK(text.options.wantKernelInfo);
  CHECK(text.kernelInfoFile == "-");
  CHECK(text.options.kernelInfoFormat == KernelInfoFormat::Text);
  const CommandLine json = parse({"a.ptx", "--kernel-info=b.json", "--kernel-info-format=json"});
  CHECK(json.kernelInfoFile == "b.json");
  CHECK(json.options.kernelInfoFormat == KernelInfoFormat::Json);
}

TEST_CASE("the forms that build tools use") {
  CommandLine line =
      parse({"-arch=sm_90a", "-m64", "-O3", "-v", "--fmad=false", "-lineinfo", "x.ptx", "-o", "x.cubin"});
  CHECK(line.options.arch == "sm_90a");
  CHECK(line.options.optLevel == 3);
  CHECK(line.verbose);
  CHECK_FALSE(line.options.contractFma);
  CHECK(line.outputFile == "x.cubin");
  REQUIRE(line.inputs.size() == 1);
  CHECK(line.inputs[0] == InputSource{"x.ptx", std::nullopt});
}

TEST_CASE("defaults") {
  CommandLine line = parse({"a.ptx", "b.ptx"});
  CHECK(line.outputFile == "elf.o");
  CHECK(line.options == Options());
  CHECK(line.inputs.size() == 2);
  CHECK(parse({}).action == CommandLine::Action::Help);
}

TEST_CASE("a lone -O does not take the next word") {
  CommandLine line = parse({"-O", "2"});
  CHECK(line.options.optLevel == 3);
  CHECK(line.inputs.at(0).name == "2");
  CHECK(parse({"--opt-level", "2", "a"}).options.optLevel == 2);
  CHECK(parse({"-O77", "a"}).options.optLevel == 4);
}

TEST_CASE("lists") {
  CHECK(parse({"-e", "a,b", "--entry=c", "x"}).options.entries == std::vector<std::string>{"a", "b", "c"});
  CommandLine line = parse({"-ias", ".version 8.0", "-ias=.version 7.0"});
  REQUIRE(line.inputs.size() == 2);
  CHECK(line.inputs[1].text == ".version 7.0");
}

TEST_CASE("register limits keep to what the ABI and the machine allow") {
  CHECK(parse({"-maxrregcount", "archmin", "a"}).options.maxRegisters == 32);
  CHECK(parse({"-maxrregcount", "archmax", "a"}).options.maxRegisters == 255);
  CommandLine low = parse({"-maxrregcount=8", "a"});
  CHECK(low.options.maxRegisters == 24);
  CHECK(low.warnings.size() == 1);
  CommandLine high = parse({"-maxrregcount=999", "a"});
  CHECK(high.options.maxRegisters == Options::kNoRegisterLimit);
  CHECK(high.warnings.size() == 1);
}

TEST_CASE("functions of objects may have a limit of registers of their own") {
  const Options options = parse({"-c", "-maxrregcount=40", "-func-maxrregcount=32", "a"}).options;
  CHECK(options.maxRegisters == 40);
  CHECK(options.maxFunctionRegisters == 32);
  CHECK(parse({"-func-maxrregcount", "archmin", "a"}).options.maxFunctionRegisters == 32);
}

TEST_CASE("levels of effort are knobs, which knobs by name overrule") {
  using Knobs = std::vector<std::string>;
  CHECK(parse({"--register-usage-level=5", "a"}).options.knobs.empty());
  CHECK(parse({"--knob=PreSchedWarpWorth=1", "--register-usage-level=3", "a"}).options.knobs ==
        Knobs{"PreSchedWarpWorth=105", "RegTargetAdjust=-4", "PreSchedWarpWorth=1"});
  CHECK(parse({"-regUsageLevel=10", "a"}).options.knobs == Knobs{"PreSchedWarpWorth=0", "RegTargetAdjust=10"});
  CHECK_THROWS_AS(parse({"--register-usage-level=11", "a"}), UsageError);
  CHECK(parse({"--regAllocOptLevel=0", "a"}).options.knobs == Knobs{"RegAllocFastSinglePass=1"});
  CHECK(parse({"--regAllocOptLevel=2", "a"}).options.knobs.empty());
  CHECK(parse({"--regAllocOptLevel=4", "a"}).options.knobs == Knobs{"RegAllocNoSpillAttempts=8"});
  CHECK(parse({"--allow-expensive-optimizations=true", "a"}).options.phases.disabled.empty());
  CHECK_FALSE(parse({"--allow-expensive-optimizations=false", "a"}).options.phases.disabled.empty());
}

TEST_CASE("threads of a CTA are one to three numbers") {
  CHECK(parse({"-maxntid=64", "a"}).options.launch.maxntid == std::array<unsigned, 3>{64, 1, 1});
  CHECK(parse({"-maxntid=64,2,3", "a"}).options.launch.maxntid == std::array<unsigned, 3>{64, 2, 3});
  CHECK(usageError({"-maxntid=1,2,3,4", "a"}) == "option '--maxntid' takes at most three numbers, got '1,2,3,4'");
  CHECK(usageError({"-maxntid=0", "a"}) == "option '--maxntid' takes numbers above 0, got '0'");
}

TEST_CASE("a limit of registers makes limits of threads void, with warnings") {
  CommandLine line = parse({"-minnctapersm=2", "-maxntid=64", "-maxrregcount=40", "a"});
  CHECK(line.warnings.size() == 2);
  CHECK(line.options.launch.minnctapersm == 0);
  CHECK(line.options.launch.maxntid[0] == 0);
  CHECK(parse({"-minnctapersm=2", "-maxntid=64", "a"}).warnings.empty());
}

TEST_CASE("the last of contradicting options is taken, with a warning") {
  CommandLine line = parse({"-arch=sm_80", "-arch=sm_90", "a"});
  CHECK(line.options.arch == "sm_90");
  CHECK(line.warnings.size() == 1);
  CHECK(parse({"-arch=sm_90", "-arch=sm_90", "-v", "-v", "a"}).warnings.empty());
}

TEST_CASE("mistakes in options") {
  CHECK(usageError({"--verbos"}) == "unknown option '--verbos'; did you mean '--verbose'?");
  CHECK(usageError({"-maxregcount=3"}) == "unknown option '-maxregcount'; did you mean '--maxrregcount'?");
  CHECK(usageError({"-ofoo", "a"}).starts_with("unknown option '-ofoo'"));
  CHECK(usageError({"-cv", "a"}).starts_with("unknown option '-cv'"));
  CHECK(usageError({"-O3v", "a"}).starts_with("unknown option '-O3v'"));
  CHECK(usageError({"-v=true", "a"}) == "option '--verbose' takes no value");
  CHECK(usageError({"-o"}).starts_with("option '--output-file' needs a value"));
  CHECK(usageError({"-o="}).starts_with("option '--output-file' needs a"));
  CHECK(usageError({"-arch"}).starts_with("option '--gpu-name' needs a value"));
  CHECK(usageError({"-arch="}).starts_with("option '--gpu-name' needs a value"));
  CHECK(usageError({"-arch=SM_90"}).starts_with("Value 'SM_90' is not defined for option 'gpu-name'"));
  CHECK(usageError({"-arch=sm_90,sm_80"}).starts_with("Value 'sm_90,sm_80' is not defined"));
  CHECK(usageError({"-fmad", "a.ptx"}) == "option '--fmad' needs true or false, not 'a.ptx'");
  CHECK(usageError({"-m32"}) == "option '--machine' can only be 64, not '32'");
  CHECK(usageError({"-dlcm=xx"}).starts_with("option '--def-load-cache' cannot be 'xx'; it can be 'ca'"));
  CHECK(usageError({"-maxrregcount=abc"}) == "option '--maxrregcount' needs a number, not 'abc'");
  CHECK(usageError({"-split-compile=99999999999"}).starts_with("option '--split-compile' needs a number"));
  CHECK(usageError({"-optf", "/nonexistent"}) ==
        "--options-file: '/nonexistent' cannot be read: No such file or directory");
}
