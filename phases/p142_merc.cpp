// Phases 142, 147 and 149: from instructions to words, and a look back.

#include "encoder/code.h"
#include "phases/phases.h"
#include "support/check.h"

namespace orias::phases {

/// Phase 142. Encodes every instruction, decodes the words and compares: what the table writes it must be able to read.
bool mercEncodeAndDecode(ori::Function& function, PhaseContext& context) {
  context.code = encoder::emitWords(function);
  std::vector<std::string> differences = encoder::compareDecoded(function, context.code);
  if (differences.empty()) return true;
  std::string message = "the words of '" + function.name() + "' do not read back:";
  for (const std::string& d : differences) message += "\n  " + d;
  throw InternalError(message);
}

} // namespace orias::phases
