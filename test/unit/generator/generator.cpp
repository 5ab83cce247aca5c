#include "test/differential/generator/generator.h"

#include "frontend/check.h"
#include "frontend/parse.h"

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace orias;

TEST_CASE("generated programs parse and check") {
  for (const generator::Profile& profile : generator::profiles())
    for (std::uint64_t seed = 1; seed <= 100; ++seed) {
      const generator::Program program = generator::generate(seed, profile);
      const std::string text = generator::moduleText({&program, 1}, profile.chip());
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

// ptxas truncates positions and lengths of 32-bit fields to a byte, as the manual's code does, but not those of 64-bit
// fields.
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

namespace {

/// Splits "  @%p1 slct.s32.s32 %r1, %r2, 5, %r3;" into its operands; the result is the first one.
std::vector<std::string> operandsOf(const std::string& line, const std::string& opcode) {
  const std::size_t at = line.find(opcode);
  if (at == std::string::npos) return {};
  std::istringstream rest(line.substr(line.find(' ', at) + 1, line.rfind(';') - line.find(' ', at) - 1));
  std::vector<std::string> operands;
  for (std::string operand; std::getline(rest, operand, ',');)
    operands.push_back(operand.substr(operand.find_first_not_of(' ')));
  return operands;
}

/// Calls `see` with each line of some programs.
template <typename See> void forLines(const char* profileName, See see) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::istringstream lines(generator::generate(seed, *generator::findProfile(profileName)).text);
    see(std::string());
    for (std::string line; std::getline(lines, line);)
      see(line);
  }
}

} // namespace

// The NaNs of the interpreter and the hardware have different signs, and both are correct.
TEST_CASE("copysign takes no sign from any NaN") {
  std::set<std::string> canonical, known;
  unsigned seen = 0;
  forLines("float", [&](const std::string& line) {
    if (line.empty()) canonical.clear(), known.clear();
    if (const auto o = operandsOf(line, "selp.b");
        o.size() == 4 && (o[1] == "0x7fffffff" || o[1].starts_with("0x7ff80")))
      canonical.insert(o[0]);
    if (const auto o = operandsOf(line, "mov.b"); o.size() == 2 && canonical.contains(o[1])) known.insert(o[0]);
    if (const auto o = operandsOf(line, "copysign."); !o.empty()) {
      ++seen;
      CHECK_MESSAGE(known.contains(o[1]), line);
    }
  });
  CHECK(seen > 0);
}

// ptxas 13.0 folds slct with a literal as if it compared an f32 with zero.
TEST_CASE("what slct compares with zero is the same as an integer and as f32") {
  std::set<std::string> bounded;
  unsigned seen = 0;
  forLines("integer", [&](const std::string& line) {
    if (line.empty()) bounded.clear();
    if (const auto o = operandsOf(line, "min.s32"); o.size() == 3 && o[2] == "2139095040") bounded.insert(o[0]);
    if (const auto o = operandsOf(line, "slct."); !o.empty()) {
      ++seen;
      CHECK_MESSAGE((o[3] == "0" || o[3] == "-1" || bounded.contains(o[3])), line);
    }
  });
  CHECK(seen > 0);
}

// ptxas 13.0 inserts len % 32 bits if position and length are literals and the position is not 0.
TEST_CASE("bfi inserts less than 32 bits") {
  std::set<std::string> small;
  unsigned seen = 0;
  forLines("integer", [&](const std::string& line) {
    if (line.empty()) small.clear();
    if (const auto o = operandsOf(line, "and.b32"); o.size() == 3 && o[2] == "31") small.insert(o[0]);
    if (const auto o = operandsOf(line, "bfi.b32"); !o.empty()) {
      ++seen;
      CHECK_MESSAGE((o[4][0] == '%' ? small.contains(o[4]) : std::stoi(o[4]) < 32), line);
    }
  });
  CHECK(seen > 0);
}

// Regression: an instruction between the halves of a product read the register of the high half before it was written.
TEST_CASE("between the instructions of a chain no word is read that is not written yet") {
  std::set<std::string> written;
  unsigned seen = 0;
  forLines("bignum", [&](const std::string& line) {
    if (line.empty()) written.clear();
    if (const auto o = operandsOf(line, "xor.b32"); o.size() == 3 && o[0].starts_with("%r")) {
      ++seen;
      for (const std::string& source : {o[1], o[2]})
        CHECK_MESSAGE((!source.starts_with("%r") || written.contains(source)), line);
    }
    // If the first operand is in braces, all its registers are written.
    const std::size_t first = line.find_first_of("%{", line.find(' ', line.find('.')));
    if (first == std::string::npos) return;
    std::istringstream results(line.substr(first, line.find_first_of(line[first] == '{' ? "}" : ",;", first) - first));
    for (std::string word; results >> word;)
      if (const std::size_t at = word.find("%r"); at != std::string::npos)
        written.insert(word.substr(at, word.find_last_not_of(",;|") + 1 - at));
  });
  CHECK(seen > 0);
}
