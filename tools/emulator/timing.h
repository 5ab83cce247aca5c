#pragma once

#include "encoder/isa/effects.h"
#include "tools/emulator/operation.h"
#include "tools/emulator/warp.h"

#include <string>
#include <vector>

namespace orias::emu {

/// When results become visible, for code with control words: a register is written when the latency tables say so, or,
/// if nobody knows when, once an instruction has waited for its scoreboard. Until then readers see the old value. Time
/// is counted for each warp by the stall counts alone: no result is ever early, and none comes for other reasons than
/// the control words. Two writes in the wrong order leave the first one's value, and an instruction whose sources were
/// overwritten before it had read them reads the new ones. Each of these is reported as well.
///
/// The machine's registers always hold the newest values; what stands here are the values from before. Memory and
/// convergence barriers are not timed.
class Timing {
 public:
  /// Throws orias::Error for Ori: there are no control words in it that could be trusted.
  Timing(const Program& program, const Code& code);

  /// All warps of a cluster start with nothing under way.
  void start(unsigned warps);

  // --- one instruction, in this order

  /// Its turn comes: waits for scoreboards, and lets go what has arrived.
  void issue(Warp& warp, std::uint32_t at);
  /// True if the instruction stalls for fewer cycles than it takes to have an effect on the next one.
  bool isCutShort() const { return steps_[at_].isCutShort; }
  /// The bits of a guard as this instruction reads them.
  std::uint32_t guardBits(const Operation& op, std::uint32_t bits, std::uint32_t lanes);
  /// The bits of any predicate (P2R reads them all).
  std::uint32_t predicateBits(unsigned predicate, std::uint32_t bits, std::uint32_t lanes);
  /// The register behind Operation::reads[index], a row of 32 lanes, as these lanes read it. The result is good until
  /// the next instruction.
  const std::uint32_t* rowSeen(const Operation& op, unsigned index, const std::uint32_t* row, std::uint32_t lanes);
  /// The same for registers that are one word: predicates (by lane), uniform registers.
  std::uint32_t wordSeen(const Operation& op, unsigned index, std::uint32_t word, std::uint32_t lanes);
  /// It is about to write.
  void begin(std::uint32_t lanes);
  /// It has written. What it wrote over too early is in replays() then.
  void end();

  struct Replay {
    std::uint32_t at = 0;
    std::uint32_t lanes = 0;
  };
  /// Instructions that read their sources only now.
  const std::vector<Replay>& replays() const { return replays_; }
  /// What was wrong with the last instruction; the caller clears it.
  std::vector<std::string>& findings() { return findings_; }

 private:
  using Unit = std::uint16_t; ///< file << 8 | row
  static constexpr std::size_t kUnits = isa::kFileCount << 8;
  static constexpr unsigned kScoreboards = 6;

  /// What an instruction does to one register.
  struct Touch {
    Unit unit = 0;
    std::uint8_t slot = 0, word = 0; ///< of a source: of Operation::reads
    bool isDef = false;
    bool isLate = false;  ///< only a scoreboard tells when it is over
    bool isNamed = false; ///< an operand names it
    bool lingers = false; ///< a read for which some writers have to wait a while
    isa::Access access;
  };
  struct Step {
    std::uint32_t first = 0, end = 0; ///< in touches_
    isa::LatencyClass latencyClass = isa::LatencyClass::None;
    std::int8_t waitScoreboard = -1; ///< DEPBAR.LE
    std::uint8_t waitCount = 0;
    bool isCutShort = false; ///< stalls for fewer cycles than it needs
  };
  /// A write or read that is under way.
  struct Pending {
    Unit unit = 0;
    bool isWrite = false, isLate = false;
    std::uint8_t cover = 0;   ///< waiting for any of these scoreboards ends it
    std::uint8_t counted = 0; ///< scoreboards that it or a later instruction of its queue took to tell of its end
    std::array<std::uint8_t, kScoreboards> younger{}; ///< for each of `counted`: how many of that queue took it later
    isa::Access access;
    std::uint32_t producer = 0;
    std::uint32_t lanes = 0;
    std::int64_t issued = 0;
    std::array<std::int64_t, kScoreboards> coveredSince{};
    std::uint32_t values = 0; ///< of a write: index of the old ones in Clock::rows
  };
  using Row = std::array<std::uint32_t, kLanes>; ///< registers that are one word use the first only
  struct Clock {
    std::int64_t now = 0;
    std::vector<Pending> pending; ///< in the order of issue
    std::array<std::uint8_t, kUnits> count{};
    std::int64_t nextArrival = 0; ///< nothing of fixed latency arrives before
    std::vector<Row> rows;
    std::vector<std::uint32_t> freeRows;
  };
  /// What a write that came too early is to leave.
  struct Lost {
    Unit unit = 0;
    std::uint32_t lanes = 0;
    Row values;
  };

  static Unit unitOf(isa::File file, std::uint32_t row) {
    return static_cast<Unit>(static_cast<unsigned>(file) << 8 | (row & 0xff));
  }
  static isa::File fileOf(Unit unit) { return static_cast<isa::File>(unit >> 8); }
  static std::uint8_t bit(std::uint8_t scoreboard) {
    return scoreboard < kScoreboards ? static_cast<std::uint8_t>(1u << scoreboard) : 0;
  }

  void add(const isa::Inst& inst, Step& step);
  template <typename Ends> void remove(Ends&& ends);
  void waitForCount(const Step& step);
  const Touch* touchOf(const Operation& op, unsigned read) const;
  bool isVisible(const Pending& pending, const isa::Access& reader) const;
  /// Calls f(pending, lanes) for each write that these lanes do not see yet, newest first.
  template <typename F> void forEachUnseen(Unit unit, const isa::Access& reader, std::uint32_t lanes, F&& f);
  std::uint32_t bitsSeen(Unit unit, const isa::Access& reader, std::uint32_t bits, std::uint32_t lanes);
  void checkWrite(const Touch& touch, std::uint32_t lanes);
  void checkOverwrite(const Touch& touch, const Pending& pending, std::uint32_t lanes, std::uint32_t& lost);
  void track(const Touch& touch, std::uint32_t lanes);
  void takeScoreboards();
  std::uint32_t* row(Unit unit);
  std::uint32_t keep(Unit unit);
  void report(const Pending& pending, unsigned needed, const char* what);

  const Program& program_;
  const isa::Target& target_;
  std::vector<Touch> touches_;
  std::vector<Step> steps_;
  std::vector<Clock> clocks_;
  std::vector<std::string> findings_;
  std::vector<Replay> replays_;

  // The instruction that runs.
  Warp* warp_ = nullptr;
  Clock* clock_ = nullptr;
  std::uint32_t at_ = 0;
  std::vector<Lost> lost_;
  std::array<Row, kMostReads> seen_;
};

} // namespace orias::emu
