#pragma once

#include "ori/analysis/loops.h"
#include "ori/analysis/register_pressure.h"
#include "phases/remat/rematerializable.h"

#include <deque>
#include <optional>
#include <vector>

namespace orias::phases {

/// Where a value is rematerialized, for which uses, and the instructions needed there, the value last.
struct PullInPlace {
  ori::Instr* before = nullptr;
  std::vector<ori::Ref> readers;
  std::vector<ori::VRegId> chain;
};

/// How one value stops being live at a point.
struct PullIn {
  ori::VRegId value = 0;
  unsigned width = 0; ///< registers that are freed
  unsigned cost = 0;  ///< of all clones, with the factors of loops
  unsigned costWithoutLoops = 0;
  unsigned clones = 0; ///< instructions
  std::vector<PullInPlace> places;
  // Sorted, each once:
  std::vector<ori::VRegId> missing; ///< operands that would have to stay live for it
  std::vector<ori::VRegId> leaves;  ///< operands that are used directly at these points
};

/// The point at which a register is to be freed: the instruction of highest pressure in a block, or the end of the
/// block.
struct PressurePoint {
  ori::BlockId block = ori::kNoId;
  const ori::Instr* instr = nullptr; ///< null: the end of the block
};

/// What a plan may contain.
struct PullInRules {
  bool allowsChains = true;
  bool allowsSpecialRegisters = true;
  unsigned loopCostFactor = 20;
  unsigned chainCost = 10; ///< an operand that makes a chain more expensive is kept live instead
};

/// Plans how values stop being live at a point: their uses after it get a clone, one for all uses if that costs no
/// register in a block with too many. Changes nothing; plans are valid until the code changes.
class PullInPlanner {
 public:
  PullInPlanner(ori::Function& function, const ori::Cfg& cfg, const ori::DomTree& dominators, const ori::Loops& loops,
                const ori::Liveness& liveness, const Rematerializer& remat)
      : function_(function), cfg_(cfg), dominators_(dominators), loops_(loops), liveness_(liveness), remat_(remat),
        numberedIn_(cfg.idCount(), 0), regionIndex_(cfg.idCount(), ori::kNoId) {}

  void setRules(const PullInRules& rules) { rules_ = rules; }
  /// To call after each change of the code: forgets what is known about values and positions.
  void codeChanged();
  /// Whether a value can be rematerialized at all, given its operands.
  bool isPossible(ori::VRegId value) const { return factsOf(value).isPossible; }
  /// Whether the rules allow to rematerialize it; for values for which this is possible.
  bool isAllowed(ori::VRegId value) const { return !factsOf(value).isSpecial || rules_.allowsSpecialRegisters; }
  /// The plan for `value` at `point`; empty if some use cannot get a clone. The value is live at the point and can be
  /// rematerialized. `isOver` is true, by block ID, where too many registers are live.
  std::optional<PullIn> plan(ori::VRegId value, const PressurePoint& point, const std::vector<bool>& isOver);
  /// The operands that plans have examined so far: a measure of the time spent.
  std::uint64_t looks() const { return looks_; }
  /// Whether a value can never be rematerialized, neither alone nor for another one, even after other plans have been
  /// executed.
  bool isFixed(ori::VRegId value) const;

 private:
  using Readers = std::vector<ori::Ref>;

  /// Finds the uses after the point; false if some of them cannot be replaced.
  bool collect(ori::VRegId value, const PressurePoint& point);
  void placeAll(const PressurePoint& point, const std::vector<bool>& isOver, PullIn& out);
  /// The first instruction of these readers in one block, other than `other` and phis; null if there is none.
  ori::Instr* firstOf(const Readers& readers, const ori::Instr* other = nullptr) const;
  /// The position of the clone for uses in `block`: before the first of them, or in a dominating block that is in fewer
  /// loops.
  ori::Instr* placeFor(std::size_t index, const PressurePoint& point, const std::vector<bool>& isOver) const;
  /// Whether the value would stay live where too many are, if it were computed in `top` for all uses below.
  bool isOverBelow(ori::BlockId top, const PressurePoint& point, const std::vector<bool>& isOver) const;
  /// The values that are rematerialized before `before`.
  struct Chain {
    const ori::Instr* before = nullptr;
    bool isBelowPoint = false;
    std::vector<ori::VRegId> values;          ///< operands first
    std::vector<ori::VRegId> missing, leaves; ///< PullIn::missing and leaves, in the order in which they were added
    unsigned cost = 0;                        ///< of the values
  };
  /// Cached properties of a register for the current chain.
  struct InChain {
    std::uint32_t failedIn = 0; ///< the chain in which it cannot be computed
    std::uint32_t knownIn = 0;  ///< the chain for which `isLive` is known
    bool isLive = false;        ///< isLiveAt
  };
  /// Cached properties of a value from the rematerializer.
  struct Facts {
    struct Operand {
      ori::VRegId reg;
      bool isKept; ///< has a single value, defined before all its readers in this chain
    };
    ori::VRegId value = 0;
    std::vector<ori::Instr*> definitions;
    std::vector<Operand> operands;
    unsigned cost = 0;
    bool isPossible = false; ///< Rematerializer::whyNot returns null; otherwise only the definitions are valid
    bool isSpecial = false;  ///< reads a special register
  };
  const Facts& factsOf(ori::VRegId value) const;
  InChain& inChain(ori::VRegId reg) const;
  /// Adds `value` and the operands it needs. On failure the chain is incomplete; the caller reverts it.
  bool addChain(ori::VRegId value, Chain& chain, unsigned depth) const;
  bool addOperands(ori::VRegId value, Chain& chain, unsigned depth) const;
  bool isAboveReaders(ori::VRegId operand, const std::vector<ori::Instr*>& definitions) const;
  bool isLiveAt(ori::VRegId reg, const ori::Instr& where, bool isBelowPoint) const;
  bool isLiveInto(ori::BlockId block, ori::VRegId reg) const;
  bool isLiveOutOf(ori::BlockId block, ori::VRegId reg) const;
  /// The position of an instruction in its block.
  std::uint32_t positionOf(const ori::Instr& instr) const;
  bool isDefinedAt(ori::VRegId reg, const ori::Instr& where) const;
  std::uint32_t depthOf(ori::VRegId value) const;
  bool isInRegion(ori::BlockId id) const { return regionIndex_[id] != ori::kNoId; }

  ori::Function& function_;
  const ori::Cfg& cfg_;
  const ori::DomTree& dominators_;
  const ori::Loops& loops_;
  const ori::Liveness& liveness_;
  const Rematerializer& remat_;
  PullInRules rules_;
  std::uint32_t version_ = 1;                     ///< of the code
  mutable std::vector<std::uint32_t> numberedIn_; ///< by block id: the version for which its positions are known
  mutable std::vector<std::uint32_t> positions_;  ///< by instruction, valid in the queried blocks
  mutable std::deque<Facts> facts_;               ///< the first `factCount_` are valid
  mutable std::size_t factCount_ = 0;
  mutable std::vector<std::uint32_t> factsAt_; ///< by virtual register: where in facts_, if that names it
  mutable std::uint64_t looks_ = 0;
  std::uint32_t chain_ = 0;              ///< the number of the current chain
  mutable std::vector<InChain> inChain_; ///< by virtual register
  // Of the current value:
  std::vector<ori::BlockId> region_;       ///< blocks after the point that it is live into
  std::vector<std::uint32_t> regionIndex_; ///< by block id: in region_, or kNoId
  std::vector<Readers> inRegion_;          ///< uses, by index in region_; may be longer
  Readers below_;                          ///< uses in the block of the point, after it
};

} // namespace orias::phases
