#include "tools/gpu/suite/options.h"

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(orias::gpu::runSuiteProgram(words));
}
