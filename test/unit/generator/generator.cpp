#include "test/differential/generator/generator.h"

#include "frontend/check.h"
#include "frontend/parse.h"

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string>

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

// ptxas cuts positions and lengths of 32-bit fields to a byte, as the manual's code does, but none of 64-bit ones.
TEST_CASE("positions and lengths of 64-bit bit fields are at most 255") {
  const generator::Profile& profile = *generator::findProfile("integer");
  unsigned registers = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::istringstream lines(generator::generate(seed, profile).text);
    std::set<std::string> bytes;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t percent = line.find("and.b32 %");
      if (percent != std::string::npos && line.ends_with(", 255;"))
        bytes.insert(line.substr(percent + 8, line.find(',', percent) - percent - 8));
      if (line.find("bfe.u64") == std::string::npos && line.find("bfe.s64") == std::string::npos &&
          line.find("bfi.b64") == std::string::npos)
        continue;
      const std::size_t last = line.rfind(", "), before = line.rfind(", ", last - 1);
      for (const std::string& operand :
           {line.substr(last + 2, line.size() - last - 3), line.substr(before + 2, last - before - 2)}) {
        if (operand[0] != '%') continue;
        ++registers;
        CHECK_MESSAGE(bytes.contains(operand), line);
      }
    }
  }
  CHECK(registers > 0);
}
