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

struct Settings {
  std::string op, arch, table;
  std::uint64_t seed = 1;
  bool ptxas = false, print = false, verbose = false;
};

/// Throws what Boost throws for options that there are not; nothing when help was asked for.
bool readSettings(int argc, char** argv, Settings& settings) {
  namespace po = boost::program_options;
  po::options_description known("orias_forms: every form of every PTX instruction, alone in a kernel");
  auto add = known.add_options();
  add("help", "this text");
  add("op", po::value(&settings.op), "only opcodes that begin so");
  add("arch", po::value(&settings.arch)->default_value("sm_90a"), "the target");
  add("seed", po::value(&settings.seed)->default_value(1), "of the values");
  add("ptxas", po::bool_switch(&settings.ptxas), "run the cubin that ptxas makes, too");
  add("print", po::bool_switch(&settings.print), "print the kernels instead of running them");
  add("verbose", po::bool_switch(&settings.verbose), "name the forms that are not run");
  add("table", po::value(&settings.table), "a file for the table of what is covered (Markdown)");
  po::variables_map values;
  po::store(po::parse_command_line(argc, argv, known), values);
  po::notify(values);
  if (values.count("help")) std::cout << known;
  return !values.count("help");
}

int run(const Settings& settings) {
  forms::Table table;
  bool isGood = true;
  forms::forEachStatement([&](const forms::Statement& statement) {
    if (!statement.opcode.starts_with(settings.op)) return;
    if (settings.print) {
      fmt::print("{}\n", forms::kernelFor(statement, settings.arch, settings.seed).text);
      return;
    }
    const forms::Verdict verdict = forms::judge(statement, settings.arch, settings.seed, settings.ptxas);
    table.add(statement, verdict);
    const bool isWrong = verdict.outcome == forms::Outcome::Differs || verdict.outcome == forms::Outcome::Fault;
    isGood &= !isWrong;
    const bool isOpen = verdict.outcome == forms::Outcome::Unsupported || verdict.outcome == forms::Outcome::NoEngine;
    if (isWrong || (settings.verbose && isOpen)) fmt::print("{}\t{}\n", statement.text, verdict.reason);
  });
  if (settings.print) return 0;
  fmt::print("{}\n", table.summary());
  if (!settings.table.empty()) table.write(settings.table);
  return isGood ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  try {
    Settings settings;
    return readSettings(argc, argv, settings) ? run(settings) : 0;
  } catch (const std::exception& error) {
    std::cerr << "orias_forms: " << error.what() << '\n';
    return 2;
  }
}
