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
  return status; // leak checks of sanitizers, and profiles, are written at exit
#else
  // Exits without destroying the parser's tables.
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
  std::_Exit(status);
#endif
}
