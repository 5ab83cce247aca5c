#include "frontend/check.h"
#include "frontend/parse.h"
#include "test/fuzz/bodies.h"

namespace orias::fuzz {

void fuzzPtx(std::span<const std::uint8_t> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  Diagnostics diagnostics("fuzz.ptx", text);
  const auto module = ptx::parse(text, diagnostics);
  if (module) ptx::check(*module, {}, diagnostics);
  diagnostics.render();
}

} // namespace orias::fuzz
