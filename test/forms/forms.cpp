#include "test/forms/kernel.h"
#include "test/forms/run.h"
#include "test/forms/table.h"

#include <boost/program_options.hpp>
#include <fmt/core.h>

#include <exception>
#include <iostream>

// Every form of every PTX instruction, alone in a kernel: see README.md. Exit 0: none differs; 1: some do; 2: usage.

namespace {

using namespace orias;

struct Command {
  forms::Settings settings;
  std::string op, table;
  bool print = false, verbose = false;
};

/// Throws what Boost throws for options that there are not; nothing when help was asked for.
bool readCommand(int argc, char** argv, Command& command) {
  namespace po = boost::program_options;
  po::options_description known("orias_forms: every form of every PTX instruction, alone in a kernel");
  auto add = known.add_options();
  add("help", "this text");
  add("op", po::value(&command.op), "only opcodes that begin so");
  add("arch", po::value(&command.settings.arch), "the target (sm_90a)");
  add("seed", po::value(&command.settings.seed), "of the values (1)");
  add("ptxas", po::bool_switch(&command.settings.ptxas), "run the cubin that ptxas makes, too");
  add("print", po::bool_switch(&command.print), "print the kernels instead of running them");
  add("verbose", po::bool_switch(&command.verbose), "name the forms that are not run");
  add("table", po::value(&command.table), "a file for the table of what is covered (Markdown)");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  po::notify(values);
  if (values.count("help")) std::cout << known;
  return !values.count("help");
}

int run(const Command& command) {
  forms::Table table;
  bool isGood = true;
  forms::forEachStatement([&](const forms::Statement& statement) {
    if (!statement.opcode.starts_with(command.op)) return;
    if (command.print) {
      fmt::print("{}\n", forms::kernelFor(statement, command.settings.arch, command.settings.seed).text);
      return;
    }
    const forms::Verdict verdict = forms::judge(statement, command.settings);
    table.add(statement, verdict);
    const bool isWrong = verdict.outcome == forms::Outcome::Differs || verdict.outcome == forms::Outcome::Fault;
    isGood &= !isWrong;
    const bool isOpen = verdict.outcome == forms::Outcome::Unsupported || verdict.outcome == forms::Outcome::NoEngine;
    if (isWrong || (command.verbose && isOpen)) fmt::print("{}\t{}\n", statement.text, verdict.reason);
  });
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
