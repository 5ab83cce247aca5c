#pragma once

#include "encoder/isa/effects.h"
#include "tools/emulator/operation.h"
#include "tools/emulator/warp.h"

#include <string>
#include <vector>

namespace orias::emu {

/// Models when results become visible, for code with control words. A register is written according to the latency
/// tables, or, for variable latency, once an instruction has waited for its scoreboard. Until then readers see the old
/// value. Time is counted for each warp by the stall counts alone: no result arrives early, or for other reasons than
/// the control words. Two writes in the wrong order leave the value of the first one. An instruction whose sources were
/// overwritten before it read them reads the new values. Each of these is also reported.
///
/// The machine's registers always hold the newest values; this class keeps the older ones. Memory and convergence
/// barriers are not timed.
class Timing {
 public:
  /// Throws orias::Error for Ori, which has no reliable control words.
  Timing(const Program& program, const Code& code);

  /// All warps of a cluster start with nothing in flight.
  void start(unsigned warps);

  // --- one instruction, in this order

  /// Issues the instruction: waits for scoreboards, and releases results that have arrived.
  void issue(Warp& warp, std::uint32_t at);
  /// True if the instruction stalls for fewer cycles than it needs to affect the next one.
  bool isCutShort() const { return steps_[at_].isCutShort; }
  /// The bits of a guard as this instruction reads them.
  std::uint32_t guardBits(const Operation& op, std::uint32_t bits, std::uint32_t lanes);
  /// The bits of any predicate (P2R reads them all).
  std::uint32_t predicateBits(unsigned predicate, std::uint32_t bits, std::uint32_t lanes);
  /// The register of Operation::reads[index], a row of 32 lanes, as these lanes see it. The result is valid until the
  /// next instruction.
  const std::uint32_t* rowSeen(const Operation& op, unsigned index, const std::uint32_t* row, std::uint32_t lanes);
  /// Likewise for registers of one word: predicates (by lane), uniform registers.
  std::uint32_t wordSeen(const Operation& op, unsigned index, std::uint32_t word, std::uint32_t lanes);
  /// Call before the instruction writes.
  void begin(std::uint32_t lanes);
  /// Call after it has written. replays() then has the instructions whose sources it overwrote too early.
  void end();

  struct Replay {
    std::uint32_t at = 0;
    std::uint32_t lanes = 0;
  };
  /// Instructions that read their sources only now.
  const std::vector<Replay>& replays() const { return replays_; }
  /// The hazards of the last instruction; the caller clears them.
  std::vector<std::string>& findings() { return findings_; }

 private:
  using Unit = std::uint16_t; ///< file << 8 | row
  static constexpr std::size_t kUnits = isa::kFileCount << 8;
  static constexpr unsigned kScoreboards = 6;

  /// An access of an instruction to one register.
  struct Touch {
    Unit unit = 0;
    std::uint8_t slot = 0, word = 0; ///< for a source: index in Operation::reads
    bool isDef = false;
    bool isLate = false;  ///< completion is signaled only by a scoreboard
    bool isNamed = false; ///< an explicit operand
    bool lingers = false; ///< a read that some writers have to wait for
    isa::Access access;
  };
  struct Step {
    std::uint32_t first = 0, end = 0; ///< in touches_
    isa::LatencyClass latencyClass = isa::LatencyClass::None;
    std::int8_t waitScoreboard = -1; ///< DEPBAR.LE
    std::uint8_t waitCount = 0;
    bool isCutShort = false; ///< stalls for fewer cycles than required
  };
  /// A write or read in flight.
  struct Pending {
    Unit unit = 0;
    bool isWrite = false, isLate = false;
    std::uint8_t cover = 0;   ///< waiting for any of these scoreboards completes it
    std::uint8_t counted = 0; ///< scoreboards of it or of later instructions of its queue that signal its completion
    std::array<std::uint8_t, kScoreboards> younger{}; ///< for each of `counted`: later instructions of the queue with
                                                      /// it
    isa::Access access;
    std::uint32_t producer = 0;
    std::uint32_t lanes = 0;
    std::int64_t issued = 0;
    std::array<std::int64_t, kScoreboards> coveredSince{};
    std::uint32_t values = 0; ///< for a write: index of the old values in Clock::rows
  };
  using Row = std::array<std::uint32_t, kLanes>; ///< one-word registers use only the first
  struct Clock {
    std::int64_t now = 0;
    std::vector<Pending> pending; ///< in the order of issue
    std::array<std::uint8_t, kUnits> count{};
    std::int64_t nextArrival = 0; ///< no fixed-latency result arrives earlier
    std::vector<Row> rows;
    std::vector<std::uint32_t> freeRows;
  };
  /// The value that remains after a write that came too early.
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
  /// Calls f(pending, lanes) for each write that is not yet visible to these lanes, newest first.
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

  // The current instruction.
  Warp* warp_ = nullptr;
  Clock* clock_ = nullptr;
  std::uint32_t at_ = 0;
  std::vector<Lost> lost_;
  std::array<Row, kMaxReads> seen_;
};

} // namespace orias::emu
