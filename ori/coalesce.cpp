#include "ori/analysis/analyses.h"
#include "ori/ssa.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace orias::ori {

namespace {

/// Whether it is a copy of a register without modifiers.
bool isPlainCopy(const Instr& instr) {
  if (instr.op != Op::COPY || instr.isGuarded()) return false;
  const Operand &to = instr.op_(0), &from = instr.op_(1);
  return from.isReg() && to.isReg() && from.isVirtual() && to.isVirtual() &&
         (from.flags & ~isa::Operand::kLastUse) == isa::Operand::kVirtual && from.half == isa::Operand::Half::None;
}

/// Whether the operands are the same parts of registers of the same file and width.
bool areAlike(const Function& function, const Operand& a, const Operand& b) {
  return a.file == b.file && a.sub == b.sub && a.width == b.width &&
         function.vreg(a.reg).width == function.vreg(b.reg).width;
}

/// Whether it is a copy whose registers can be merged.
bool isCandidate(const Function& function, const Instr& instr) {
  return isPlainCopy(instr) && areAlike(function, instr.op_(0), instr.op_(1));
}

/// A set of pairs of small numbers: a triangular bit matrix for small graphs, a hash table for large ones.
class PairSet {
 public:
  /// All numbers must be below `count`.
  void reset(std::uint32_t count) {
    isTriangle_ = count <= kMaxInTriangle;
    if (isTriangle_) bits_.assign((std::size_t{count} * count / 2 + 63) / 64 + 1, 0);
  }
  /// Returns false if the pair is in the set already.
  bool insert(std::uint32_t a, std::uint32_t b) {
    if (isTriangle_) {
      const std::size_t at = bit(a, b);
      const std::uint64_t mask = std::uint64_t{1} << (at & 63);
      if ((bits_[at / 64] & mask) != 0) return false;
      bits_[at / 64] |= mask;
      return true;
    }
    if (2 * (count_ + 1) > table_.size()) grow();
    std::uint64_t& slot = table_[place(key(a, b))];
    if (slot != kEmpty) return false;
    slot = key(a, b);
    ++count_;
    return true;
  }
  bool contains(std::uint32_t a, std::uint32_t b) const {
    if (isTriangle_) {
      const std::size_t at = bit(a, b);
      return (bits_[at / 64] >> (at & 63) & 1) != 0;
    }
    return !table_.empty() && table_[place(key(a, b))] != kEmpty;
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  static constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15; // 2^64 over the golden ratio (Knuth, volume 3, 6.4)

  static constexpr std::uint32_t kMaxInTriangle = 2048; // a quarter of a megabyte

  static std::size_t bit(std::uint32_t a, std::uint32_t b) {
    const std::size_t low = std::min(a, b), high = std::max(a, b);
    return high * (high - 1) / 2 + low;
  }
  static std::uint64_t key(std::uint32_t a, std::uint32_t b) {
    return std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
  }

  /// The index of the key, or of the empty place for it.
  std::size_t place(std::uint64_t wanted) const {
    const std::size_t mask = table_.size() - 1;
    std::size_t at = (wanted * kSpread) >> 20 & mask;
    while (table_[at] != kEmpty && table_[at] != wanted)
      at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<std::uint64_t> old(std::max<std::size_t>(1024, 2 * table_.size()), kEmpty);
    old.swap(table_);
    for (std::uint64_t one : old)
      if (one != kEmpty) table_[place(one)] = one;
  }

  bool isTriangle_ = false;
  std::vector<std::uint64_t> bits_;  // of the triangle
  std::vector<std::uint64_t> table_; // a power of two long
  std::size_t count_ = 0;
};

/// Chaitin's aggressive coalescing, on the interference graph of the registers of candidate copies. Two registers
/// interfere if one is defined where the same part of the other is live, unless that definition copies one to the
/// other, or copies a value that the other has, too.
class Coalescer {
 public:
  Coalescer(Function& function, const Coalescing& how, VRegId firstOfPhis)
      : function_(function), how_(how), firstOfPhis_(firstOfPhis), cfg_(function.analyses().cfg()),
        liveness_(function.analyses().liveness()) {}

  unsigned run() {
    twinOf_.assign(function_.instrIdCount(), nullptr);
    if (how_.byValue) findTwins();
    collect();
    if (copies_.empty()) return 0;
    if (!buildGraph()) return 0;
    std::stable_sort(copies_.begin(), copies_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.depth > b.depth; });
    for (const Candidate& copy : copies_)
      merge(copy.instr->op_(0).reg, copy.other->op_(copy.otherSlot).reg);
    return apply();
  }

 private:
  /// A copy, and the register that its result may be merged with: its source, or the result of its twin.
  struct Candidate {
    Instr* instr;
    const Instr* other;
    unsigned otherSlot;
    std::uint32_t depth; ///< of loops
  };
  /// The maximum number of interferences; each takes some tens of bytes.
  static constexpr std::size_t kMaxInterferences = 4'000'000;
  /// The maximum number of copies of one value that are compared; the nearest ones.
  static constexpr unsigned kMaxTwins = 16;

  void collect() {
    const Loops& loops = function_.analyses().loops();
    isInvolved_.assign(function_.vregCount(), false);
    for (const Block* block : function_.layout()) {
      if (!cfg_.isReachable(block->id)) continue;
      for (Instr& instr : *block) {
        if (isCandidate(function_, instr) && isWanted(instr)) add({&instr, &instr, 1, loops.depth(block->id)});
        const Instr* twin = twinOf_[instr.id];
        if (twin && areAlike(function_, instr.op_(0), twin->op_(0))) add({&instr, twin, 0, loops.depth(block->id)});
      }
    }
    parent_.resize(function_.vregCount());
    std::iota(parent_.begin(), parent_.end(), VRegId{0});
    neighbors_.resize(function_.vregCount());
    degree_.resize(function_.vregCount());
    number_.assign(function_.vregCount(), kNoId);
    std::uint32_t involved = 0;
    for (VRegId id = 0; id < number_.size(); ++id)
      if (isInvolved_[id]) number_[id] = involved++;
    interferences_.reset(involved);
  }

  bool isWanted(const Instr& copy) const {
    return !how_.ofPhisOnly || copy.op_(0).reg >= firstOfPhis_ || copy.op_(1).reg >= firstOfPhis_;
  }

  void add(const Candidate& candidate) {
    copies_.push_back(candidate);
    isInvolved_[candidate.instr->op_(0).reg] = isInvolved_[candidate.other->op_(candidate.otherSlot).reg] = true;
  }

  /// The result of a loop is copied for the next iteration and for the exit. Such copies of one value in one sequence
  /// of copies are twins: both registers have the same value. Only uninterrupted sequences of copies are searched.
  void findTwins() {
    std::unordered_map<std::uint64_t, const Instr*> latest; // by part of the source
    std::unordered_set<VRegId> sources;
    std::unordered_set<std::uint64_t> results; // components
    const auto component = [](const Operand& operand, unsigned k) {
      return std::uint64_t{operand.reg} << 32 | (operand.sub + k);
    };
    for (const Block* block : function_.layout()) {
      // The block may be entered without passing the copies before it.
      if (!latest.empty()) {
        latest.clear();
        sources.clear();
        results.clear();
      }
      for (const Instr* instr = block->first; instr; instr = instr->next) {
        const bool isCopy = isPlainCopy(*instr);
        bool changesRow = isCopy && sources.count(instr->op_(0).reg) != 0;
        for (unsigned k = 0; isCopy && k < instr->op_(0).width; ++k)
          changesRow |= results.count(component(instr->op_(0), k)) != 0;
        if ((!isCopy || changesRow) && !latest.empty()) {
          latest.clear();
          sources.clear();
          results.clear();
        }
        if (!isCopy) continue;
        const Operand& from = instr->op_(1);
        sources.insert(from.reg);
        for (unsigned k = 0; k < instr->op_(0).width; ++k)
          results.insert(component(instr->op_(0), k));
        const std::uint64_t part = std::uint64_t{from.reg} << 32 | std::uint64_t{from.sub} << 16 | from.width;
        const Instr*& last = latest[part];
        twinOf_[instr->id] = last;
        last = instr;
      }
    }
  }

  /// Whether the result of a copy has, in all its parts, the value that an earlier copy of the sequence wrote to
  /// `other`.
  bool isTwin(const Instr& instr, VRegId other) const {
    unsigned left = kMaxTwins;
    for (const Instr* twin = twinOf_[instr.id]; twin && left > 0; twin = twinOf_[twin->id], --left)
      if (twin->op_(0).reg == other && twin->op_(0).sub == instr.op_(0).sub && twin->op_(0).width == instr.op_(0).width)
        return true;
    return false;
  }

  bool buildGraph() {
    LiveCursor cursor(liveness_);
    const Components& components = liveness_.components();
    std::vector<bool> isCounted(components.count(), false); // most live registers are not candidates
    for (CompId comp = 0; comp < components.count(); ++comp)
      isCounted[comp] = components.isVirtual(comp) && isInvolved_[components.vreg(comp)];
    std::size_t count = 0;
    for (BlockId id : cfg_.reversePostOrder()) {
      cursor.enter(*function_.block(id));
      while (const Instr* instr = cursor.next()) {
        for (const Operand& def : instr->ops()) {
          if (!def.isDef || !def.isReg() || !def.isVirtual() || !isInvolved_[def.reg]) continue;
          const VRegId source = isCandidate(function_, *instr) ? instr->op_(1).reg : kNoId;
          // Live after the instruction, or also defined by it.
          for (CompId comp : cursor.live())
            if (isCounted[comp]) count += addEdge(*instr, source, def, components.vreg(comp), components.sub(comp));
          for (const Operand& other : instr->ops())
            if (other.isDef && other.isReg() && other.isVirtual())
              for (unsigned k = 0; k < other.width; ++k)
                count += addEdge(*instr, source, def, other.reg, other.sub + k);
          if (count > kMaxInterferences) return false;
        }
        cursor.step();
      }
    }
    return true;
  }

  /// `source`: the source of the copy, if the instruction is a candidate.
  std::size_t addEdge(const Instr& instr, VRegId source, const Operand& def, VRegId other, unsigned sub) {
    if (other == def.reg || !isInvolved_[other] || sub < def.sub || sub >= def.sub + def.width) return 0u;
    if (other == source) return 0u;
    if (twinOf_[instr.id] && isTwin(instr, other)) return 0u;
    if (!interferences_.insert(number_[def.reg], number_[other])) return 0u;
    neighbors_[def.reg].push_back(other);
    neighbors_[other].push_back(def.reg);
    ++degree_[def.reg];
    ++degree_[other];
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
    if (a == b || interferences_.contains(number_[a], number_[b])) return;
    if (degree_[a] < degree_[b]) std::swap(a, b);
    parent_[b] = a;
    for (VRegId other : neighbors_[b]) {
      if (parent_[other] != other) continue; // merged with another one, which is in the list as well
      if (!interferences_.insert(number_[a], number_[other])) {
        --degree_[other];
        continue;
      }
      neighbors_[other].push_back(a);
      neighbors_[a].push_back(other);
      ++degree_[a];
    }
    neighbors_[b] = {};
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
      if (copy.other != copy.instr || copy.instr->op_(0).reg != copy.instr->op_(1).reg) continue;
      function_.erase(copy.instr);
      ++erased;
    }
    return erased + eraseTwins();
  }

  /// Deletes second copies of a value to two registers that have been merged.
  unsigned eraseTwins() {
    struct Part {
      unsigned sub, width;
      isa::Operand value;
    };
    std::unordered_map<VRegId, std::vector<Part>> parts; // the values that the sequence has written to each register
    std::unordered_set<VRegId> sources;
    unsigned erased = 0;
    for (Block* block : function_.layout()) {
      parts.clear();
      sources.clear();
      function_.forEachSafe(*block, [&](Instr& instr) {
        const bool isInRow = isPlainCopy(instr) && sources.count(instr.op_(0).reg) == 0;
        if (!isInRow && !parts.empty()) {
          parts.clear();
          sources.clear();
        }
        if (!isPlainCopy(instr) || instr.op_(0).reg == instr.op_(1).reg) return;
        const Operand &to = instr.op_(0), &from = instr.op_(1);
        std::vector<Part>& known = parts[to.reg];
        for (const Part& part : known)
          if (part.sub == to.sub && part.width == to.width && part.value.reg == from.reg &&
              part.value.sub == from.sub) {
            function_.erase(&instr);
            ++erased;
            return;
          }
        known.erase(std::remove_if(known.begin(), known.end(),
                                   [&](const Part& part) {
                                     return part.sub < to.sub + to.width && to.sub < part.sub + part.width;
                                   }),
                    known.end());
        known.push_back({to.sub, to.width, from.value()});
        sources.insert(from.reg);
      });
    }
    return erased;
  }

  Function& function_;
  const Coalescing how_;
  const VRegId firstOfPhis_;
  const Cfg& cfg_;
  const Liveness& liveness_;
  std::vector<Candidate> copies_;
  std::vector<bool> isInvolved_;
  std::vector<const Instr*> twinOf_;           // by instruction id: the previous copy of the same value in the sequence
  std::vector<VRegId> parent_;                 // union-find
  std::vector<std::uint32_t> number_;          // of the registers of candidates
  PairSet interferences_;                      // of class representatives and of the merged registers
  std::vector<std::vector<VRegId>> neighbors_; // of class representatives; other entries must be skipped
  std::vector<std::uint32_t> degree_;          // neighbors that are representatives
};

} // namespace

unsigned coalesceCopies(Function& function, const Coalescing& how, VRegId firstOfPhis) {
  if (function.layout().empty()) return 0;
  return Coalescer(function, how, firstOfPhis).run();
}

} // namespace orias::ori
