#include "tools/orias/command_line.h"

#include "encoder/isa/target.h"
#include "tools/common/files.h"
#include "tools/orias/option_table.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <set>
#include <thread>
#include <utility>

namespace orias::driver {

namespace po = boost::program_options;

namespace {

constexpr unsigned kDeepestOptionsFile = 16;

// ptxas' limits on every architecture from sm_75 on: observed with -maxrregcount and -v.
constexpr unsigned kMinRegisters = 24;
constexpr unsigned kArchMinRegisters = 32;
// Pipelining, rematerialization before allocation, and outlining: each makes attempts that it may discard.
constexpr std::string_view kExpensivePhases = "24,54,69,69b,69d,136";
constexpr unsigned kUsualUsageLevel = 5, kHighestUsageLevel = 10;
constexpr int kUsualWarpWorth = 35; // the default of PreSchedWarpWorth
constexpr unsigned kMaxRegisters = 255;

// The phases that merge equal code: MergeEquivalentConditionalFlow and its late form.
constexpr std::string_view kMergingPhases = "133,136";
constexpr std::string_view kFloatAtomics = "OptimizeUniformAtomicMode=2";

constexpr std::string_view kPtxVersions[] = {
    "1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "2.0", "2.1", "2.2", "2.3", "3.0", "3.1", "3.2", "4.0", "4.1",
    "4.2", "4.3", "5.0", "5.1", "6.0", "6.1", "6.2", "6.3", "6.4", "6.5", "7.0", "7.1", "7.2", "7.3", "7.4",
    "7.5", "7.6", "7.7", "7.8", "8.0", "8.1", "8.2", "8.3", "8.4", "8.5", "8.6", "8.7", "8.8", "9.0"};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    std::size_t to = text.find(separator, from);
    parts.emplace_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return parts;
    from = to + 1;
  }
}

void appendList(std::vector<std::string>& list, std::string_view value) {
  for (std::string& part : split(value, ','))
    list.push_back(std::move(part));
}

std::string readOptionFile(const OptionSpec& option, const std::string& name) {
  try {
    return tools::readWholeFile(name);
  } catch (const Error& e) {
    throw UsageError(fmt::format("{}: {}", option.display(), e.what()));
  }
}

std::string quotedList(std::span<const std::string> names) {
  std::string out;
  for (const std::string& name : names)
    out += fmt::format("{}'{}'", out.empty() ? "" : ", ", name);
  return out;
}

/// The options in Boost's terms. Only those on the command line: describing the whole table took a fifth of the time of
/// an empty kernel.
po::options_description describe(const std::set<Option>& options) {
  po::options_description result;
  for (const Option id : options) {
    const OptionSpec& option = spec(id);
    std::string names(option.longName);
    if (!option.shortName.empty() && option.shortName != option.longName) names += "," + std::string(option.shortName);
    if (option.takes == Takes::Nothing)
      result.add_options()(names.c_str(), "");
    else
      result.add_options()(names.c_str(), po::value<std::string>(), "");
  }
  return result;
}

/// Options that refer to files, or whose content a reproducer stores in files.
bool isFileOption(Option id) {
  switch (id) {
  case Option::OptionsFile:
  case Option::InputAsString:
  case Option::OutputFile:
  case Option::Listing:
  case Option::SassOutput:
  case Option::Remarks:
  case Option::KernelInfo:
  case Option::Report:
  case Option::ReportLaunch:
  case Option::CheckEach:
  case Option::CheckUniform:
  case Option::DumpDir:
  case Option::KnobSetting:
  case Option::KnobsFile:
  case Option::Reproduce: return true;
  default: return false;
  }
}

/// The name part of a word that starts with a dash.
std::string_view nameOf(std::string_view word) {
  word.remove_prefix(word.starts_with("--") ? 2 : 1);
  return word.substr(0, word.find('='));
}

/// `-O3` and `-m64`: the only options for which ptxas accepts a value joined to the letter.
bool isGluedNumber(std::string_view word) {
  return word.size() > 2 && word[0] == '-' && (word[1] == 'O' || word[1] == 'm') &&
         word.find_first_not_of("0123456789", 2) == std::string_view::npos;
}

[[noreturn]] void failUnknown(std::string_view word) {
  std::string_view name = nameOf(word);
  std::string shown(word.substr(0, word.find('=')));
  std::string nearest = nearestOption(name);
  if (nearest.empty()) throw UsageError(fmt::format("unknown option '{}'; --help lists all of them", shown));
  throw UsageError(fmt::format("unknown option '{}'; did you mean '{}'?", shown, nearest));
}

class Parser {
 public:
  CommandLine take(std::span<const std::string> words) {
    parse(words, 0);
    finish();
    return std::move(line_);
  }

 private:
  void parse(std::span<const std::string> words, unsigned depth);
  void apply(const OptionSpec& option, const std::string& value, unsigned depth);
  void check(const OptionSpec& option, const std::string& value) const;
  void readOptionsFile(const std::string& name, unsigned depth);
  void setArchitecture(const std::string& name);
  unsigned registerLimit(Option option, const std::string& value);
  void setUsageLevel(unsigned level);
  void setAllocatorLevel(unsigned level);
  void setThreads(const std::string& value);
  void settleLimits();
  void finish();
  static unsigned number(const OptionSpec& option, const std::string& value);

  CommandLine line_;
  std::map<Option, std::string> seen_;
  std::vector<std::string> effortKnobs_;
};

void Parser::parse(std::span<const std::string> words, unsigned depth) {
  std::vector<std::string> args;
  std::set<Option> named;
  bool onlyFiles = false;
  for (const std::string& word : words) {
    onlyFiles = onlyFiles || word == "--";
    // Boost would parse `-ofoo` as `-o foo`, and write an unintended file.
    const bool isOption = !onlyFiles && word.size() > 1 && word[0] == '-';
    const OptionSpec* option = isOption ? findOption(nameOf(word)) : nullptr;
    if (isOption && !option && !isGluedNumber(word)) failUnknown(word);
    if (isOption) named.insert((option ? option : findOption(word.substr(1, 1)))->id);
    // Neither a lone -O, which means the default level, nor a lone --listing takes the next word; --opt-level does.
    const bool isAlone = option && option->takes == Takes::GluedText && word.find('=') == std::string::npos;
    args.push_back(word == "-O" ? "-O3" : isAlone ? word + "=-" : word);
  }

  using namespace po::command_line_style;
  constexpr int kStyle = (unix_style & ~allow_guessing & ~allow_sticky) | allow_long_disguise;
  try {
    const po::options_description known = describe(named);
    po::parsed_options parsed = po::command_line_parser(args).options(known).style(kStyle).run();
    for (const po::option& option : parsed.options) {
      if (option.string_key.empty()) {
        for (const std::string& file : option.value)
          line_.inputs.push_back({file, std::nullopt});
        continue;
      }
      const OptionSpec* found = findOption(option.string_key);
      ORIAS_CHECK(found != nullptr, option.string_key);
      std::string value = option.value.empty() ? "" : option.value.front();
      // Boost keeps the sign in `-O=3`, because a one-letter option may have a joined value.
      if (found->shortName.size() == 1 && value.starts_with('=')) value.erase(0, 1);
      apply(*found, value, depth);
    }
  } catch (const po::unknown_option& e) {
    failUnknown(e.get_option_name());
  } catch (const po::invalid_command_line_syntax& e) {
    const OptionSpec* option = findOption(nameOf(e.get_option_name()));
    std::string shown = option ? option->display() : e.get_option_name();
    if (e.kind() == po::invalid_syntax::extra_parameter)
      throw UsageError(fmt::format("option '{}' takes no value", shown));
    throw UsageError(fmt::format("option '{}' needs a value{}", shown,
                                 option ? fmt::format(": {}", option->valueText) : std::string()));
  } catch (const po::error& e) {
    throw UsageError(e.what());
  }
}

unsigned Parser::number(const OptionSpec& option, const std::string& value) {
  unsigned result = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size())
    throw UsageError(fmt::format("option '{}' needs a number, not '{}'", option.display(), value));
  return result;
}

void Parser::check(const OptionSpec& option, const std::string& value) const {
  switch (option.takes) {
  case Takes::Bool:
    if (value != "true" && value != "false")
      throw UsageError(fmt::format("option '{}' needs true or false, not '{}'", option.display(), value));
    break;
  case Takes::Number: number(option, value); break;
  case Takes::Registers:
    if (value != "archmin" && value != "archmax") number(option, value);
    break;
  case Takes::Choice: {
    std::vector<std::string> choices = split(option.valueText, '|');
    if (std::find(choices.begin(), choices.end(), value) == choices.end())
      throw UsageError(
          fmt::format("option '{}' cannot be '{}'; it can be {}", option.display(), value, quotedList(choices)));
    break;
  }
  case Takes::Nothing:
  case Takes::Text:
  case Takes::GluedText:
  case Takes::List: break;
  }
}

void Parser::setArchitecture(const std::string& name) {
  // The table of chips has the names of ptxas 13.0; lto_90 is sm_90 for link-time optimization.
  constexpr std::string_view kLto = "lto_";
  if (!isa::Target::parse(name.starts_with(kLto) ? "sm_" + name.substr(kLto.size()) : name))
    // ptxas' wording: XLA searches for it, to report that the assembler is too old for the chip.
    throw UsageError(
        fmt::format("Value '{}' is not defined for option 'gpu-name'; it can be sm_90, sm_90a, compute_90, …", name));
  line_.options.arch = name;
}

/// The value of an option that limits registers.
unsigned Parser::registerLimit(Option option, const std::string& value) {
  if (value == "archmin") return kArchMinRegisters;
  unsigned limit = value == "archmax" ? kMaxRegisters : number(spec(option), value);
  const std::string name = spec(option).display();
  if (limit > kMaxRegisters) {
    line_.warnings.push_back(fmt::format("{}: {} registers exceed the maximum per thread; ignored", name, limit));
    limit = Options::kNoRegisterLimit;
  } else if (limit < kMinRegisters) {
    line_.warnings.push_back(
        fmt::format("{}: {} registers are too few for the ABI; using {}", name, limit, kMinRegisters));
    limit = kMinRegisters;
  }
  return limit;
}

/// --register-usage-level: the value of more resident warps, and the limit for phases that lengthen live ranges.
void Parser::setUsageLevel(unsigned level) {
  if (level > kHighestUsageLevel)
    throw UsageError(
        fmt::format("option '--register-usage-level' takes numbers up to {}, got '{}'", kHighestUsageLevel, level));
  const int beyond = static_cast<int>(level) - static_cast<int>(kUsualUsageLevel);
  if (beyond == 0) return;
  const int worth = beyond < 0 ? kUsualWarpWorth * (1 - beyond) : kUsualWarpWorth - kUsualWarpWorth / 5 * beyond;
  effortKnobs_.push_back(fmt::format("PreSchedWarpWorth={}", worth));
  effortKnobs_.push_back(fmt::format("RegTargetAdjust={}", 2 * beyond));
}

/// --regAllocOptLevel: not documented by ptxas. Here 0 and 1 mean a single attempt, and each level above 2 doubles the
/// number of attempts before values are spilled.
void Parser::setAllocatorLevel(unsigned level) {
  constexpr unsigned kUsual = 2, kHighest = 5;
  if (level < kUsual)
    effortKnobs_.push_back("RegAllocFastSinglePass=1");
  else if (level > kUsual)
    effortKnobs_.push_back(fmt::format("RegAllocNoSpillAttempts={}", 1U << (std::min(level, kHighest) - 1)));
}

void Parser::setThreads(const std::string& value) {
  const std::vector<std::string> counts = split(value, ',');
  auto& xyz = line_.options.launch.maxntid;
  if (counts.size() > xyz.size())
    throw UsageError(fmt::format("option '--maxntid' takes at most three numbers, got '{}'", value));
  xyz = {1, 1, 1};
  for (std::size_t axis = 0; axis < counts.size(); ++axis) {
    xyz[axis] = number(spec(Option::Maxntid), counts[axis]);
    if (xyz[axis] == 0) throw UsageError(fmt::format("option '--maxntid' takes numbers above 0, got '{}'", value));
  }
}

/// An explicit register limit overrides the limit implied by a thread count, as in ptxas.
void Parser::settleLimits() {
  LaunchOptions& launch = line_.options.launch;
  if (line_.options.maxRegisters == Options::kNoRegisterLimit) return;
  auto warn = [&](std::string_view name) {
    line_.warnings.push_back(
        fmt::format("Conflicting options -maxrregcount and -{0} specified, ignoring -{0} option", name));
  };
  if (std::exchange(launch.minnctapersm, 0) != 0) warn("minnctapersm");
  if (std::exchange(launch.maxntid, {})[0] != 0) warn("maxntid");
}

void Parser::readOptionsFile(const std::string& name, unsigned depth) {
  if (depth >= kDeepestOptionsFile) throw UsageError(fmt::format("options files are nested too deeply at '{}'", name));
  std::string text = readOptionFile(spec(Option::OptionsFile), name);
  parse(po::split_unix(text, " \t\r\n"), depth + 1);
}

/// Why an option of ptxas is refused, or has no effect; docs/options.md describes ptxas' behavior.
std::string_view reasonFor(Option option) {
  switch (option) {
  case Option::ToolsPatch: return "orias makes no patches for CUDA tools";
  case Option::ExtensibleWholeProgram: return "use --compile-only for objects that nvlink links";
  case Option::Sanitize:
    return "orias does not instrument code; compute-sanitizer instruments cubins when they run, and orias-run "
           "--memcheck "
           "checks them on the emulator";
  case Option::StackProtector: return "orias generates no stack canaries";
  case Option::PreserveRelocs: return "the code of whole programs has no relocations";
  default: return "";
  }
}

void Parser::apply(const OptionSpec& option, const std::string& value, unsigned depth) {
  check(option, value);
  bool repeatable = option.repeats() || option.takes == Takes::Nothing || option.id == Option::InputAsString;
  if (auto [at, fresh] = seen_.try_emplace(option.id, value); !fresh && at->second != value && !repeatable) {
    line_.warnings.push_back(fmt::format("option '{}' is given twice; using '{}'", option.display(), value));
    at->second = value;
  }

  Options& options = line_.options;
  if (!isFileOption(option.id))
    line_.optionWords.push_back(option.takes == Takes::Nothing ? option.display() : option.display() + "=" + value);
  switch (option.id) {
  case Option::Help: line_.action = CommandLine::Action::Help; break;
  case Option::Version: line_.action = CommandLine::Action::Version; break;
  case Option::ListVersion: line_.action = CommandLine::Action::ListVersions; break;
  case Option::OptionsFile:
    for (const std::string& name : split(value, ','))
      readOptionsFile(name, depth);
    break;
  case Option::InputAsString: line_.inputs.push_back({"<input string>", value}); break;
  case Option::OutputFile:
    if (value.empty()) throw UsageError("option '--output-file' needs a file name");
    line_.outputFile = value;
    break;
  case Option::GpuName: setArchitecture(value); break;
  case Option::Machine:
    if (number(option, value) != 64)
      throw UsageError(fmt::format("option '--machine' can only be 64, not '{}'", value));
    break;
  case Option::OptLevel: options.optLevel = std::min(number(option, value), 4U); break;
  case Option::OfastCompile:
    options.phases.fastCompile = value == "min"   ? FastCompile::Min
                                 : value == "mid" ? FastCompile::Mid
                                 : value == "max" ? FastCompile::Max
                                                  : FastCompile::No;
    break;
  case Option::Maxrregcount: options.maxRegisters = registerLimit(option.id, value); break;
  case Option::FunctionRegisters: options.maxFunctionRegisters = registerLimit(option.id, value); break;
  case Option::RegisterUsageLevel: setUsageLevel(number(option, value)); break;
  case Option::RegAllocOptLevel: setAllocatorLevel(number(option, value)); break;
  case Option::AllowExpensive:
    if (value == "false") appendList(options.phases.disabled, kExpensivePhases);
    break;
  case Option::Fmad: options.contractFma = value == "true"; break;
  case Option::SplitCompile:
    options.threads = number(option, value);
    if (options.threads == 0) options.threads = std::max(1U, std::thread::hardware_concurrency());
    break;
  case Option::Entry:
    for (std::string& name : split(value, ','))
      options.entries.push_back(std::move(name));
    break;
  case Option::Verbose: line_.verbose = true; break;
  case Option::DisableWarnings: options.disableWarnings = true; break;
  case Option::WarningAsError: options.warningsAreErrors = true; break;
  case Option::LineInfo: options.lineInfo = true; break;
  case Option::CompileOnly: options.relocatable = true; break;
  case Option::DeviceDebug: options.debugInfo = true; break;
  case Option::WarnSpills: options.warnSpills = true; break;
  case Option::WarnLocalMemory: options.warnLocalMemory = true; break;
  case Option::NoStackSizeWarning: options.suppressStackWarning = true; break;
  case Option::WarnDouble: options.warnDouble = true; break;
  case Option::SuppressDebugInfo: options.suppressDebugInfo = true; break;
  case Option::DefLoadCache: options.caches.defaultLoad = value; break;
  case Option::ForceLoadCache: options.caches.forcedLoad = value; break;
  case Option::DefStoreCache: options.caches.defaultStore = value; break;
  case Option::ForceStoreCache: options.caches.forcedStore = value; break;
  case Option::Maxntid: setThreads(value); break;
  case Option::Minnctapersm: options.launch.minnctapersm = number(option, value); break;
  case Option::OverrideDirectives: options.launch.overrideDirectives = true; break;
  case Option::Listing:
    options.wantListing = true;
    line_.listingFile = value;
    break;
  case Option::ListingFormat:
    options.listingFormat = value == "plain"  ? ListingFormat::Plain
                            : value == "json" ? ListingFormat::Json
                                              : ListingFormat::Annotated;
    break;
  case Option::KernelInfo:
    options.wantKernelInfo = true;
    line_.kernelInfoFile = value;
    break;
  case Option::KernelInfoFormat:
    options.kernelInfoFormat = value == "json" ? KernelInfoFormat::Json : KernelInfoFormat::Text;
    break;
  case Option::ForceText: line_.textOnly = true; break;
  case Option::SassOutput:
    options.wantListing = true;
    line_.sassFile = value;
    break;
  case Option::ListPhases: line_.action = CommandLine::Action::ListPhases; break;
  case Option::ListKnobs: line_.action = CommandLine::Action::ListKnobs; break;
  case Option::DumpAfter: appendList(options.phases.dumpAfter, value); break;
  case Option::DumpBefore: appendList(options.phases.dumpBefore, value); break;
  case Option::DumpDir: options.phases.dumpDirectory = value; break;
  case Option::PrintChanged: options.phases.printChanged = true; break;
  case Option::StopAfter: options.phases.stopAfter = value; break;
  case Option::FromPhase: options.phases.startFrom = value; break;
  case Option::DisablePhase: appendList(options.phases.disabled, value); break;
  case Option::SwapPhases: appendList(options.phases.swapped, value); break;
  case Option::NoBlockMerging: appendList(options.phases.disabled, kMergingPhases); break;
  case Option::VisibleErrors: options.errorsAtExit = true; break;
  case Option::StackBoundsCheck: options.checkStackBounds = true; break;
  case Option::TensorMemoryCheck: options.checkTensorMemory = true; break;
  case Option::NoTensorMemoryCheck: break; // see finish()
  case Option::Annotations: options.annotate = true; break;
  case Option::FloatAtomics: options.knobs.emplace_back(kFloatAtomics); break;
  case Option::VerifyEach: options.phases.verifyEach = true; break;
  case Option::TimePhases: options.phases.timePhases = true; break;
  case Option::Why: appendList(options.phases.why, value); break;
  case Option::Remarks:
    options.wantRemarks = true;
    line_.remarksFile = value;
    break;
  case Option::KnobSetting: options.knobs.push_back(value); break;
  case Option::BindParam:
    for (const std::string& binding : split(value, ','))
      options.boundParams.push_back(binding);
    break;
  case Option::KnobsFile:
    for (const std::string& name : split(value, ','))
      options.knobs.push_back(readOptionFile(option, name));
    break;
  case Option::Reproduce: line_.reproduceDirectory = value; break;
  case Option::CheckEach: line_.checkEachLaunch = value; break;
  case Option::CheckUniform: line_.checkUniformLaunch = value; break;
  case Option::Report: line_.reportFile = value; break;
  case Option::ReportFormat: line_.reportAsJson = value == "json"; break;
  case Option::ReportLaunch: line_.reportLaunch = value; break;
  default:
    ORIAS_CHECK(option.effect != Effect::Full, option.display()); // the others need no action, or have none
    if (option.effect == Effect::Refused)
      throw UsageError(fmt::format("option '{}' is not supported: {}", option.display(), reasonFor(option.id)));
    if (option.effect == Effect::Warned && value != "false")
      line_.warnings.push_back(fmt::format("option '{}' has no effect: {}", option.display(), reasonFor(option.id)));
    break;
  }
}

void Parser::finish() {
  settleLimits();
  if (seen_.contains(Option::NoTensorMemoryCheck)) line_.options.checkTensorMemory = false;
  // Knobs set by name override those implied by these options.
  line_.options.knobs.insert(line_.options.knobs.begin(), effortKnobs_.begin(), effortKnobs_.end());
  if (line_.options.debugInfo) {
    if (seen_.contains(Option::OptLevel) && line_.options.optLevel != 0)
      throw UsageError("option '--device-debug' requires --opt-level=0: optimized code has no variable locations");
    line_.options.optLevel = 0;
  }
  if (!line_.sassFile.empty() && !seen_.contains(Option::ListingFormat))
    line_.options.listingFormat = ListingFormat::Plain;
  const bool namesLaunch =
      !line_.checkEachLaunch.empty() || !line_.checkUniformLaunch.empty() || !line_.reportLaunch.empty();
  if (line_.action == CommandLine::Action::Assemble && line_.inputs.empty() && !namesLaunch)
    line_.action = CommandLine::Action::Help;
}

} // namespace

CommandLine parseCommandLine(std::span<const std::string> words) {
  return Parser().take(words);
}

std::span<const std::string_view> acceptedPtxVersions() {
  return kPtxVersions;
}

} // namespace orias::driver
