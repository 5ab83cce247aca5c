#include "regalloc/dead_stores.h"

#include "ori/analysis/cfg.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace orias::regalloc {

using ori::Instr;

namespace {

/// Words of spill slots, by their number among all words.
struct Run {
  std::uint32_t first = 0, count = 0;
};

class StoreRemover {
 public:
  StoreRemover(ori::Function& function, SpillState& state) : function_(function), state_(state), cfg_(function) {
    for (const ori::FrameObject& object : function.frame) {
      firstWord_.push_back(words_);
      if (object.isSpill) words_ += object.size / 4;
    }
  }

  /// Removes stores of words that nothing reads before they are stored again.
  void run() {
    const std::size_t parts = (words_ + 63) / 64;
    using Words = std::vector<std::uint64_t>;
    std::vector<Words> in(cfg_.idCount(), Words(parts, 0));
    Words live;
    // Calls f(instr, words) for each store and each reload of a block, last to first, and updates `live`.
    const auto walk = [&](ori::BlockId id, auto&& f) {
      live.assign(parts, 0);
      for (const ori::BlockId s : cfg_.successors(id))
        for (std::size_t i = 0; i < parts; ++i)
          live[i] |= in[s][i];
      for (Instr *instr = function_.block(id)->last, *previous; instr; instr = previous) {
        previous = instr->prev;
        const auto move = state_.assignment.spillMoves.find(instr->id);
        if (move == state_.assignment.spillMoves.end()) continue;
        const std::optional<Run> words = wordsOf(*instr, move->second);
        if (!words) continue;
        const bool isLoad = move->second.kind == SpillMove::Kind::Load;
        if (!isLoad) f(*instr, *words);
        for (std::uint32_t w = words->first; w < words->first + words->count; ++w) {
          const std::uint64_t bit = std::uint64_t{1} << (w % 64);
          if (isLoad)
            live[w / 64] |= bit;
          else if (!instr->isGuarded())
            live[w / 64] &= ~bit;
        }
      }
    };
    const auto order = cfg_.reversePostOrder();
    for (bool changed = true; changed;) {
      changed = false;
      for (auto id = order.rbegin(); id != order.rend(); ++id) {
        walk(*id, [](const Instr&, const Run&) {});
        if (live == in[*id]) continue;
        in[*id] = live;
        changed = true;
      }
    }
    std::vector<std::pair<Instr*, std::uint32_t>> doomed; // with the number of words
    for (const ori::BlockId id : order)
      walk(id, [&](Instr& store, const Run& words) {
        for (std::uint32_t w = words.first; w < words.first + words.count; ++w)
          if (live[w / 64] >> (w % 64) & 1) return;
        // Erased after the walk, which must not see deleted instructions.
        doomed.push_back({&store, words.count});
      });
    for (const auto& [store, count] : doomed) {
      state_.storeBytes -= 4 * count;
      state_.assignment.spillMoves.erase(store->id);
      function_.erase(store);
    }
  }

 private:
  /// The words that a store or a reload accesses.
  std::optional<Run> wordsOf(const Instr& instr, const SpillMove& move) const {
    if (move.kind != SpillMove::Kind::Load && move.kind != SpillMove::Kind::Store) return std::nullopt;
    for (const ori::Operand& o : instr.ops())
      if (o.kind == isa::Operand::Kind::Frame && function_.frame[o.reg].isSpill)
        return Run{firstWord_[o.reg] + static_cast<std::uint32_t>(o.imm) / 4, instr.op_(move.reg).width};
    return std::nullopt;
  }

  ori::Function& function_;
  SpillState& state_;
  const ori::Cfg cfg_;
  std::uint32_t words_ = 0;
  std::vector<std::uint32_t> firstWord_; // by frame object
};

} // namespace

void removeDeadStores(ori::Function& function, SpillState& state) {
  if (state.storeBytes != 0) StoreRemover(function, state).run();
}

} // namespace orias::regalloc
