// Phases 142, 147, 149 and 155: from instructions to words, a look back, and what people see of them.

#include "encoder/code.h"
#include "encoder/listing.h"
#include "phases/phases.h"
#include "support/check.h"

namespace orias::phases {

/// Phase 142. Encodes every instruction, decodes the words and compares: what the table writes it must be able to read.
bool mercEncodeAndDecode(ori::Function& function, PhaseContext& context) {
  encoder::FunctionCode code = encoder::encodeInstructions(function);
  code.wantListing = context.code.wantListing;
  code.laneMarks = std::move(context.code.laneMarks);
  code.wantNames = context.code.wantNames;
  code.namedWrites = std::move(context.code.namedWrites);
  context.code = std::move(code);
  std::vector<std::string> differences = encoder::compareDecoded(function, context.code);
  if (differences.empty()) return true;
  std::string message = "the encodings of '" + function.name() + "' do not decode to the same instructions:";
  for (const std::string& d : differences)
    message += "\n  " + d;
  throw InternalError(message);
}

/// Phase 147. The words become the text of the function: its end, its padding, and the places that the driver must
/// know.
bool mercGenerateSassUCode(ori::Function& function, PhaseContext& context) {
  encoder::finishText(function, context.code);
  function.stats.barriers = encoder::namedBarriers(function);
  return true;
}

/// Phase 149. How many registers are live behind each word: what a reader of the listing looks at to see where pressure
/// comes from.
bool calcRegisterMap(ori::Function& function, PhaseContext& context) {
  if (!context.code.wantListing) return false;
  context.code.registerMap = encoder::registerMap(function, context.code);
  return false;
}

/// Phase 155. The rows of the listing, made by decoding the final words again; rendered by the caller, who has the PTX
/// text.
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
