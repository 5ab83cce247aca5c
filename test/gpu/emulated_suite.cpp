#include "tools/gpu/suite/options.h"

#include <cstdlib>

// The suite with the emulator as the device: runs packed cases without a GPU.

int main(int argc, char** argv) {
  setenv("ORIAS_CUDA_DRIVER", "", 1); // the driver is this program
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(orias::gpu::runSuiteProgram(words));
}
