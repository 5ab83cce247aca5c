#include "test/differential/compile_stage.h"

#include "orias/orias.h"

#include <exception>

namespace orias::differential {

namespace {

/// The text of the first error: "file:3:7: error: not supported yet: brx.idx" says "not supported yet: brx.idx".
std::string firstError(const std::string& diagnostics) {
  for (const char* mark : {"fault: ", "error: "}) {
    const std::size_t at = diagnostics.find(mark);
    if (at == std::string::npos) continue;
    const std::size_t begin = at + std::string(mark).size();
    return diagnostics.substr(begin, diagnostics.find('\n', begin) - begin);
  }
  return diagnostics.substr(0, diagnostics.find('\n'));
}

} // namespace

const char* outcomeName(Outcome outcome) {
  switch (outcome) {
  case Outcome::Good: return "good";
  case Outcome::Unsupported: return "not supported";
  case Outcome::Rejected: return "rejected";
  case Outcome::Mismatch: return "mismatch";
  case Outcome::Fault: return "internal fault";
  case Outcome::Count: break;
  }
  return "";
}

Compiled compile(const generator::Program& program, const Options& options) {
  Compiled compiled;
  const std::string text = generator::moduleText({&program, 1});
  try {
    const Input input{program.launch.name, text};
    Result result = assemble({&input, 1}, options);
    compiled.cubin = std::move(result.cubin);
    if (result.status == Status::Ok) return compiled;
    compiled.reason = firstError(result.diagnostics);
    const bool isUnsupported = compiled.reason.starts_with("not supported yet");
    compiled.outcome = result.status == Status::InternalFault ? Outcome::Fault
                       : isUnsupported                        ? Outcome::Unsupported
                                                              : Outcome::Rejected;
  } catch (const std::exception& error) {
    compiled.reason = error.what();
    compiled.outcome = Outcome::Fault;
  }
  return compiled;
}

} // namespace orias::differential
