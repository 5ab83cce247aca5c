#include "tools/orias/option_table.h"

#include <cstdio>
#include <doctest/doctest.h>
#include <regex>
#include <string>

using namespace orias::driver;

namespace {

std::string outputOf(const char* command) {
  std::string text;
  std::FILE* pipe = ::popen(command, "r");
  if (!pipe) return text;
  char buffer[4096];
  while (std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe))
    text.append(buffer, got);
  ::pclose(pipe);
  return text;
}

} // namespace

TEST_CASE("peer: every option that ptxas --help lists is in the table, with the same names and kind") {
  std::string help = outputOf("ptxas --help 2>/dev/null");
  if (help.find("--gpu-name") == std::string::npos) {
    MESSAGE("skipped, no peer: ptxas");
    return;
  }
  std::regex entry(R"(\n--([A-Za-z-]+)( <[^\n]*?>(?:,\.\.\.)?)?\s+\(-([A-Za-z-]+)\))");
  unsigned count = 0;
  for (std::sregex_iterator at(help.begin(), help.end(), entry), end; at != end; ++at, ++count) {
    std::string longName = (*at)[1], value = (*at)[2], shortName = (*at)[3];
    CAPTURE(longName);
    const OptionSpec* option = findOption(longName);
    REQUIRE(option != nullptr);
    CHECK(option->longName == longName);
    CHECK(option->shortName == shortName);
    CHECK_FALSE(option->ours);
    // The help of ptxas does not show that the cache options have a value.
    bool cacheOption = longName.ends_with("-cache");
    CHECK((option->takes != Takes::Nothing) == (!value.empty() || cacheOption));
    CHECK((option->takes == Takes::Bool) == (value == " <true|false>"));
  }
  unsigned ours = 0;
  for (const OptionSpec& option : optionTable())
    ours += option.ours;
  constexpr unsigned kUnlisted = 1; // --regAllocOptLevel
  CHECK(count + kUnlisted == optionTable().size() - ours);
}
