// Runs the hazard checker over cubins: what ptxas emits must pass, or the latency tables are wrong.
//
//   hazard_cubins [--mutate] [--show=N] file.cubin ...
//
// With --mutate it breaks every instruction's control word in turn, by shortening the stall or dropping one scoreboard
// from the wait mask, and counts how often the checker reports it. ptxas leaves some slack, so not every change
// breaks something; the reported share shows how sensitive the checker is. Exits 1 when an unbroken cubin has
// violations.

#include "encoder/hazard.h"
#include "encoder/isa/word.h"
#include "test/peers/cubin_code.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

using namespace orias;

namespace {

struct Totals {
  unsigned long files = 0, words = 0, unknown = 0, violations = 0;
  unsigned long stalls = 0, stallsNoticed = 0, waits = 0, waitsNoticed = 0;
  std::map<std::string, unsigned> unknownOpcodes;
};

/// Breaks each word of the function in turn. Quadratic, so large functions are sampled.
void mutate(std::vector<isa::Word> words, const isa::Target& target, Totals& totals) {
  constexpr std::size_t kTrials = 400;
  const std::size_t step = std::max<std::size_t>(1, words.size() / kTrials);
  const auto isNoticed = [&] { return !hazard::check(words, target).violations.empty(); };
  for (std::size_t i = 0; i < words.size(); i += step) {
    const isa::Word original = words[i];
    const auto stall = isa::getBits(original, 105, 4);
    if (stall > 1) {
      isa::setBits(words[i], 105, 4, stall - 1);
      ++totals.stalls;
      totals.stallsNoticed += isNoticed();
    }
    words[i] = original;
    for (unsigned bit = 0; bit < target.scoreboardCount(); ++bit) {
      if (isa::getBits(original, 116 + bit, 1) == 0) continue;
      isa::setBits(words[i], 116 + bit, 1, 0);
      ++totals.waits;
      totals.waitsNoticed += isNoticed();
      words[i] = original;
    }
  }
}

} // namespace

int main(int argc, char** argv) {
  bool isMutating = false;
  unsigned show = 10;
  Totals totals;
  for (int a = 1; a < argc; ++a) {
    if (std::strcmp(argv[a], "--mutate") == 0) {
      isMutating = true;
      continue;
    }
    if (std::strncmp(argv[a], "--show=", 7) == 0) {
      show = static_cast<unsigned>(std::atoi(argv[a] + 7));
      continue;
    }
    const test::CubinCode code = test::codeOf(argv[a]);
    if (code.target == nullptr) continue;
    ++totals.files;
    for (const auto& [section, words] : code.sections) {
      const hazard::Report report = hazard::check(words, *code.target);
      totals.words += words.size();
      totals.unknown += report.unknown.size();
      totals.violations += report.violations.size();
      for (std::uint32_t at : report.unknown) {
        char opcode[16];
        std::snprintf(opcode, sizeof opcode, "%u%03x", static_cast<unsigned>(isa::getBits(words[at], 91, 1)),
                      static_cast<unsigned>(isa::getBits(words[at], 0, 12)));
        ++totals.unknownOpcodes[opcode];
      }
      unsigned shown = 0;
      for (const hazard::Violation& violation : report.violations) {
        if (shown++ == show) break;
        std::printf("%s %s: %s\n", argv[a], section.c_str(), hazard::describe(violation, words, *code.target).c_str());
      }
      if (isMutating && report.violations.empty()) mutate(words, *code.target, totals);
    }
  }
  for (const auto& [opcode, count] : totals.unknownOpcodes)
    std::printf("no row: %s %u\n", opcode.c_str(), count);
  std::printf("files %lu, words %lu, unknown %lu, violations %lu\n", totals.files, totals.words, totals.unknown,
              totals.violations);
  if (isMutating)
    std::printf("noticed: shortened stalls %lu of %lu, dropped waits %lu of %lu\n", totals.stallsNoticed, totals.stalls,
                totals.waitsNoticed, totals.waits);
  return totals.violations == 0 ? 0 : 1;
}
