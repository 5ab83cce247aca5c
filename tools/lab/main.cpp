#include "tools/lab/driver.h"

#include <string>
#include <vector>

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return static_cast<int>(orias::lab::runDriver("/proc/self/exe", words));
}
