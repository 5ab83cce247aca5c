#include "frontend/instr_table.h"

#include <array>

namespace orias::ptx {

std::span<const std::span<const Row>> instructionTable() {
  static const std::array kFamilies = {
      integerRows(), floatRows(), logicRows(),  dataRows(),         convertRows(), memoryRows(), atomicRows(),
      asyncRows(),   syncRows(),  matrixRows(), tensorMemoryRows(), textureRows(), videoRows(),  controlRows(),
  };
  return kFamilies;
}

} // namespace orias::ptx
