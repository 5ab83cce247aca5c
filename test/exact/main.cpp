#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "phases/expansion.h"
#include "support/ieee.h"
#include "test/exact/cases.h"
#include "test/exact/runner.h"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <string>

// Runs the f64 sequences of phase 5 on many numbers; see README.md.

namespace orias::exact {

namespace {

using isa::Mod;

isa::Op opOf(Operation operation) {
  switch (operation) {
  case Operation::Div: return isa::Op::FDIV;
  case Operation::Rcp: return isa::Op::FRCP;
  case Operation::Sqrt: return isa::Op::FSQRT;
  case Operation::Rsqrt: break;
  }
  return isa::Op::FRSQRT;
}

/// The expanded code of one macro.
class Sequence {
 public:
  Sequence(Operation operation, isa::MacroKind kind)
      : module_(*isa::Target::find("sm_90")), function_(module_, "f", true) {
    ori::Builder b(function_, function_.newBlock());
    const isa::Operand x = b.newR(2), y = b.newR(2), d = b.newR(2);
    std::vector<isa::Operand> operands{d, x};
    if (operation == Operation::Div) operands.push_back(y);
    const std::vector<isa::ModValue> mods{{Mod::MacroType, isa::MacroType::F64}, {Mod::MacroKind, kind}};
    phases::expandDoubleMacro(function_, b.emit(opOf(operation), operands, mods));
    ends_ = {x.reg, y.reg, d.reg};
  }
  Runner runner() const { return Runner(function_, ends_[0], ends_[1], ends_[2]); }

 private:
  ori::Module module_;
  ori::Function function_;
  std::array<ori::VRegId, 3> ends_{};
};

std::uint64_t exact(Operation operation, Case c, ieee::Rounding rounding) {
  constexpr auto kF64 = ieee::Format::F64;
  switch (operation) {
  case Operation::Div: return ieee::div(kF64, c.first, c.second, rounding);
  case Operation::Rcp: return ieee::div(kF64, ieee::bitsOf(1.0), c.first, rounding);
  case Operation::Sqrt: return ieee::sqrt(kF64, c.first, rounding);
  case Operation::Rsqrt: break;
  }
  return ieee::div(kF64, ieee::bitsOf(1.0), ieee::sqrt(kF64, c.first), rounding);
}

/// An approximation may be off by two units in the last place.
bool isRight(Operation operation, std::uint64_t got, std::uint64_t expected) {
  constexpr auto kF64 = ieee::Format::F64;
  if (ieee::isNan(kF64, expected)) return ieee::isNan(kF64, got);
  if (operation != Operation::Rsqrt || std::isinf(ieee::doubleOf(expected))) return got == expected;
  return got - expected + 2 <= 4;
}

struct Options {
  std::string op;
  std::uint64_t cases = 0, seed = 0;
  int seedError = 0;
};

int check(Operation operation, const Options& options) {
  constexpr const char* kNames[] = {"rn", "rm", "rp", "rz"};
  const unsigned kinds = operation == Operation::Rsqrt ? 1 : 4;
  std::uint64_t wrong = 0;
  for (unsigned kind = 0; kind < kinds; ++kind) {
    const Sequence sequence(operation,
                            operation == Operation::Rsqrt ? isa::MacroKind::Approx : static_cast<isa::MacroKind>(kind));
    Runner runner = sequence.runner();
    Cases cases(operation, options.seed);
    std::uint64_t bad = 0, aside = 0;
    for (std::uint64_t n = 0; n < options.cases; ++n) {
      const Case c = cases.next();
      const unsigned span = 2 * static_cast<unsigned>(options.seedError) + 1;
      runner.seedError = static_cast<int>(n % span) - options.seedError;
      const std::uint64_t got = runner.run(c.first, c.second);
      aside += runner.wentAside();
      const std::uint64_t expected = exact(operation, c, static_cast<ieee::Rounding>(kind));
      if (isRight(operation, got, expected)) continue;
      if (++bad <= 5)
        std::cout << fmt::format("{}.{} of {:016x} {:016x}: {:016x}, but it is {:016x} (seed off by {})\n", options.op,
                                 kNames[kind], c.first, c.second, got, expected, runner.seedError);
    }
    std::cout << fmt::format("{}.{}: {} of {} wrong, {:.1f}% by the slow way\n", options.op, kNames[kind], bad,
                             options.cases, 100.0 * static_cast<double>(aside) / static_cast<double>(options.cases));
    wrong += bad;
  }
  return wrong == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  namespace po = boost::program_options;
  Options o;
  po::options_description description("orias_exact");
  description.add_options()("help", "this text")("op", po::value(&o.op)->required(), "div, rcp, sqrt or rsqrt")(
      "cases", po::value(&o.cases)->default_value(100000),
      "for each rounding")("seed", po::value(&o.seed)->default_value(1), "of the random numbers")(
      "seed-error", po::value(&o.seedError)->default_value(4), "largest error of MUFU's result, in units of 2^-20");
  po::variables_map map;
  po::store(po::parse_command_line(argc, argv, description), map);
  if (map.count("help")) {
    std::cout << description;
    return 0;
  }
  po::notify(map);
  const std::pair<const char*, Operation> operations[] = {
      {"div", Operation::Div}, {"rcp", Operation::Rcp}, {"sqrt", Operation::Sqrt}, {"rsqrt", Operation::Rsqrt}};
  for (const auto& [name, operation] : operations)
    if (o.op == name) return check(operation, o);
  std::cerr << "orias_exact: no operation '" << o.op << "'\n";
  return 2;
}

} // namespace

} // namespace orias::exact

int main(int argc, char** argv) {
  try {
    return orias::exact::run(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << "orias_exact: " << e.what() << '\n';
    return 2;
  }
}
