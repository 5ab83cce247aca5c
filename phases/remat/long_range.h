#pragma once

// Which values 64-bit integers can have, as one signed interval: from their definitions, from the branches that lead to
// their uses, and from exit tests of loops. For SSA form, after phase 45: a long value is two words, and its additions
// are two instructions linked by a carry.

#include "ori/analysis/dominators.h"
#include "ori/analysis/loops.h"
#include "phases/induction_variables.h"
#include "phases/optimize/rewriter.h"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace orias::phases {

/// A 64-bit value: two words, which need not be in one register.
struct Long {
  isa::Operand low, high;
  bool operator==(const Long&) const = default;
};

/// All signed values from `least` to `most`.
struct LongRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool fitsUnsigned() const { return least >= 0 && most <= 0xffffffff; }
  bool fitsSigned() const { return least >= -0x80000000LL && most <= 0x7fffffff; }
};

/// A loop-carried long value: two phis of the loop header.
struct LongCounter {
  ori::LoopId loop = ori::kNoId;
  ori::Instr *lowPhi = nullptr, *highPhi = nullptr;
  Long value, first, next;
  std::optional<LongRange> range; ///< of `value`; nothing when it is not known
};

/// Two comparisons that form one of long values.
struct LongComparison {
  ori::Instr *low = nullptr, *high = nullptr; ///< ISETP, ISETP.EX
  Long left, right;
  isa::ICmp comparison{};
  bool isSigned = false;
};

/// Numbers long values.
using LongKey = std::pair<std::uint64_t, std::uint64_t>;

/// Ranges of long values; a snapshot.
class LongRanges {
 public:
  LongRanges(const Rewriter& rewriter, const ori::Cfg& cfg, const ori::DomTree& dominators, const ori::Loops& loops);

  /// The range of a value where the block reads it.
  std::optional<LongRange> of(const Long& value, ori::BlockId at) const { return rangeOf(value, at, 0); }
  /// The difference of a value of a loop from an induction variable in the same iteration.
  std::optional<LongRange> distance(const LongCounter& counter, const Long& value) const;
  /// The long counters of all loops with one entry and one backedge.
  const std::vector<LongCounter>& counters() const { return counters_; }
  /// The long sum whose high word the instruction computes; empty if it is not an addition.
  std::optional<Long> sumOf(const ori::Instr& highSum) const;
  std::optional<LongComparison> comparisonOf(ori::Instr& highCompare) const;

 private:
  struct Sum {
    Long terms[2];
    bool negated[2] = {false, false};
    unsigned count = 0;
  };
  /// A fact on a path to a block: a comparison, of long values or of words.
  struct Fact {
    Long left, right;
    bool isLong = false, isSigned = false;
    isa::ICmp comparison{};
  };
  struct Word {
    std::int64_t least, most;             ///< unsigned
    std::int64_t signedLeast, signedMost; ///< signed
  };

  void findCounters(ori::LoopId loop);
  void boundCounters(ori::LoopId loop, std::vector<LongCounter>& counters) const;
  std::optional<LongRange> boundByTests(const LongCounter& counter, const LongRange& first,
                                        const LongRange& step) const;
  std::optional<std::int64_t> shortTrips(ori::LoopId loop) const;
  std::int64_t orderedTrips(const ExitTest& test, const Counter& counter, ori::BlockId from) const;

  std::optional<LongRange> rangeOf(const Long& value, ori::BlockId at, unsigned depth) const;
  std::optional<LongRange> computed(const Long& value, unsigned depth) const;
  std::optional<LongRange> compute(const Long& value, unsigned depth) const;
  std::optional<LongRange> ofPhi(const ori::Instr& low, const ori::Instr& high, unsigned depth) const;
  std::optional<LongRange> ofProduct(const ori::Instr& wide, unsigned depth) const;
  std::optional<LongRange> ofShift(const ori::Instr& low, const ori::Instr& high, unsigned depth) const;
  std::optional<LongRange> ofShiftedSum(const ori::Instr& low, const ori::Instr& high, unsigned depth) const;
  std::optional<LongRange> ofTerms(const Sum& sum, ori::BlockId at, unsigned depth) const;
  void refine(std::optional<LongRange>& range, const Long& value, ori::BlockId at, unsigned depth) const;
  Word wordRange(const isa::Operand& word, ori::BlockId at) const;
  std::optional<LongRange> distance(const LongCounter& counter, const Long& value, unsigned depth) const;
  std::optional<LongRange> computeDistance(const LongCounter& counter, const Long& value, unsigned depth) const;

  Long resolved(const Long& value) const;
  isa::Operand resolved(isa::Operand word) const;
  std::vector<Sum> sumsOf(const Long& value) const;
  const std::vector<Fact>& factsAt(ori::BlockId at) const;
  std::optional<Fact> factOf(const isa::Operand& predicate, bool holds) const;
  static void narrow(LongRange& range, isa::ICmp comparison, bool isSigned, const LongRange& limit);

  const Rewriter& rewriter_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  std::vector<LongCounter> counters_;
  std::map<std::pair<const ori::Instr*, const ori::Instr*>, std::size_t> counterOf_; ///< by the phis
  mutable std::map<ori::BlockId, std::vector<Fact>> facts_;
  mutable std::map<LongKey, std::optional<LongRange>> computed_;
  mutable std::map<std::pair<const ori::Instr*, LongKey>, std::optional<LongRange>> distances_;
  mutable std::optional<Definitions> definitions_;
};

} // namespace orias::phases
