#pragma once

#include "ori/analysis/liveness.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace orias::regalloc {

/// `R`, `UR`, `P`, `UP` or `B`.
std::string_view fileName(isa::File file);

/// Program points. Instruction number i (in layout order) reads its sources at point 2i and writes its results at 2i +
/// 1, so a result may take the register of a source that dies there.
using Point = std::uint32_t;

struct Segment {
  Point start = 0;
  Point end = 0; ///< exclusive
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// Where a value is live: disjoint segments in ascending order, adjacent ones merged.
class Range {
 public:
  std::span<const Segment> segments() const { return segments_; }
  bool empty() const { return segments_.empty(); }
  Point start() const { return segments_.front().start; }
  Point end() const { return segments_.back().end; }
  /// Number of points covered.
  std::uint64_t length() const;
  bool overlaps(const Range& other) const;
  bool contains(Point point) const;
  bool covers(const Range& other) const;
  void add(Segment segment); ///< at any position
  void unite(const Range& other);
  /// For construction from the end: until reverse(), no existing segment is after `segment`.
  void addBefore(Segment segment);
  void reverse();

 private:
  std::vector<Segment>::const_iterator firstEndingAfter(Point point) const;

  std::vector<Segment> segments_;
};

/// The highest number of ranges that cover one point, all below `pointCount`; forEachRange(f) calls f with each range.
template <typename ForEachRange> unsigned mostAtOnce(Point pointCount, ForEachRange&& forEachRange) {
  std::vector<std::int32_t> change(pointCount + 1, 0);
  forEachRange([&](const Range& range) {
    for (Segment s : range.segments()) {
      ++change[s.start];
      --change[s.end];
    }
  });
  std::int32_t now = 0, most = 0;
  for (std::int32_t c : change)
    most = std::max(most, now += c);
  return static_cast<unsigned>(most);
}

/// Whether an operand uses a virtual register of a file: as itself, or as the base of a bindless constant.
inline bool namesVirtual(const isa::Operand& o, isa::File file) {
  return o.isVirtual() && o.file == file && o.reg != isa::Operand::kNoReg;
}
/// How many registers the operand uses. The width of a bindless constant is that of its data.
inline unsigned registersOf(const isa::Operand& o) {
  return o.isReg() ? o.width : 1;
}

/// The input of the live ranges of all files: control flow, liveness, and instruction numbers. A snapshot, which code
/// changes make stale.
class NumberedCode {
 public:
  explicit NumberedCode(const ori::Function& function);
  NumberedCode(const NumberedCode&) = delete;
  NumberedCode& operator=(const NumberedCode&) = delete;

  const ori::Function& function() const { return cfg_.function(); }
  const ori::Cfg& cfg() const { return cfg_; }
  const ori::Liveness& liveness() const { return liveness_; }
  std::uint32_t number(const ori::Instr& instr) const { return number_[instr.id]; }
  /// Whether the instruction existed when the numbers were assigned.
  bool isNumbered(const ori::Instr& instr) const { return instr.id < number_.size(); }
  ori::Instr* instr(std::uint32_t number) const { return order_[number]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(order_.size()); }
  /// Whether no instruction, block or register has been created since. Existing ones may have changed.
  bool hasAll() const {
    return number_.size() == function().instrIdCount() && vregs_ == function().vregCount() &&
           cfg_.idCount() == function().blockIdCount();
  }
  /// For each side of a branch, the points that run before its lanes reconverge.
  using Sides = std::vector<Range>;
  /// The sides of all branches with several, and the code after each YIELD; computed on first use.
  const std::vector<Sides>& sidesOfBranches() const;

 private:
  const ori::Cfg& cfg_;
  const ori::Liveness& liveness_;
  std::size_t vregs_;
  std::vector<std::uint32_t> number_; // by instruction id
  std::vector<ori::Instr*> order_;
  mutable bool areSidesKnown_ = false;
  mutable std::uint64_t sidesFlow_ = 0, sidesCode_ = 0; // change counts for which sides_ is valid
  mutable std::vector<Sides> sides_;
};

/// Live ranges of all components of all virtual registers of one register file, over the layout of a function.
///
/// A guarded definition ends the range before it only if there is no use of the old value where the guard is false
/// (ori/analysis/liveness.h). A value is live only where some definition can reach: the range of a register that is
/// only written under guards does not extend to the entry.
/// A register that no instruction reads has an empty range, unless a debugger may read it: its results go to the zero
/// register. The values of UR, UP and B exist once per warp. While a warp is diverged, the sides of the branch run in
/// sequence in any order, so a value that is live on one side is live throughout the other sides.
class LiveRanges {
 public:
  LiveRanges(const ori::Function& function, isa::File file, bool keepsUnread = false)
      : LiveRanges(std::make_shared<const NumberedCode>(function), file, keepsUnread) {}
  /// The live ranges of one file, for code shared by several files.
  LiveRanges(std::shared_ptr<const NumberedCode> code, isa::File file, bool keepsUnread = false);

  const Range& component(ori::VRegId reg, unsigned index) const { return units_[firstUnit_[reg] + index]; }
  bool isLiveAnywhere(ori::VRegId reg) const;
  /// Whether the register (the instruction) existed when the ranges were computed.
  bool knows(ori::VRegId reg) const { return reg < firstUnit_.size(); }
  bool isNumbered(const ori::Instr& instr) const { return code_->isNumbered(instr); }
  Point pointCount() const { return 2 * code_->count(); }
  /// The point at which the instruction reads its sources.
  Point usePoint(const ori::Instr& instr) const { return 2 * code_->number(instr); }
  Point defPoint(const ori::Instr& instr) const { return 2 * code_->number(instr) + 1; }
  /// The most components that are live at one point.
  unsigned mostLive() const;
  ori::Instr* instrAt(Point point) const { return code_->instr(point / 2); }

 private:
  void build(isa::File file, bool keepsUnread);
  void extendOverDivergence();

  std::shared_ptr<const NumberedCode> code_;
  std::vector<std::uint32_t> firstUnit_; // by vreg
  std::vector<Range> units_;
};

} // namespace orias::regalloc
