#pragma once

#include "tools/emulator/program.h"

#include <vector>

namespace orias::emu {

/// The properties of an instruction that the time estimates use, independent of the issuing warp: its control word, and
/// the figures of its latency class. README.md lists the sources of the figures.
struct IssueCost {
  enum class Kind : std::uint8_t {
    Plain,
    ScoreboardWait, ///< DEPBAR.LE: waits until at most `count` results of `scoreboard` are pending
    Copy,           ///< LDGSTS
    CopyGroup,      ///< LDGDEPBAR: its scoreboard signals the copies before it
    Product,        ///< HGMMA and similar: asynchronous
    ProductWait     ///< WARPGROUP.DEPBAR.LE: waits until at most `count` groups of products are pending
  };
  Kind kind = Kind::Plain;
  bool closesGroup = false;    ///< Product: the last one of its group
  bool usesMemoryUnit = false; ///< uses the queue of loads, stores and shuffles
  std::uint8_t scoreboard = 0; ///< ScoreboardWait
  std::uint8_t count = 0;      ///< ScoreboardWait, ProductWait
  std::uint8_t awaited = 0;    ///< scoreboards to wait for, by bit
  std::uint8_t writeBarrier = isa::Control::kNoBarrier, readBarrier = isa::Control::kNoBarrier;
  isa::Pipe pipe{};
  unsigned stall = 1;         ///< cycles until the warp's next instruction
  unsigned busy = 1;          ///< cycles until the pipe takes another instruction
  unsigned latency = 0;       ///< cycles until the result is available, if a scoreboard signals it
  unsigned sourceLatency = 0; ///< cycles until the sources have been read, if a scoreboard signals it

  /// The cost of an access with no active lanes: it ends when its sources would have been read.
  IssueCost idle() const {
    IssueCost cost = *this;
    cost.latency = cost.sourceLatency;
    cost.usesMemoryUnit = false;
    return cost;
  }
};

inline constexpr std::size_t kPipes = static_cast<std::size_t>(isa::Pipe::Adu) + 1;
inline constexpr unsigned kSchedulers = 4; ///< per multiprocessor

/// One for each instruction of Program::code. Requires control words, so not for Ori.
std::vector<IssueCost> issueCosts(const Program& program);

} // namespace orias::emu
