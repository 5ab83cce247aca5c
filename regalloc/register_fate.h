#pragma once

#include <cstdint>

namespace orias::regalloc {

/// What became of a virtual register.
struct RegisterFate {
  enum class Kind : std::uint8_t {
    Unused,          ///< no use
    Register,        ///< of its own file, from `reg` on
    Memory,          ///< spilled to the frame
    OtherFile,       ///< P and UR: spilled to file R; UP: to file UR
    UniformRegister, ///< file R: spilled to registers of file UR
    Recomputed       ///< rematerialized before each use
  };
  Kind kind = Kind::Unused;
  std::uint32_t reg = 0;
  /// Why it was spilled: the spill cost of its register run per freed register (Victim::cost; Web::spillCost where all
  /// of it is spilled), and the highest excess of the pressure over the limit. Zero where only an aligned run was
  /// missing.
  double spillCost = 0;
  unsigned excess = 0;
  bool isPartly = false; ///< still in registers between some references
};

} // namespace orias::regalloc
