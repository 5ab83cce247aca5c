#include "test/differential/compile_stage.h"
#include "test/differential/run_stage.h"

#include <boost/program_options.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <map>

// Random programs through the assembler: see README.md. Exit 0: nothing but good and unsupported ones; 1: something
// else; 2: usage.

namespace {

using namespace orias;
using differential::Compiled;
using differential::Outcome;
using differential::Reference;

struct Settings {
  const generator::Profile* profile = nullptr;
  std::uint64_t first = 1, count = 100;
  std::string writeFolder; ///< where the programs go that fail; empty: nowhere
  bool run = false;        ///< run what was assembled, and compare with the PTX interpreter
  bool ptxas = false;      ///< the same with ptxas' cubin
  Options options;
};

/// Throws what Boost throws for options that there are not; no profile when help was asked for.
Settings readSettings(int argc, char** argv) {
  namespace po = boost::program_options;
  Settings settings;
  std::string profile;
  po::options_description known("orias_differential: random programs through the assembler");
  auto add = known.add_options();
  add("help", "this text");
  add("profile", po::value(&profile)->default_value("mixed"), "what kind of programs");
  add("first", po::value(&settings.first)->default_value(1), "the first seed");
  add("count", po::value(&settings.count)->default_value(100), "how many seeds");
  add("opt-level,O", po::value(&settings.options.optLevel)->default_value(3), "0 … 4");
  add("maxrregcount", po::value(&settings.options.maxRegisters)->default_value(0), "registers of a thread");
  add("knob", po::value(&settings.options.knobs), "NAME=VALUE");
  add("disable-phase", po::value(&settings.options.phases.disabled), "a phase that does not run");
  add("verify-each", po::bool_switch(&settings.options.phases.verifyEach), "the verifier after every phase");
  add("run", po::bool_switch(&settings.run), "run the cubin on the emulator and compare with the PTX interpreter");
  add("ptxas", po::bool_switch(&settings.ptxas), "run the cubin and the one that ptxas makes on the emulator");
  add("write", po::value(&settings.writeFolder), "a folder for the programs that fail");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  po::notify(values);
  settings.profile = generator::findProfile(profile);
  if (!values.count("help") && settings.profile) return settings;
  settings.profile = nullptr;
  std::cout << known << "profiles:";
  for (const generator::Profile& one : generator::profiles())
    std::cout << ' ' << one.name;
  std::cout << '\n';
  return settings;
}

void writeProgram(const std::string& folder, const generator::Program& program) {
  std::string name = program.launch.name;
  std::replace(name.begin(), name.end(), ':', '-');
  std::ofstream(folder + "/" + name + ".ptx") << generator::moduleText({&program, 1});
}

int run(const Settings& settings) {
  std::array<std::uint64_t, static_cast<std::size_t>(Outcome::Count)> tally{};
  std::map<std::string, std::uint64_t> unsupported;
  for (std::uint64_t seed = settings.first; seed < settings.first + settings.count; ++seed) {
    const generator::Program program = generator::generate(seed, *settings.profile);
    Compiled compiled = differential::compile(program, settings.options);
    const std::vector<std::byte> cubin = std::move(compiled.cubin);
    if (settings.run && compiled.outcome == Outcome::Good)
      compiled = differential::compareRuns(program, cubin, Reference::Interpreter);
    if (settings.ptxas && compiled.outcome == Outcome::Good)
      compiled = differential::compareRuns(program, cubin, Reference::Ptxas);
    ++tally[static_cast<std::size_t>(compiled.outcome)];
    if (compiled.outcome == Outcome::Good) continue;
    if (compiled.outcome == Outcome::Unsupported) {
      ++unsupported[compiled.reason];
      continue;
    }
    fmt::print("{}: {}: {}\n", program.launch.name, outcomeName(compiled.outcome), compiled.reason);
    if (!settings.writeFolder.empty()) writeProgram(settings.writeFolder, program);
  }
  for (std::size_t i = 0; i < tally.size(); ++i)
    fmt::print("{}{} {}", i ? ", " : "", tally[i], outcomeName(static_cast<Outcome>(i)));
  fmt::print("\n");
  for (const auto& [reason, count] : unsupported)
    fmt::print("  {:5} {}\n", count, reason);
  const auto of = [&](Outcome outcome) { return tally[static_cast<std::size_t>(outcome)]; };
  return of(Outcome::Rejected) + of(Outcome::Mismatch) + of(Outcome::Fault) == 0 ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = readSettings(argc, argv);
    return settings.profile ? run(settings) : 2;
  } catch (const std::exception& error) {
    std::cerr << "orias_differential: " << error.what() << '\n';
    return 2;
  }
}
