// The entry point that libFuzzer calls; ORIAS_FUZZ_BODY is one of bodies.h.
#include "test/fuzz/bodies.h"

#include <cstddef>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  orias::fuzz::ORIAS_FUZZ_BODY({data, size});
  return 0;
}
