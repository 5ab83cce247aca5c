#include "tools/orias/driver.h"

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto status = static_cast<int>(orias::driver::runDriver(words));
#ifdef ORIAS_RUNS_EXIT_HANDLERS
  return status; // the sanitizers look for leaks then, and profiles are written
#else
  // The parser's tables need not be taken apart.
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  std::_Exit(status);
#endif
}
