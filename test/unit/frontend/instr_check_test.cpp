#include "frontend/check_instr.h"
#include "frontend/parse.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>
#include <string>

using namespace orias;
using namespace orias::ptx;

namespace {

std::string readFile(const std::string& name) {
  std::ifstream file(std::string(ORIAS_SOURCE_DIR) + "/test/unit/frontend/" + name, std::ios::binary);
  REQUIRE(file.good());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void replaceAll(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

/// A module with one tested statement; 128-bit registers only if the version has them.
std::string moduleWith(std::string preamble, const std::string& statement, const std::string& target,
                       const std::string& version) {
  replaceAll(preamble, "@TARGET@", target);
  replaceAll(preamble, "@VERSION@", version);
  replaceAll(preamble, "@WIDE@", version >= "8.3" ? "" : "//");
  return preamble + statement + "\nL1: ret;\n}\n";
}

std::string firstError(const std::string& text) {
  Diagnostics diags("test.ptx", text);
  const auto module = parse(text, diags);
  REQUIRE_MESSAGE(!diags.hasErrors(), diags.render());
  checkInstructions(*module, FormTable(*module), {}, diags);
  for (const Diagnostic& d : diags.all())
    if (d.severity == Severity::Error) return d.message;
  return {};
}

} // namespace

TEST_CASE("instructions are accepted and refused as the list says") {
  const std::string preamble = readFile("instr_preamble.ptx");
  std::istringstream cases(readFile("instr_cases.txt"));
  std::string target, version, line;
  unsigned accepted = 0, refused = 0;
  while (std::getline(cases, line)) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '@') {
      std::istringstream words(line.substr(1));
      words >> target >> version;
      continue;
    }
    INFO(line);
    const std::size_t arrow = line.find(" => ");
    const std::string error = firstError(moduleWith(preamble, line.substr(2, arrow - 2), target, version));
    if (line[0] == '+') {
      CHECK(error == "");
      ++accepted;
    } else {
      REQUIRE(arrow != std::string::npos);
      INFO(error);
      CHECK(error.find(line.substr(arrow + 4)) != std::string::npos);
      ++refused;
    }
  }
  CHECK(accepted > 50);
  CHECK(refused > 100);
}

TEST_CASE("a decimal constant among registers of 32 bits is zero") {
  const std::string preamble = readFile("instr_preamble.ptx");
  for (const char* start : {"st.global.v2.b32 [%d1], {%f1, ", "mov.b64 %d1, {%f1, "}) {
    CHECK(firstError(moduleWith(preamble, start + std::string("0.0};"), "sm_90a", "9.0")) == "");
    CHECK(firstError(moduleWith(preamble, start + std::string("1.5};"), "sm_90a", "9.0")).find("Arguments mismatch") ==
          0);
    CHECK(firstError(moduleWith(preamble, start + std::string("-0.0};"), "sm_90a", "9.0")).find("Arguments mismatch") ==
          0);
  }
}

TEST_CASE("an error in an instruction is at its opcode, and all of them are told") {
  const std::string text =
      moduleWith(readFile("instr_preamble.ptx"), "  add.s32 %r1, %f2, 1;\n  foo;\n  @%p1 bar.sync 99;", "sm_90", "8.0");
  Diagnostics diags("test.ptx", text);
  const auto module = parse(text, diags);
  checkInstructions(*module, FormTable(*module), {}, diags);
  REQUIRE(diags.all().size() == 3);
  const std::uint32_t first = diags.all()[0].loc.line;
  CHECK(diags.all()[0].loc.column == 3);
  CHECK(diags.all()[1].loc.line == first + 1);
  CHECK(diags.all()[2].loc.line == first + 2);
  CHECK(diags.all()[2].loc.column == 8);
}
