#include "encoder/isa/target.h"
#include "test/forms/kernel.h"
#include "test/forms/run.h"
#include "test/forms/table.h"

#include <boost/algorithm/string.hpp>
#include <boost/program_options.hpp>
#include <fmt/core.h>

#include <exception>
#include <iostream>
#include <vector>

// Tests every form of every PTX instruction, alone in a kernel: see README.md. Exit status 0: none differs; 1: some
// differ; 2: usage.

namespace {

using namespace orias;

struct Command {
  forms::Settings settings;
  std::string op, table, targets = "sm_90a"; ///< targets: separated by commas, or all
  bool print = false, verbose = false, samplers = false;
};

/// Throws Boost's exceptions for unknown options. Returns false if help was requested.
bool readCommand(int argc, char** argv, Command& command) {
  namespace po = boost::program_options;
  po::options_description known("orias_forms: every form of every PTX instruction, alone in a kernel");
  auto add = known.add_options();
  add("help", "this text");
  add("op", po::value(&command.op), "only opcodes that begin so");
  add("arch", po::value(&command.targets), "the targets, with commas, or all (sm_90a)");
  add("seed", po::value(&command.settings.seed), "of the values (1)");
  add("ptxas", po::bool_switch(&command.settings.ptxas), "run the cubin that ptxas makes, too");
  add("cubins", po::value(&command.settings.cubins), "a folder for our cubins, numbered");
  add("samplers", po::bool_switch(&command.samplers), "those on textures, in modules with samplers apart");
  add("print", po::bool_switch(&command.print), "print the kernels instead of running them");
  add("verbose", po::bool_switch(&command.verbose), "name the forms that are not run");
  add("table", po::value(&command.table), "a file for the table of what is covered (Markdown)");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  po::notify(values);
  if (values.count("help")) std::cout << known;
  return !values.count("help");
}

/// Returns true if nothing differs on the target of the settings, which is number `target` of the table.
bool runOn(const Command& command, const forms::Settings& settings, std::size_t target, forms::Table& table) {
  bool isGood = true;
  forms::forEachStatement(
      [&](const forms::Statement& statement) {
        if (!statement.opcode.starts_with(command.op)) return;
        if (command.print) {
          fmt::print("{}\n", forms::kernelFor(statement, settings.arch, settings.seed).text);
          return;
        }
        const forms::Verdict verdict = forms::judge(statement, settings);
        table.add(target, statement, verdict);
        const bool isWrong = verdict.outcome == forms::Outcome::Differs || verdict.outcome == forms::Outcome::Fault;
        isGood &= !isWrong;
        const bool isOpen = verdict.outcome == forms::Outcome::Unsupported ||
                            verdict.outcome == forms::Outcome::NoEngine || verdict.outcome == forms::Outcome::Assembled;
        if (isWrong || (command.verbose && isOpen)) fmt::print("{}\t{}\n", statement.text, verdict.reason);
      },
      command.samplers ? forms::Samplers::Apart : forms::Samplers::InTextures);
  return isGood;
}

int run(const Command& command) {
  std::vector<std::string> targets;
  if (command.targets == "all") {
    for (const isa::Target& target : isa::Target::all())
      targets.emplace_back(target.name());
  } else {
    boost::split(targets, command.targets, boost::is_any_of(","));
  }
  forms::Table table(targets);
  bool isGood = true;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    forms::Settings settings = command.settings;
    settings.arch = targets[i];
    isGood &= runOn(command, settings, i, table);
  }
  if (command.print) return 0;
  fmt::print("{}\n", table.summary());
  if (!command.table.empty()) table.write(command.table);
  return isGood ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  try {
    Command command;
    return readCommand(argc, argv, command) ? run(command) : 0;
  } catch (const std::exception& error) {
    std::cerr << "orias_forms: " << error.what() << '\n';
    return 2;
  }
}
