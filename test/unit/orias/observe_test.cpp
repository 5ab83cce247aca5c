#include "ori/function.h"
#include "orias/compilation.h"
#include "orias/orias.h"
#include "support/check.h"

#include <doctest/doctest.h>

using namespace orias;

namespace {

constexpr std::string_view kKernel = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .reg .b64 %p; .reg .b32 %v;
  ld.param.u64 %p, [p];
  ld.global.u32 %v, [%p];
  add.u32 %v, %v, 7;
  st.global.u32 [%p], %v;
  ret;
}
)";

Result assembleWith(const Options& options, decltype(phases::PipelineOptions::afterPhase) observer) {
  const Input input{"k.ptx", kKernel};
  Compilation compilation(std::span(&input, 1), options);
  compilation.observePhases(std::move(observer));
  return compilation.run();
}

} // namespace

TEST_CASE("an observer sees the function after each phase that ran, in their order") {
  Options options;
  options.phases.disabled = {"29"};
  std::vector<std::string> seen;
  const Result result = assembleWith(options, [&](const phases::PhaseInfo& phase, ori::Function& function, bool) {
    CHECK(function.name() == "k");
    seen.push_back(std::string(phase.number));
  });
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  std::vector<std::string> wanted;
  for (const phases::PhaseInfo& phase : phases::pipeline())
    if (phase.number != "29" && phase.lowestO <= 3 && phase.highestO >= 3) wanted.push_back(std::string(phase.number));
  CHECK(seen == wanted);
  CHECK(result.cubin == assemble(kKernel, options).cubin); // the observer changes nothing
}

TEST_CASE("an observer may stop the compilation") {
  const Result result = assembleWith({}, [](const phases::PhaseInfo& phase, ori::Function&, bool) {
    if (phase.number == "46") throw InternalError("planted");
  });
  CHECK(result.status == Status::InternalFault);
  CHECK(result.diagnostics.find("planted") != std::string::npos);
  CHECK(result.cubin.empty());
}
