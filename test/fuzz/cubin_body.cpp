#include "encoder/cubin/cubin.h"
#include "encoder/cubin_code.h"
#include "encoder/hazard.h"
#include "encoder/listing.h"
#include "support/check.h"
#include "test/fuzz/bodies.h"

namespace orias::fuzz {

void fuzzCubin(std::span<const std::uint8_t> input) {
  try {
    const cubin::Module module = cubin::read(std::as_bytes(input));
    cubin::readAttributes(std::as_bytes(input));
    const isa::Target& target = encoder::targetOf(module.abi);
    for (const cubin::Function& function : module.functions) {
      const encoder::FunctionListing listing = encoder::makeListing(function, module, target);
      encoder::renderAnnotated(listing, {});
      encoder::renderJson(listing, {});
      hazard::check(encoder::wordsOf(function), target);
    }
  } catch (const Error&) {
    // The file is damaged, and the reader reported it.
  }
}

} // namespace orias::fuzz
