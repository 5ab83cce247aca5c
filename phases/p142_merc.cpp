// Phases 142, 147, 149 and 155: encoding, checks of it, and the listing.

#include "encoder/code.h"
#include "encoder/listing.h"
#include "phases/phases.h"
#include "support/check.h"

#include <utility>

namespace orias::phases {

/// Phase 142. Encodes every instruction, decodes the words and compares: the encoding tables must be able to read what
/// they write.
bool mercEncodeAndDecode(ori::Function& function, PhaseContext& context) {
  encoder::FunctionCode code = encoder::encodeInstructions(function);
  code.wantListing = context.code.wantListing;
  code.uniformityNotes = std::move(context.code.uniformityNotes);
  code.wantDebugDefs = context.code.wantDebugDefs;
  code.debugDefs = std::move(context.code.debugDefs);
  context.code = std::move(code);
  std::vector<std::string> differences = encoder::compareDecoded(function, context.code);
  if (differences.empty()) return false; // the function has not changed
  std::string message = "the encodings of '" + function.name() + "' do not decode to the same instructions:";
  for (const std::string& d : differences)
    message += "\n  " + d;
  throw InternalError(message);
}

/// Phase 147. Makes the text of the function from the words: its end, its padding, and the positions that the driver
/// needs.
bool mercGenerateSassUCode(ori::Function& function, PhaseContext& context) {
  encoder::finishText(function, context.code);
  const unsigned barriers = encoder::namedBarriers(function);
  return std::exchange(function.stats.barriers, barriers) != barriers;
}

/// Phase 149. Computes how many registers are live after each word. The listing shows where pressure comes from.
bool calcRegisterMap(ori::Function& function, PhaseContext& context) {
  if (!context.code.wantListing) return false;
  context.code.registerMap = encoder::registerMap(function, context.code);
  return false;
}

/// Phase 155. Makes the rows of the listing by decoding the final words again. The caller, which has the PTX text,
/// renders them.
bool dumpNVuCodeText(ori::Function& function, PhaseContext& context) {
  if (!context.code.wantListing) return false;
  std::vector<std::string_view> numbers;
  for (const PhaseInfo& phase : pipeline())
    numbers.push_back(phase.number);
  context.code.listing =
      std::make_shared<const encoder::FunctionListing>(encoder::makeListing(function, context.code, numbers));
  return false;
}

} // namespace orias::phases
