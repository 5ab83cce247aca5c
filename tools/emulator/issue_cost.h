#pragma once

#include "tools/emulator/program.h"

#include <vector>

namespace orias::emu {

/// What the estimates of time know of an instruction, whoever issues it: its control word, and the figures of its
/// latency class. README.md says where the figures come from.
struct IssueCost {
  enum class Kind : std::uint8_t {
    Plain,
    ScoreboardWait, ///< DEPBAR.LE: until at most `count` results of `scoreboard` are missing
    Copy,           ///< LDGSTS
    CopyGroup,      ///< LDGDEPBAR: its scoreboard tells of the copies before it
    Product,        ///< HGMMA and its like: runs beside the warp
    ProductWait     ///< WARPGROUP.DEPBAR.LE: until at most `count` groups of products are missing
  };
  Kind kind = Kind::Plain;
  bool closesGroup = false;    ///< Product: the last one of its group
  bool usesMemoryUnit = false; ///< goes through the queue of loads, stores and shuffles
  std::uint8_t scoreboard = 0; ///< ScoreboardWait
  std::uint8_t count = 0;      ///< ScoreboardWait, ProductWait
  std::uint8_t awaited = 0;    ///< scoreboards that have to be free, by bit
  std::uint8_t writeBarrier = isa::Control::kNoBarrier, readBarrier = isa::Control::kNoBarrier;
  isa::Pipe pipe{};
  unsigned stall = 1;         ///< cycles until the warp's next instruction
  unsigned busy = 1;          ///< cycles until the pipe takes another instruction
  unsigned latency = 0;       ///< until the result is there, where a scoreboard tells
  unsigned sourceLatency = 0; ///< until the sources have been read, where a scoreboard tells

  /// Of an access that no lane makes: it is over when its sources would have been read.
  IssueCost idle() const {
    IssueCost cost = *this;
    cost.latency = cost.sourceLatency;
    cost.usesMemoryUnit = false;
    return cost;
  }
};

inline constexpr std::size_t kPipes = static_cast<std::size_t>(isa::Pipe::Adu) + 1;
inline constexpr unsigned kSchedulers = 4; ///< of a multiprocessor

/// One for each instruction of Program::code. Control words are needed: not for Ori.
std::vector<IssueCost> issueCosts(const Program& program);

} // namespace orias::emu
