#include "encoder/isa/desc.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "phases/expansion.h"
#include "test/exact/cases.h"
#include "test/exact/runner.h"

#include <boost/program_options.hpp>
#include <fmt/format.h>

#include <iostream>
#include <string>

// Runs the sequences of phase 5 on many numbers; see README.md.

namespace orias::exact {

namespace {

using isa::MacroKind;
using isa::Mod;

/// The expanded code of one macro.
class Sequence {
 public:
  Sequence(const Operation& operation, MacroKind kind, bool ftz, std::optional<std::uint64_t> divisor,
           const isa::Target& target)
      : module_(target), function_(module_, "f", true) {
    const unsigned words = operation.bits() == 64 ? 2 : 1;
    ori::Builder b(function_, function_.newBlock());
    const isa::Operand x = b.newR(words), y = b.newR(words), d = b.newR(words);
    std::vector<isa::Operand> operands{d, x};
    if (operation.arguments() == 2) operands.push_back(y);
    std::vector<isa::ModValue> mods{{Mod::MacroType, operation.type}};
    if (operation.isFloat()) mods.push_back({Mod::MacroKind, kind});
    if (ftz) mods.push_back({Mod::Ftz, 1});
    ori::Instr* macro = b.emit(operation.op, operands, mods);
    if (!operation.isFloat())
      phases::expandIntegerDivision(function_, macro, divisor);
    else if (operation.bits() == 64)
      phases::expandDoubleMacro(function_, macro);
    else
      phases::expandFloatMacro(function_, macro);
    ends_ = {x.reg, y.reg, d.reg};
  }
  Runner runner() const { return Runner(function_, ends_[0], ends_[1], ends_[2]); }

 private:
  ori::Module module_;
  ori::Function function_;
  std::array<ori::VRegId, 3> ends_{};
};

struct Options {
  std::string op, rounding, arch;
  std::uint64_t cases = 0, seed = 0, first = 0, count = 0;
  std::size_t constants = 0;
  int seedError = 0;
  bool ftz = false, all = false, allSeeds = false;
};

/// Runs one operation with one rounding, and compares the results.
class Check {
 public:
  Check(const Operation& operation, MacroKind kind, const Options& options, std::optional<std::uint64_t> divisor = {})
      : operation_(operation), kind_(kind), options_(options), divisor_(divisor),
        sequence_(operation, kind, options.ftz, divisor, *isa::Target::find(options.arch)),
        runner_(sequence_.runner()) {}

  void tryOne(const Case& arguments, int seedError) {
    if (!isDefined(operation_, arguments)) return;
    runner_.seedError = seedError;
    ++tried_;
    const std::uint64_t got = runner_.run(arguments.first, arguments.second) & mask();
    aside_ += runner_.wentCold();
    const std::uint64_t expected = exactResult(operation_, arguments, kind_, options_.ftz);
    if (isRight(operation_, got, expected)) return;
    if (++wrong_ <= 5)
      std::cout << fmt::format("{} of {:x} {:x}: {:x}, but it is {:x} (seed off by {})\n", title(), arguments.first,
                               arguments.second, got, expected, seedError);
  }
  /// Tries each seed that the hardware unit may return.
  void tryEach(const Case& arguments) {
    for (int error = -options_.seedError; error <= options_.seedError; ++error)
      tryOne(arguments, error);
  }

  /// Tries all arguments of an operation with one 32-bit argument.
  void tryAll() {
    for (std::uint64_t n = options_.first; n < options_.first + options_.count; ++n) {
      if (options_.allSeeds)
        tryEach({n, 0});
      else
        tryOne({n, 0}, static_cast<int>(n % span()) - options_.seedError);
    }
  }
  /// Tries, for all mantissas of a divisor, dividends whose quotient is nearest to a number and to a midpoint.
  void tryAllDivisors() {
    std::uint64_t choice = options_.seed;
    for (std::uint64_t b = 0x800000 + options_.first; b < 0x800000 + options_.first + options_.count; ++b)
      for (unsigned bits : {24u, 25u})
        for (int error : {-2, -1, 0, 1, 2}) {
          choice = choice * 6364136223846793005u + 1442695040888963407u;
          tryEach(nearQuotient(b, bits, error, choice >> 33));
        }
  }
  void trySome() {
    const auto cases = operation_.isFloat() ? operation_.bits() == 64 ? doubleCases(operation_, options_.seed)
                                                                      : floatCases(operation_, options_.seed)
                                            : integerCases(operation_, options_.seed, divisor_);
    for (std::uint64_t n = 0; n < options_.cases; ++n)
      tryOne(cases->next(), static_cast<int>(n % span()) - options_.seedError);
  }

  std::uint64_t wrong() const { return wrong_; }
  std::uint64_t tried() const { return tried_; }
  void tell() const {
    std::cout << fmt::format("{}: {} of {} wrong, {:.1f}% by the slow way\n", title(), wrong_, tried_,
                             100.0 * static_cast<double>(aside_) / static_cast<double>(tried_ ? tried_ : 1));
  }

 private:
  std::uint64_t mask() const { return ~std::uint64_t{0} >> (64 - operation_.bits()); }
  unsigned span() const { return 2 * static_cast<unsigned>(options_.seedError) + 1; }
  std::string title() const {
    constexpr const char* kNames[] = {".rn", ".rm", ".rp", ".rz"};
    const std::string_view name = operation_.name;
    const bool isExact = operation_.isFloat() && kind_ != MacroKind::Approx;
    return fmt::format("{}{}{}{}", name.substr(0, name.find('.')), isExact ? kNames[static_cast<unsigned>(kind_)] : "",
                       options_.ftz ? ".ftz" : "", name.substr(name.find('.')));
  }

  const Operation& operation_;
  MacroKind kind_;
  const Options& options_;
  std::optional<std::uint64_t> divisor_;
  Sequence sequence_;
  Runner runner_;
  std::uint64_t wrong_ = 0, tried_ = 0, aside_ = 0;
};

/// The roundings of an operation, or the requested one.
std::vector<MacroKind> kindsOf(const Operation& operation, const std::string& rounding) {
  if (operation.op == isa::Op::FRSQRT) return {MacroKind::Approx};
  if (!operation.isFloat()) return {MacroKind::RN};
  constexpr std::pair<const char*, MacroKind> kKinds[] = {
      {"rn", MacroKind::RN}, {"rm", MacroKind::RM}, {"rp", MacroKind::RP}, {"rz", MacroKind::RZ}};
  std::vector<MacroKind> kinds;
  for (const auto& [name, kind] : kKinds)
    if (rounding.empty() || rounding == name) kinds.push_back(kind);
  return kinds;
}

/// Checks divisors that are constants in the code.
int checkConstants(const Operation& operation, const Options& options) {
  std::uint64_t wrong = 0, tried = 0;
  for (std::uint64_t divisor : divisors(operation, options.seed, options.constants)) {
    Check one(operation, MacroKind::RN, options, divisor);
    one.trySome();
    wrong += one.wrong();
    tried += one.tried();
  }
  std::cout << fmt::format("{} by {} constants: {} of {} wrong\n", operation.name, options.constants, wrong, tried);
  return wrong == 0 ? 0 : 1;
}

int check(const Operation& operation, const Options& options) {
  std::uint64_t wrong = 0;
  for (MacroKind kind : kindsOf(operation, options.rounding)) {
    Check one(operation, kind, options);
    if (!options.all)
      one.trySome();
    else if (operation.arguments() == 1)
      one.tryAll();
    else
      one.tryAllDivisors();
    one.tell();
    wrong += one.wrong();
  }
  return wrong == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  namespace po = boost::program_options;
  Options o;
  po::options_description description("orias_exact");
  auto option = description.add_options();
  option("help", "this text");
  option("op", po::value(&o.op)->required(), "div, rcp, sqrt, rsqrt or rem with a type: div.f32");
  option("rounding", po::value(&o.rounding), "rn, rm, rp or rz; all without it");
  option("arch", po::value(&o.arch)->default_value("sm_90"),
         "the chip: sequences differ with the speed of its fp64 unit");
  option("ftz", po::bool_switch(&o.ftz), "the flushing variant, of f32");
  option("cases", po::value(&o.cases)->default_value(100000), "for each rounding");
  option("constants", po::value(&o.constants), "of integers: so many divisors that are known, each with so many cases");
  option("seed", po::value(&o.seed)->default_value(1), "of the random numbers");
  option("seed-error", po::value(&o.seedError),
         "largest error of MUFU's result: 2^-20 of an f64 (4), units of an f32 (1; "
         "of roots 2)");
  option("all", po::bool_switch(&o.all), "of f32: all arguments, for quotients all divisors");
  option("all-seeds", po::bool_switch(&o.allSeeds), "with --all: each error of MUFU's result for each argument");
  std::string first = "0", count;
  option("first", po::value(&first), "with --all: the first bits, or mantissa of a divisor");
  option("count", po::value(&count), "with --all: how many");
  po::variables_map map;
  po::store(po::parse_command_line(argc, argv, description), map);
  if (map.count("help")) {
    std::cout << description;
    return 0;
  }
  po::notify(map);
  const Operation* operation = findOperation(o.op);
  const bool isFloat32 = operation && operation->type == isa::MacroType::F32;
  if (!operation || ((o.ftz || o.all) && !isFloat32) || (o.constants && operation->isFloat()) ||
      kindsOf(*operation, o.rounding).empty() || !isa::Target::find(o.arch)) {
    std::cerr << fmt::format("orias_exact: no operation '{}' with these options\n", o.op);
    return 2;
  }
  if (!map.count("seed-error"))
    o.seedError = !operation->isFloat() ? 1 : !isFloat32 ? 4 : operation->op == isa::Op::FSQRT ? 2 : 1;
  o.first = std::stoull(first, nullptr, 0);
  if (!count.empty())
    o.count = std::stoull(count, nullptr, 0);
  else
    o.count = operation->arguments() == 1 ? std::uint64_t{1} << 32 : 1 << 23;
  return o.constants ? checkConstants(*operation, o) : check(*operation, o);
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
