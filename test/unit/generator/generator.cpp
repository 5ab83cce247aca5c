#include "test/differential/generator/generator.h"

#include "frontend/check.h"
#include "frontend/parse.h"

#include <doctest/doctest.h>

using namespace orias;

TEST_CASE("generated programs parse and check") {
  for (const generator::Profile& profile : generator::profiles())
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const generator::Program program = generator::generate(seed, profile);
      const std::string text = generator::moduleText({&program, 1});
      Diagnostics diags(program.launch.name, text);
      auto module = ptx::parse(text, diags);
      if (!diags.hasErrors()) ptx::check(*module, {}, diags);
      INFO(diags.render());
      CHECK_FALSE(diags.hasErrors());
    }
}

TEST_CASE("the same seed gives the same program, another seed another one") {
  const generator::Profile& profile = *generator::findProfile("mixed");
  const generator::Program a = generator::generate(7, profile), b = generator::generate(7, profile);
  CHECK(a.text == b.text);
  CHECK(a.launch.buffers[0].initial == b.launch.buffers[0].initial);
  CHECK(generator::generate(8, profile).text != a.text);
}

TEST_CASE("programs of one file do not share names") {
  const generator::Profile& profile = *generator::findProfile("mixed");
  std::vector<generator::Program> programs;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    programs.push_back(generator::generate(seed, profile));
  const std::string text = generator::moduleText(programs);
  Diagnostics diags("programs", text);
  auto module = ptx::parse(text, diags);
  CHECK_MESSAGE((!diags.hasErrors() && ptx::check(*module, {}, diags)), diags.render());
}
