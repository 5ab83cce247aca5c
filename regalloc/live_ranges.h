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
  void add(Segment segment); ///< anywhere
  void unite(const Range& other);
  /// For construction from the end: after reverse(), no existing segment is after `segment`.
  void addBefore(Segment segment);
  void reverse();

 private:
  std::vector<Segment>::const_iterator firstEndingAfter(Point point) const;

  std::vector<Segment> segments_;
};

/// The most of some ranges that cover one point, all below `pointCount`; forEachRange(f) calls f with each.
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

/// Whether an operand names a virtual register of a file: as itself, or as the base of a bindless constant.
inline bool namesVirtual(const isa::Operand& o, isa::File file) {
  return o.isVirtual() && o.file == file && o.reg != isa::Operand::kNoReg;
}
/// How many registers it names. The width of a bindless constant is that of the data.
inline unsigned registersOf(const isa::Operand& o) {
  return o.isReg() ? o.width : 1;
}

/// What the live ranges of all files are made from: control flow, liveness, and numbers of the instructions. A
/// snapshot; whoever changes the code makes a new one.
class NumberedCode {
 public:
  explicit NumberedCode(const ori::Function& function);
  NumberedCode(const NumberedCode&) = delete;
  NumberedCode& operator=(const NumberedCode&) = delete;

  const ori::Function& function() const { return cfg_.function(); }
  const ori::Cfg& cfg() const { return cfg_; }
  const ori::Liveness& liveness() const { return liveness_; }
  std::uint32_t number(const ori::Instr& instr) const { return number_[instr.id]; }
  /// Whether the instruction was there when the numbers were given.
  bool isNumbered(const ori::Instr& instr) const { return instr.id < number_.size(); }
  ori::Instr* instr(std::uint32_t number) const { return order_[number]; }
  std::uint32_t count() const { return static_cast<std::uint32_t>(order_.size()); }
  /// No instruction, block or register has been made since. Others may have changed all the same.
  bool hasAll() const {
    return number_.size() == function().instrIdCount() && vregs_ == function().vregCount() &&
           cfg_.idCount() == function().blockIdCount();
  }
  /// What runs before lanes meet again behind a branch, on each side of it.
  using Sides = std::vector<Range>;
  /// Of all branches with several sides, and of what stands behind a YIELD; made when first asked for.
  const std::vector<Sides>& sidesOfBranches() const;

 private:
  const ori::Cfg& cfg_;
  const ori::Liveness& liveness_;
  std::size_t vregs_;
  std::vector<std::uint32_t> number_; // by instruction id
  std::vector<ori::Instr*> order_;
  mutable bool areSidesKnown_ = false;
  mutable std::uint64_t sidesFlow_ = 0, sidesCode_ = 0; // counts of changes that sides_ holds for
  mutable std::vector<Sides> sides_;
};

/// Live ranges of all components of all virtual registers of one register file, over the layout of a function.
///
/// A guarded definition ends the range above it only if there is no use of the old value where the guard is false
/// (ori/analysis/liveness.h), and a value is live only where some definition can have reached: a register that is only
/// ever written under guards does not stretch to the entry.
/// A register that no instruction reads has an empty range, unless a debugger may read it: the zero register takes its
/// place. The values of UR, UP and B exist once per warp: while a warp is diverged, the arms of the
/// branch run one after the other in any order, so a value that is live on one side is live throughout the other sides.
class LiveRanges {
 public:
  LiveRanges(const ori::Function& function, isa::File file, bool keepsUnread = false)
      : LiveRanges(std::make_shared<const NumberedCode>(function), file, keepsUnread) {}
  /// For several files of the same code.
  LiveRanges(std::shared_ptr<const NumberedCode> code, isa::File file, bool keepsUnread = false);

  const Range& component(ori::VRegId reg, unsigned index) const { return units_[firstUnit_[reg] + index]; }
  bool isLiveAnywhere(ori::VRegId reg) const;
  /// Whether the register and the instruction were there when the ranges were made.
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
