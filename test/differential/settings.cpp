#include "test/differential/settings.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "phases/module_phases.h"
#include "phases/phase.h"
#include "support/check.h"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iostream>

namespace orias::differential {

namespace {

const generator::Profile& requireProfile(const std::string& name) {
  if (const generator::Profile* profile = generator::findProfile(name)) return *profile;
  throw Error(fmt::format("there is no profile '{}'", name));
}

/// In PTX only chips with a letter after the number have it.
bool hasTensorMemory(const isa::Target* target) {
  return target && std::isalpha(target->name().back()) &&
         (isa::desc(isa::Op::UTCHMMA).sms & target->instructions()) != 0;
}

/// Every profile whose features orias and the chip support and, with `ptxas`, that ptxas compiles correctly.
std::vector<const generator::Profile*> supportedProfiles(bool ptxas, const std::string& arch) {
  const isa::Target* target = isa::Target::find(arch);
  std::vector<const generator::Profile*> all;
  for (const generator::Profile& profile : generator::profiles()) {
    const bool isMissing = (profile.hasClusters() && target && !target->has(isa::Capability::Clusters)) ||
                           (profile.hasTensorMemory() && !hasTensorMemory(target));
    if (profile.name != "unusual" && !(ptxas && profile.name == "alone") && !isMissing) all.push_back(&profile);
  }
  return all;
}

std::vector<const generator::Profile*> namedProfiles(const std::string& names, bool ptxas, const std::string& arch) {
  if (names == "all") return supportedProfiles(ptxas, arch);
  std::vector<const generator::Profile*> named;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    named.push_back(&requireProfile(names.substr(begin, end - begin)));
    begin = end + 1;
  }
  return named;
}

/// Optimization levels, and register limits that cause spilling.
std::vector<Variant> optionMatrix(const Options& base) {
  std::vector<Variant> variants;
  for (unsigned level = 0; level <= 3; ++level) {
    Variant& made = variants.emplace_back(Variant{fmt::format("-O{}", level), base});
    made.options.optLevel = level;
  }
  for (unsigned registers : {24, 32, 40}) {
    Variant& made = variants.emplace_back(Variant{fmt::format("-O3 -maxrregcount={}", registers), base});
    made.options.maxRegisters = registers;
  }
  return variants;
}

std::vector<Variant> onePhaseDisabled(const Options& base) {
  std::vector<Variant> variants;
  for (const phases::ModulePhase& phase : phases::modulePhases()) {
    if (!phase.isOptional || base.optLevel < phase.lowestO || base.optLevel > phase.highestO) continue;
    Variant& made = variants.emplace_back(Variant{fmt::format("--disable-phase={}", phase.name), base});
    made.options.phases.disabled.emplace_back(phase.name);
  }
  for (const phases::PhaseInfo& phase : phases::pipeline()) {
    if (!phase.optional || base.optLevel < phase.lowestO || base.optLevel > phase.highestO) continue;
    Variant& made = variants.emplace_back(Variant{fmt::format("--disable-phase={}", phase.name), base});
    made.options.phases.disabled.emplace_back(phase.name);
  }
  return variants;
}

/// The first word of each line of a file of failures: "mixed:17".
std::vector<Case> readCases(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Error(fmt::format("cannot read '{}'", path));
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    Case found{&requireProfile(line.substr(0, colon)), std::strtoull(line.c_str() + colon + 1, nullptr, 10)};
    const auto same = [&](const Case& c) { return c.profile == found.profile && c.seed == found.seed; };
    if (std::none_of(cases.begin(), cases.end(), same)) cases.push_back(found);
  }
  return cases;
}

/// Reads lines "mixed:17 ptxas: reason"; lines that start with # are comments.
std::map<std::string, std::string> readKnown(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Error(fmt::format("cannot read '{}'", path));
  std::map<std::string, std::string> known;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t end = line.find(": ");
    if (end == std::string::npos) throw Error(fmt::format("{}: '{}' does not say why it fails", path, line));
    known[line.substr(0, end)] = line.substr(end + 2);
  }
  return known;
}

} // namespace

std::optional<Settings> readSettings(int argc, char** argv) {
  namespace po = boost::program_options;
  Settings settings;
  Options base;
  std::string profiles, replay, explained;
  bool matrix = false, disableEach = false;
  po::options_description known("orias_differential: random programs against all that can compile or run them", 100,
                                60);
  auto add = known.add_options();
  add("help", "this text");
  add("profile", po::value(&profiles)->default_value("mixed"), "what kinds of programs: names with commas, or 'all'");
  add("first", po::value(&settings.first)->default_value(1), "the first seed");
  add("count", po::value(&settings.count)->default_value(100), "how many seeds of each profile");
  add("replay", po::value(&replay), "the programs that this file of failures names, instead of seeds");
  add("run", po::bool_switch(&settings.run), "run our cubin on the emulator and compare with the PTX interpreter");
  add("ptxas", po::bool_switch(&settings.ptxas), "the same with the cubin that ptxas makes");
  add("ptxas-options", po::value(&settings.ptxasOptions)->default_value(""), "for ptxas: \"-O1\"");
  add("each-phase", po::bool_switch(&settings.eachPhase), "run the kernel after every phase and after encoding");
  add("timing", po::bool_switch(&settings.timing), "results of cubins show only after their latency");
  add("check-uniform", po::bool_switch(&settings.checkUniform),
      "run the kernel after phases 53 and 70, and check what they call uniform");
  add("arch", po::value(&settings.arch)->default_value("sm_90"), "the chip, from sm_80 on");
  add("opt-level,O", po::value(&base.optLevel)->default_value(3), "0 … 4");
  add("maxrregcount", po::value(&base.maxRegisters)->default_value(0), "registers of a thread");
  add("knob", po::value(&base.knobs), "NAME=VALUE");
  add("disable-phase", po::value(&base.phases.disabled), "a phase that does not run");
  add("matrix", po::bool_switch(&matrix), "-O0 to -O3, and -O3 with few registers");
  add("disable-each", po::bool_switch(&disableEach), "each phase disabled that may be, one at a time");
  add("rotate", po::bool_switch(&settings.rotate), "not all of those for each program, but one, in turns");
  add("verify-each", po::bool_switch(&base.phases.verifyEach), "the verifier after every phase");
  add("jobs,j", po::value(&settings.jobs)->default_value(1), "threads");
  add("batch", po::value(&settings.batch)->default_value(50), "programs in one call of ptxas");
  add("write", po::value(&settings.writeFolder), "a folder for the programs that fail, with their launch files");
  add("failures", po::value(&settings.failuresFile), "a file for a line for each failure, for --replay");
  add("known", po::value(&explained),
      "a file of failures that are explained (known.txt): they are counted by themselves");
  add("progress", po::bool_switch(&settings.progress), "say on standard error how far it is");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  po::notify(values);
  if (values.count("help")) {
    std::cout << known << "profiles:";
    for (const generator::Profile& one : generator::profiles())
      std::cout << ' ' << one.name;
    std::cout << '\n';
    return std::nullopt;
  }
  if (settings.jobs == 0 || settings.batch == 0) throw Error("--jobs and --batch start at 1");
  settings.profiles = namedProfiles(profiles, settings.ptxas, settings.arch);
  base.arch = settings.arch;
  if (!replay.empty()) settings.replay = readCases(replay);
  if (!explained.empty()) settings.known = readKnown(explained);
  if (matrix) settings.variants = optionMatrix(base);
  if (disableEach) {
    const std::vector<Variant> more = onePhaseDisabled(base);
    settings.variants.insert(settings.variants.end(), more.begin(), more.end());
  }
  if (settings.variants.empty()) settings.variants.push_back({"", base});
  return settings;
}

} // namespace orias::differential
