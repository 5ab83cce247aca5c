#include "regalloc/predicate_packing.h"

#include "ori/builder.h"
#include "regalloc/live_ranges.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

namespace orias::regalloc {

using isa::File;
using isa::Op;
using ori::Instr;
using ori::Operand;
using ori::VRegId;
using IsaOperand = isa::Operand;

namespace {

/// Operands of the SEL that spills a predicate, of the ISETP that reloads it, and of IADD3.X.
constexpr unsigned kSpilled = 3, kReloadedWord = 2, kSum = 0, kOldWord = 3, kCarry = 6;

/// Predicates that live for fewer instructions, in one block, are not packed: each spill waits for the one before it.
/// With 256, a kernel with 901 values alive (triton_argmax) takes 1.73 times the cycles of ptxas, with 1,000 1.48
/// times.
constexpr std::uint32_t kMinLength = 1000;

class Packer {
 public:
  Packer(ori::Function& function, SpillState& state) : function_(function), state_(state) {}

  bool run(const PressureGain& isWorth) {
    for (const ori::Block* block : function_.layout())
      for (const Instr& instr : *block)
        if (instr.op == Op::SEL && state_.assignment.fileMove(instr)) return pack(isWorth);
    return false;
  }

 private:
  /// A predicate that is spilled in the current block.
  struct Spilled {
    Instr* store = nullptr;
    std::vector<Instr*> reloads;
    std::uint32_t lastUse = 0; ///< number of the last reload in the block; ~0u: it is read elsewhere, or above
  };
  using Group = std::vector<Spilled>; ///< predicates that share a register

  bool pack(const PressureGain& isWorth) {
    std::vector<Group> groups;
    for (ori::Block* block : function_.layout())
      findGroups(*block, groups);
    if (groups.empty()) return false;
    const LiveRanges ranges(function_, File::R);
    if (!isWorth(ranges.mostLive(), peakAfter(groups, ranges))) return false;
    for (const Group& group : groups)
      pack(group);
    return true;
  }

  /// The highest pressure of file R with the groups packed.
  unsigned peakAfter(const std::vector<Group>& groups, const LiveRanges& ranges) const {
    std::vector<bool> isPacked(function_.vregCount(), false);
    std::vector<Range> words;
    for (const Group& group : groups) {
      Range& whole = words.emplace_back();
      for (const Spilled& spilled : group) {
        const VRegId word = spilled.store->op_(0).reg;
        isPacked[word] = true;
        whole.unite(ranges.component(word, 0));
      }
    }
    return mostAtOnce(ranges.pointCount(), [&](auto&& f) {
      for (VRegId v = 0; v < function_.vregCount(); ++v)
        for (unsigned i = 0; function_.vreg(v).file == File::R && !isPacked[v] && i < function_.vreg(v).width; ++i)
          f(ranges.component(v, i));
      std::ranges::for_each(words, f);
    });
  }

  void findGroups(ori::Block& block, std::vector<Group>& groups) {
    std::uint32_t number = 0, stores = 0;
    for (const Instr& instr : block) {
      numbers_[&instr] = number++;
      stores += instr.op == Op::SEL && state_.assignment.fileMove(instr);
    }
    if (stores < 2) return;
    Group group;
    std::uint32_t end = 0; // the last use of the group
    const auto finish = [&] {
      if (group.size() > 1) groups.push_back(std::move(group));
      group.clear();
      end = 0;
    };
    for (Instr& instr : block) {
      std::optional<Spilled> spilled = spilledBy(instr);
      if (!spilled) continue;
      // Where all predicates of the group are dead, a new group needs no more registers.
      if (group.size() == kMaxPackedPredicates || end < numbers_.at(&instr)) finish();
      end = std::max(end, spilled->lastUse);
      group.push_back(std::move(*spilled));
    }
    finish();
  }

  std::optional<Spilled> spilledBy(Instr& store) const {
    if (store.op != Op::SEL || store.isGuarded() || !state_.assignment.fileMove(store)) return std::nullopt;
    const Operand& word = store.op_(0);
    if (!word.isVirtual() || !word.isReg(File::R) || function_.vreg(word.reg).width != 1 ||
        function_.singleDef(word.reg) != &store || !store.op_(kSpilled).isVirtual())
      return std::nullopt;
    Spilled spilled{&store, {}, 0};
    bool isPackable = true;
    function_.forEachUse(word.reg, [&](ori::Ref use) {
      Instr* reload = use.owner;
      isPackable &= reload->op == Op::ISETP && !reload->isGuarded() && state_.assignment.fileMove(*reload) != nullptr;
      if (!isPackable) return;
      const bool isBehind = reload->block == store.block && numbers_.at(reload) > numbers_.at(&store);
      spilled.lastUse = std::max(spilled.lastUse, isBehind ? numbers_.at(reload) : ~0u);
      spilled.reloads.push_back(reload);
    });
    const bool isShort = spilled.lastUse < numbers_.at(&store) + kMinLength;
    return isPackable && !isShort ? std::optional(std::move(spilled)) : std::nullopt;
  }

  void pack(const Group& group) {
    // The word after each spill: predicate i is in bit k - i of word k.
    std::vector<VRegId> words{group.front().store->op_(0).reg};
    std::vector<std::uint32_t> numbers{numbers_.at(group.front().store)};
    for (std::size_t k = 1; k < group.size(); ++k) {
      Instr* store = group[k].store;
      words.push_back(store->op_(0).reg);
      numbers.push_back(numbers_.at(store));
      ori::Builder b = ori::Builder::before(function_, store);
      b.setSource(store->source);
      const IsaOperand old = function_.use(words[k - 1]);
      IsaOperand predicate = store->op_(kSpilled).value();
      predicate.flags = static_cast<std::uint8_t>(predicate.flags & ~IsaOperand::kNot);
      Instr* sum = b.emit(Op::IADD3_X, {function_.use(words[k]), IsaOperand::pt(), IsaOperand::pt(), old, old,
                                        IsaOperand::rz(), predicate, IsaOperand::pt().notted()});
      state_.assignment.spillMoves[sum->id] = {SpillMove::Kind::Pack, kSum, kCarry, 0, kOldWord};
      remove(store);
    }
    state_.assignment.spillMoves[group.front().store->id].bit = 0;
    const ori::Block* block = group.front().store->block;
    for (std::size_t i = 0; i < group.size(); ++i)
      for (Instr* reload : group[i].reloads) {
        // Reads the word of the last spill before it.
        std::size_t k = group.size() - 1;
        if (reload->block == block && numbers_.at(reload) > numbers[i])
          while (numbers[k] > numbers_.at(reload))
            --k;
        test(*reload, words[k], static_cast<std::uint8_t>(k - i));
      }
  }

  /// Replaces a reload by a test of one bit.
  void test(Instr& reload, VRegId word, std::uint8_t bit) {
    ori::Builder b = ori::Builder::before(function_, &reload);
    b.setSource(reload.source);
    Instr* made = b.emit(Op::LOP3, {reload.op_(0).value(), IsaOperand::rz(), function_.use(word),
                                    IsaOperand::immediate(static_cast<std::int32_t>(1u << bit)), IsaOperand::rz(),
                                    IsaOperand::immediate(kAnd), IsaOperand::pt().notted()});
    state_.assignment.spillMoves[made->id] = {SpillMove::Kind::Move, 0, kReloadedWord, bit};
    remove(&reload);
  }

  void remove(Instr* instr) {
    state_.assignment.spillMoves.erase(instr->id);
    function_.erase(instr);
  }

  static constexpr std::int32_t kAnd = 0xc0;

  ori::Function& function_;
  SpillState& state_;
  std::unordered_map<const Instr*, std::uint32_t> numbers_; // of instructions, in their block; looked up only
};

} // namespace

bool packSpilledPredicates(ori::Function& function, SpillState& state, const PressureGain& isWorth) {
  return Packer(function, state).run(isWorth);
}

} // namespace orias::regalloc
