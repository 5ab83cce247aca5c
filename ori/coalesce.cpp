#include "ori/analysis/liveness.h"
#include "ori/analysis/loops.h"
#include "ori/ssa.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>
#include <vector>

namespace orias::ori {

namespace {

/// A copy whose registers can become one: same file and width, and the same parts of both.
bool isCandidate(const Function& function, const Instr& instr) {
  if (instr.op != Op::COPY || instr.isGuarded()) return false;
  const Operand &to = instr.op_(0), &from = instr.op_(1);
  if (!from.isReg() || !to.isReg() || !from.isVirtual() || !to.isVirtual()) return false;
  if ((from.flags & ~isa::Operand::kLastUse) != isa::Operand::kVirtual || from.half != isa::Operand::Half::None)
    return false;
  return to.file == from.file && to.sub == from.sub && to.width == from.width &&
         function.vreg(to.reg).width == function.vreg(from.reg).width;
}

/// Chaitin's aggressive coalescing, on the interference graph of the registers that candidates name. Two registers
/// interfere when one is defined where the same part of the other is live, unless that definition copies the one to the
/// other.
class Coalescer {
 public:
  explicit Coalescer(Function& function) : function_(function), cfg_(function), liveness_(cfg_) {}

  unsigned run() {
    collect();
    if (copies_.empty() || !buildGraph()) return 0;
    std::stable_sort(copies_.begin(), copies_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.depth > b.depth; });
    for (const Candidate& copy : copies_)
      merge(copy.instr->op_(0).reg, copy.instr->op_(1).reg);
    return apply();
  }

 private:
  struct Candidate {
    Instr* instr;
    std::uint32_t depth; ///< of loops
  };
  /// Interferences are counted up to here; each costs some tens of bytes.
  static constexpr std::size_t kMaxInterferences = 4'000'000;

  void collect() {
    const Loops loops(cfg_, DomTree::dominators(cfg_));
    isInvolved_.assign(function_.vregCount(), false);
    for (const Block* block : function_.layout()) {
      if (!cfg_.isReachable(block->id)) continue;
      for (Instr& instr : *block) {
        if (!isCandidate(function_, instr)) continue;
        copies_.push_back({&instr, loops.depth(block->id)});
        isInvolved_[instr.op_(0).reg] = isInvolved_[instr.op_(1).reg] = true;
      }
    }
    parent_.resize(function_.vregCount());
    std::iota(parent_.begin(), parent_.end(), VRegId{0});
    neighbours_.resize(function_.vregCount());
  }

  bool buildGraph() {
    LiveCursor cursor(liveness_);
    const Components& components = liveness_.components();
    std::size_t count = 0;
    for (BlockId id : cfg_.reversePostOrder()) {
      cursor.enter(*function_.block(id));
      while (const Instr* instr = cursor.next()) {
        for (const Operand& def : instr->ops()) {
          if (!def.isDef || !def.isReg() || !def.isVirtual() || !isInvolved_[def.reg]) continue;
          // Live behind the instruction, or defined by it too.
          for (CompId comp : cursor.live())
            if (components.isVirtual(comp)) count += addEdge(*instr, def, components.vreg(comp), components.sub(comp));
          for (const Operand& other : instr->ops())
            if (other.isDef && other.isReg() && other.isVirtual())
              for (unsigned k = 0; k < other.width; ++k)
                count += addEdge(*instr, def, other.reg, other.sub + k);
          if (count > kMaxInterferences) return false;
        }
        cursor.step();
      }
    }
    return true;
  }

  std::size_t addEdge(const Instr& instr, const Operand& def, VRegId other, unsigned sub) {
    if (other == def.reg || !isInvolved_[other] || sub < def.sub || sub >= def.sub + def.width) return 0u;
    if (instr.op == Op::COPY && isCandidate(function_, instr) && instr.op_(1).reg == other) return 0u;
    if (!neighbours_[def.reg].insert(other).second) return 0u;
    neighbours_[other].insert(def.reg);
    return 1u;
  }

  VRegId find(VRegId id) {
    while (parent_[id] != id) {
      parent_[id] = parent_[parent_[id]];
      id = parent_[id];
    }
    return id;
  }

  void merge(VRegId a, VRegId b) {
    a = find(a);
    b = find(b);
    if (a == b || neighbours_[a].count(b) != 0) return;
    if (neighbours_[a].size() < neighbours_[b].size()) std::swap(a, b);
    parent_[b] = a;
    for (VRegId other : neighbours_[b]) {
      neighbours_[other].erase(b);
      neighbours_[other].insert(a);
      neighbours_[a].insert(other);
    }
    neighbours_[b].clear();
  }

  unsigned apply() {
    for (VRegId id = 0; id < parent_.size(); ++id) {
      const VRegId to = find(id);
      if (to == id) continue;
      VReg& kept = function_.vreg(to);
      const VReg& gone = function_.vreg(id);
      kept.align = std::max(kept.align, gone.align);
      kept.divergent |= gone.divergent;
      if (kept.name.empty()) kept.name = gone.name;
      function_.replaceAllRefs(id, to);
    }
    unsigned erased = 0;
    for (const Candidate& copy : copies_) {
      if (copy.instr->op_(0).reg != copy.instr->op_(1).reg) continue;
      function_.erase(copy.instr);
      ++erased;
    }
    return erased;
  }

  Function& function_;
  Cfg cfg_;
  Liveness liveness_;
  std::vector<Candidate> copies_;
  std::vector<bool> isInvolved_;
  std::vector<VRegId> parent_;                         // union-find
  std::vector<std::unordered_set<VRegId>> neighbours_; // of class representatives; never iterated where order shows
};

} // namespace

unsigned coalesceCopies(Function& function) {
  if (function.layout().empty()) return 0;
  return Coalescer(function).run();
}

} // namespace orias::ori
