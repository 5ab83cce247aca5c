#include "frontend/parse.h"

#include "frontend/builder.h"
#include "frontend/limits.h"

#include <fmt/format.h>

namespace orias::ptx {

std::unique_ptr<Module> parse(std::string_view text, Diagnostics& diags) {
  auto module = std::make_unique<Module>();
  if (text.size() > kMaxSourceBytes) {
    diags.error({}, fmt::format("the file is larger than {} bytes", kMaxSourceBytes));
    return module;
  }
  TokenWindow window(text);
  PtxParser parser(&window);
  // The grammar is unambiguous, so the cheaper prediction gives the same result as the full one; a test checks that.
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(antlr4::atn::PredictionMode::SLL);
  parser.removeErrorListeners();
  ModuleBuilder builder(*module, window, diags);
  parser.setEvents(&builder);
  try {
    parser.module();
  } catch (const ParseAborted&) {
    diags.error(window.current()->loc(),
                fmt::format("more than {} syntax errors; the remaining input is not parsed", kMaxSyntaxErrors));
  }
  if (parser.failure()) std::rethrow_exception(parser.failure());
  return module;
}

} // namespace orias::ptx
