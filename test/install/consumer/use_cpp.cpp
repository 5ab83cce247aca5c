// Assembles a file and prints the registers of its kernels; then requests an unknown chip.
#include <fstream>
#include <iostream>
#include <iterator>
#include <orias/orias.h>
#include <stdexcept>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string ptx(std::istreambuf_iterator<char>(file), {});
  orias::Options options;
  options.arch = "sm_90";
  const orias::Result result = orias::assemble(ptx, options);
  if (result.status != orias::Status::Ok) {
    std::cerr << result.diagnostics;
    return 1;
  }
  for (const orias::FunctionReport& function : result.statistics.functions)
    std::cout << "C++: " << function.name << " uses " << function.registers << " registers\n";
  try {
    options.arch = "sm_12";
    orias::assemble(ptx, options);
  } catch (const std::runtime_error& e) {
    std::cout << "C++: " << e.what() << '\n';
    return 0;
  }
  return 1;
}
