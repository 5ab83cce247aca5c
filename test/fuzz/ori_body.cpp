#include "ori/parse.h"
#include "ori/print.h"
#include "ori/verify.h"
#include "support/check.h"
#include "test/fuzz/bodies.h"

namespace orias::fuzz {

void fuzzOri(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  Diagnostics diagnostics("fuzz.ori", text);
  const auto module = ori::parse(text, diagnostics);
  diagnostics.render();
  if (!module) return;
  bool isSound = true;
  for (const auto& function : module->functions)
    isSound = isSound && !ori::hasErrors(ori::verify(*function, {.undefinedUses = true}));
  if (!isSound) return; // the printer has no guarantees for broken IR

  const std::string printed = ori::print(*module);
  Diagnostics again("printed.ori", printed);
  const auto second = ori::parse(printed, again);
  ORIAS_CHECK(second != nullptr, again.render() + printed);
  ORIAS_CHECK(ori::print(*second) == printed, printed);
}

} // namespace orias::fuzz
