#pragma once

// Which values the instructions of a region define, use and kill, in any order. For schedulers that need the register
// pressure of a schedule.

#include "ori/analysis/live_counter.h"
#include "ori/analysis/liveness.h"

#include <array>
#include <memory>
#include <span>
#include <vector>

namespace orias::phases {

/// The register files whose pressure a schedule can raise.
inline constexpr std::array<isa::File, 4> kScheduledFiles = {isa::File::R, isa::File::P, isa::File::UR, isa::File::UP};
inline constexpr std::size_t kR = 0, kP = 1; ///< indices into kScheduledFiles
using RegionCounts = std::array<unsigned, kScheduledFiles.size()>;

/// The values of a region: segments of the live ranges of components. A register that is written several times has one
/// value for each unguarded write; dependences keep these apart in every schedule.
class RegionValues {
 public:
  struct Value {
    std::uint8_t file = 0;     ///< index into kScheduledFiles
    bool isLiveBefore = false; ///< not defined in the region
    bool isLiveAfter = false;
    std::uint32_t touches = 0; ///< instructions that use it or write components of it, except its definition
  };
  struct Ref {
    std::uint32_t value;
    bool begins; ///< the instruction begins the value; otherwise it reads it
  };

  RegionValues() = default;
  /// `behind` has been moved up to the end of the region: registers live there are used or preserved later.
  RegionValues(std::span<ori::Instr* const> region, const ori::Liveness& liveness, const ori::LiveCounter& after);
  /// The live registers before the region, by file.
  void setLiveBefore(const ori::FileCounts& counts);

  std::size_t nodeCount() const { return starts_.size() - 1; }
  const std::vector<Value>& values() const { return values_; }
  /// Each value at most once.
  std::span<const Ref> refs(std::uint32_t node) const {
    return {refs_.data() + starts_[node], refs_.data() + starts_[node + 1]};
  }
  /// Registers live through the region and not referenced in it.
  const RegionCounts& liveThrough() const { return liveThrough_; }
  /// No schedule of the region needs more.
  RegionCounts bound() const;
  /// The highest number of values that are live at the same time in a schedule.
  RegionCounts peak(std::span<const std::uint32_t> order) const;

 private:
  class Finder;

  std::vector<Value> values_;
  std::vector<Ref> refs_;
  std::vector<std::uint32_t> starts_{0};
  RegionCounts liveThrough_{};
};

/// By how much an instruction changes the live registers of each file.
using RegionChange = std::array<std::int16_t, kScheduledFiles.size()>;

/// Tracks the pressure while instructions are issued from the first to the last.
class ForwardPressure {
 public:
  explicit ForwardPressure(const RegionValues& values);
  /// The change of live registers of a file after the instruction if it issues now.
  const RegionChange& change(std::uint32_t node) const { return changes_[node]; }
  void issue(std::uint32_t node);
  const RegionCounts& live() const { return live_; }
  const RegionCounts& peak() const { return peak_; }

 private:
  struct Left {
    std::uint32_t touches = 0; ///< remaining
    std::uint32_t nodes = 0;   ///< XOR of the remaining instructions: with one touch left, the instruction itself
  };

  const RegionValues* values_;
  std::vector<Left> left_;            // by value
  std::vector<RegionChange> changes_; // by instruction, for those that have not been issued
  RegionCounts live_, peak_;
};

/// Tracks the pressure while instructions are placed from the last to the first.
class BackwardPressure {
 public:
  explicit BackwardPressure(const RegionValues& values);
  /// The change of live registers of a file before the instruction if it is placed now.
  const RegionChange& change(std::uint32_t node) const { return changes_[node]; }
  void place(std::uint32_t node);
  const RegionCounts& live() const { return live_; }
  const RegionCounts& peak() const { return peak_; }

 private:
  void begin(std::uint32_t value);

  const RegionValues* values_;
  /// The instructions that use or begin each value; copies share it.
  struct Touching {
    std::vector<std::uint32_t> starts; ///< by value, into nodes
    std::vector<std::uint32_t> nodes;
  };

  std::vector<bool> isLive_; // by value
  std::shared_ptr<const Touching> touching_;
  std::vector<RegionChange> changes_; // by instruction, for those that have not been placed
  RegionCounts live_, peak_;
};

} // namespace orias::phases
