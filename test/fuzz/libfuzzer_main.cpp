// The entry point of libFuzzer; ORIAS_FUZZ_BODY is a function of bodies.h.
#include "test/fuzz/bodies.h"

#include <cstddef>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  orias::fuzz::ORIAS_FUZZ_BODY({data, size});
  return 0;
}
