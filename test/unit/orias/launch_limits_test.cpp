#include "orias/launch_limits.h"

#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"

#include <doctest/doctest.h>

using namespace orias;

// The figures are those of ptxas 13.0 for kernels whose register pressure exceeds the limit.

namespace {

struct Kernel {
  ori::Module module{*isa::Target::parse("sm_90")->target};
  ori::Function& function = module.newFunction("k", true);
  Diagnostics diagnostics{"k.ptx", ""};

  Kernel& threads(std::uint32_t x, std::uint32_t ctas = 0) {
    function.bounds.maxntid[0] = x;
    function.bounds.minnctapersm = ctas;
    return *this;
  }
  Kernel& registers(std::uint32_t most) {
    function.bounds.maxnreg = most;
    return *this;
  }
  unsigned ceiling(const Options& options) {
    applyLaunchOptions(function, options, diagnostics);
    return registerCeiling(function, options);
  }
};

Options withRegisters(unsigned most, bool overrides = false) {
  Options options;
  options.maxRegisters = most;
  options.launch.overrideDirectives = overrides;
  return options;
}

Options withLaunch(unsigned threads, unsigned ctas, bool overrides = false) {
  Options options;
  if (threads) options.launch.maxntid = {threads, 1, 1};
  options.launch.minnctapersm = ctas;
  options.launch.overrideDirectives = overrides;
  return options;
}

} // namespace

TEST_CASE("without options the directives limit the registers") {
  CHECK(Kernel().ceiling({}) == 255);
  CHECK(Kernel().threads(1024).ceiling({}) == 64);
  CHECK(Kernel().threads(256, 4).ceiling({}) == 64);
  CHECK(Kernel().registers(48).ceiling({}) == 48);
  CHECK(Kernel().registers(48).threads(128, 1).ceiling({}) == 48);
}

TEST_CASE("--device-function-maxrregcount is for functions of objects") {
  Options options = withRegisters(40);
  options.maxFunctionRegisters = 32;
  Kernel kernel;
  ori::Function& function = kernel.module.newFunction("f", false);
  CHECK(registerCeiling(function, options) == 40);
  options.relocatable = true;
  CHECK(registerCeiling(function, options) == 32);
  CHECK(kernel.ceiling(options) == 40);
  options.maxFunctionRegisters = 48;
  CHECK(registerCeiling(function, options) == 48);
}

TEST_CASE("--maxrregcount holds where no directive says anything") {
  CHECK(Kernel().ceiling(withRegisters(40)) == 40);
  CHECK(Kernel().threads(1024).ceiling(withRegisters(40)) == 64);
  CHECK(Kernel().threads(256, 4).ceiling(withRegisters(40)) == 64);
  CHECK(Kernel().registers(48).ceiling(withRegisters(40)) == 48);
}

TEST_CASE("--override-directive-values puts options before directives") {
  CHECK(Kernel().threads(1024).ceiling(withRegisters(40, true)) == 40);
  CHECK(Kernel().registers(48).ceiling(withRegisters(40, true)) == 40);
  CHECK(Kernel().threads(256).ceiling(withLaunch(512, 2, true)) == 64);
  CHECK(Kernel().registers(48).ceiling(withLaunch(512, 2, true)) == 48);
  // ptxas' cubin contains both, and .reqntid limits the registers.
  Kernel required;
  required.function.bounds.reqntid[0] = 1024;
  CHECK(required.ceiling(withLaunch(96, 0, true)) == 64);
  CHECK(required.function.bounds.maxntid[0] == 96);
}

TEST_CASE("--maxntid and --minnctapersm fill in what directives leave open") {
  CHECK(Kernel().ceiling(withLaunch(1024, 0)) == 64);
  CHECK(Kernel().ceiling(withLaunch(512, 2)) == 64);
  CHECK(Kernel().ceiling(withLaunch(0, 4)) == 255);
  CHECK(Kernel().threads(256).ceiling(withLaunch(512, 0)) == 255);
  CHECK(Kernel().threads(256).ceiling(withLaunch(0, 4)) == 64);
  Kernel required;
  required.function.bounds.reqntid[0] = 256;
  CHECK(required.ceiling(withLaunch(512, 4)) == 64);
  CHECK(required.function.bounds.maxntid[0] == 0);
}

TEST_CASE("more CTAs than a multiprocessor has room for are dropped with a warning") {
  Kernel kernel;
  CHECK(kernel.threads(1024).ceiling(withLaunch(0, 4)) == 64);
  REQUIRE(kernel.diagnostics.all().size() == 1);
  CHECK(kernel.diagnostics.all().front().message.find("entry k is out of range") != std::string::npos);
  CHECK(kernel.function.bounds.minnctapersm == 0);
}

TEST_CASE("a kernel that asks for registers begins with no more than the most that it asks for") {
  Kernel kernel;
  kernel.threads(256, 1);
  ori::Builder b(kernel.function, kernel.function.newBlock());
  b.emit(isa::Op::USETMAXREG_ALLOC, {isa::Operand::zero(isa::File::UP), isa::Operand::immediate(248)});
  CHECK(kernel.ceiling({}) == 255); // the maximum in the cubin
  CHECK(registersAtEntry(kernel.function, {}) == 248);
  CHECK(registersAtEntry(kernel.threads(384, 1).function, {}) == 168);
}
