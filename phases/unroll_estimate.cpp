#include "phases/unroll_estimate.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "phases/block_uniformity.h"
#include "phases/dependence.h"
#include "phases/memory_access.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <queue>
#include <vector>

namespace orias::phases {

namespace {

using isa::Flag;
using isa::Op;
using ori::Instr;

/// Cost of an operation on pairs after later phases expand it.
constexpr unsigned kPairIssue = 2, kPairLatency = 8;
/// Cycles from the branch of one pass to the first instruction of the next.
constexpr unsigned kBranchCycles = 5;
constexpr std::uint32_t kNone = ~0u;

/// A register component that an instruction of the body reads or writes.
struct BodyTouch {
  std::uint32_t comp = 0;
  isa::Touch touch;
};

/// A value as another one plus a constant.
struct Symbol {
  std::uint32_t root = 0;
  std::int64_t offset = 0;
};

class Copies {
 public:
  Copies(std::span<const Instr* const> body, unsigned copies, bool keepsTest, const isa::Target& target)
      : body_(body), copies_(copies), keepsTest_(keepsTest), target_(target), size_(body.size()) {
    const ori::Operand& guard = body.back()->guard();
    const auto makes = [](const Instr* instr, const ori::Operand& condition) {
      return condition.isVirtual() && instr->op_(0).isVirtual() && instr->op_(0).reg == condition.reg;
    };
    for (const Instr* instr : body)
      if ((instr->op == Op::ISETP || instr->op == Op::ISETP_EX) && makes(instr, guard)) compare_ = instr;
    if (compare_ && compare_->op == Op::ISETP_EX)
      for (const Instr* instr : body)
        if (instr->op == Op::ISETP && makes(instr, compare_->op_(5))) low_ = instr;
  }

  UnrolledCost run(unsigned window) {
    findTouches();
    build();
    UnrolledCost cost;
    schedule(window, cost);
    return cost;
  }

 private:
  struct Edge {
    std::uint32_t to;
    unsigned latency;
  };
  struct Node {
    unsigned issue = 0, pipe = 0, pipeCycles = 0, open = 0, height = 0, earliest = 0, at = 0;
    std::vector<Edge> out;
    std::vector<std::uint32_t> reads; ///< values of file R
    unsigned defines = 0;             ///< values of file R
  };
  struct Writer {
    std::uint32_t node;
    isa::Access access;
    bool isLate, isPair;
  };
  struct Value {
    unsigned readers = 0; ///< that have not been issued yet
    bool isCarried = false;
  };

  // --- the body

  void findTouches() {
    std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> ids;
    touches_.resize(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      const Instr& instr = *body_[i];
      isa::forEachTouch(
          instr.op, std::span<const std::uint8_t, isa::kMaxMods>(instr.mods), instr.guard(), instr.ops(), target_,
          [&](const isa::Touch& t) {
            const bool isVirtual = t.operand && t.operand->isVirtual();
            const std::uint64_t key =
                static_cast<std::uint64_t>(isVirtual) << 40 | static_cast<std::uint64_t>(t.file) << 32 | t.reg;
            const auto [at, isNew] = ids.try_emplace({key, t.component}, static_cast<std::uint32_t>(ids.size()));
            touches_[i].push_back({at->second, t});
          });
    }
    compCount_ = static_cast<std::uint32_t>(ids.size());
    isWritten_.assign(compCount_, false);
    std::vector<unsigned> otherReads(compCount_, 0);
    isNumber_.assign(compCount_, false);
    for (const bool sets : {true, false})
      for (std::size_t i = 0; i < size_; ++i)
        for (const BodyTouch& t : touches_[i])
          if (t.touch.isDef && isNumber(*body_[i]) == sets) isNumber_[t.comp] = sets;
    for (std::size_t i = 0; i < size_; ++i) {
      const Instr& instr = *body_[i];
      const bool isMemory = isa::desc(instr.op).has(Flag::Load) || isa::desc(instr.op).has(Flag::Store);
      const isa::Operand base = isMemory ? accessOf(instr).base : isa::Operand{};
      for (const BodyTouch& t : touches_[i]) {
        if (t.touch.isDef) isWritten_[t.comp] = true;
        const bool isBase = isMemory && t.touch.operand && !base.isNone() && *t.touch.operand == base;
        if (!t.touch.isDef && !isBase && !isTest(i) && !isIncrement(i)) ++otherReads[t.comp];
      }
    }
    isFolded_.assign(size_, false);
    for (std::size_t i = 0; i < size_; ++i)
      isFolded_[i] = isIncrement(i) && std::ranges::all_of(touches_[i], [&](const BodyTouch& t) {
                       return !t.touch.isDef || otherReads[t.comp] == 0;
                     });
  }

  bool isTest(std::size_t i) const { return body_[i] == compare_ || body_[i] == low_ || i + 1 == size_; }

  /// Whether the instruction adds a constant to a register and replaces it.
  bool isIncrement(std::size_t i) const {
    const Instr& instr = *body_[i];
    if ((instr.op != Op::IADD3 && instr.op != Op::IADD64) || instr.isGuarded()) return false;
    const ori::Operand& result = instr.op_(0);
    unsigned own = 0;
    for (const BodyTouch& t : touches_[i]) {
      if (t.touch.isDef || !t.touch.operand) continue;
      if (t.touch.operand->isVirtual() && t.touch.operand->reg == result.reg && t.touch.operand->sub == result.sub)
        ++own;
      else if (!isNumber_[t.comp])
        return false;
    }
    return own != 0;
  }

  static bool isNumber(const Instr& instr) {
    return (instr.op == Op::MOV || instr.op == Op::COPY) && !instr.isGuarded() &&
           (instr.op_(1).isImm() || (instr.op_(1).isReg() && instr.op_(1).isZeroReg()));
  }

  /// Whether the instruction issues nothing in copy `k`.
  bool isFree(std::size_t i, unsigned k) const {
    const Instr& instr = *body_[i];
    if (isa::desc(instr.op).has(Flag::Copy) || isNumber(instr)) return true;
    if (isTest(i)) return !keepsTest_ || k + 1 != copies_;
    return isFolded_[i] && k != 0;
  }

  // --- the copies

  unsigned latency(const Writer& first, const isa::Touch& second) const {
    if (nodes_[first.node].issue == 0) return 0;
    if (first.isPair) return kPairLatency;
    if (first.isLate) return target_.expectedLatency(first.access.latencyClass);
    if (second.file == isa::File::B || first.access.latencyClass == isa::LatencyClass::None) return 1;
    return std::max<unsigned>(1, target_.rawLatency(second.file, first.access, second.access).cycles);
  }

  void connect(std::uint32_t from, std::uint32_t to, unsigned latency) {
    nodes_[from].out.push_back({to, latency});
    ++nodes_[to].open;
  }

  void build() {
    nodes_.resize(size_ * copies_);
    writers_.resize(compCount_);
    lastValue_.assign(compCount_, kNone);
    symbols_.resize(compCount_);
    for (std::uint32_t c = 0; c < compCount_; ++c)
      symbols_[c] = {c, 0};
    nextRoot_ = compCount_;
    for (unsigned k = 0; k < copies_; ++k)
      for (std::size_t i = 0; i < size_; ++i)
        addNode(i, k);
    for (std::uint32_t c = 0; c < compCount_; ++c)
      if (lastValue_[c] != kNone && hasFirstReads_.contains(c)) values_[lastValue_[c]].isCarried = true;
  }

  void addNode(std::size_t i, unsigned k) {
    const Instr& instr = *body_[i];
    const auto n = static_cast<std::uint32_t>(k * size_ + i);
    Node& node = nodes_[n];
    const isa::InstrDesc& row = isa::desc(instr.op);
    const isa::LatencyClass c = isa::latencyClassOf(instr.op, instr.mods);
    const bool isPair = row.isPseudo() && !row.has(Flag::Copy);
    if (!isFree(i, k)) {
      node.issue = isPair ? kPairIssue : 1;
      node.pipe = target_.pipe(c) & (kPipes - 1);
      node.pipeCycles = target_.issueCycles(c) * node.issue;
    }
    for (const BodyTouch& t : touches_[i]) {
      if (t.touch.isDef && !instr.isGuarded()) continue;
      for (const Writer& w : writers_[t.comp])
        if (w.node != n) connect(w.node, n, latency(w, t.touch));
      if (writers_[t.comp].empty() && isWritten_[t.comp]) {
        firstReads_.push_back({t.comp, n, t.touch});
        hasFirstReads_.emplace(t.comp, true);
        if (lastValue_[t.comp] == kNone && t.touch.file == isa::File::R) {
          lastValue_[t.comp] = newValue(); // the value from the previous pass
          ++liveAtStart_;
        }
      }
      if (lastValue_[t.comp] == kNone) continue;
      node.reads.push_back(lastValue_[t.comp]);
      ++values_[lastValue_[t.comp]].readers;
    }
    if (row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic))
      addAccess(i, n);
    else if ((isPinned(instr) || isBlockBarrier(instr)) && !isTest(i))
      addWall(n);
    const std::optional<Symbol> sum = symbolOf(i);
    for (const BodyTouch& t : touches_[i]) {
      if (!t.touch.isDef) continue;
      if (!instr.isGuarded()) writers_[t.comp].clear();
      writers_[t.comp].push_back({n, t.touch.access, t.touch.isLate, isPair});
      symbols_[t.comp] = sum ? *sum : Symbol{nextRoot_++, 0};
      if (t.touch.file != isa::File::R || (instr.isGuarded() && lastValue_[t.comp] != kNone)) continue;
      lastValue_[t.comp] = newValue();
      node.reads.push_back(lastValue_[t.comp]); // dies here if it is unused
      ++values_[lastValue_[t.comp]].readers;
      ++node.defines;
    }
  }

  std::uint32_t newValue() {
    values_.push_back({});
    return static_cast<std::uint32_t>(values_.size() - 1);
  }

  /// The result as an earlier value plus a constant.
  std::optional<Symbol> symbolOf(std::size_t i) const {
    const Instr& instr = *body_[i];
    if (instr.isGuarded()) return std::nullopt;
    if (isNumber(instr)) {
      const ori::Operand& o = instr.op_(1);
      return Symbol{kNone, o.isImm() ? static_cast<std::int32_t>(o.imm) : 0};
    }
    if (instr.op != Op::IADD3 && instr.op != Op::IADD64 && !isa::desc(instr.op).has(Flag::Copy)) return std::nullopt;
    Symbol sum{kNone, 0};
    unsigned low = 0;
    for (const ori::Operand& o : instr.ops()) {
      if (o.isDef || o.isNone() || o.isReg(isa::File::P) || (o.isReg() && o.isZeroReg())) continue;
      if (o.isImm()) {
        sum.offset +=
            o.neg() ? -static_cast<std::int64_t>(static_cast<std::int32_t>(o.imm)) : static_cast<std::int32_t>(o.imm);
        continue;
      }
      const auto at = std::ranges::find_if(touches_[i], [&](const BodyTouch& t) { return t.touch.operand == &o; });
      if (at == touches_[i].end() || o.neg() || o.inverted()) return std::nullopt;
      const Symbol& source = symbols_[at->comp];
      if (source.root != kNone) {
        sum.root = source.root;
        ++low;
      }
      sum.offset += source.offset;
    }
    return low <= 1 ? std::optional(sum) : std::nullopt;
  }

  struct Placed {
    MemoryAccess access;
    std::uint32_t node, root;
  };

  void addAccess(std::size_t i, std::uint32_t n) {
    Placed now{accessOf(*body_[i]), n, nextRoot_++};
    for (const BodyTouch& t : touches_[i])
      if (t.touch.operand && !now.access.base.isNone() && *t.touch.operand == now.access.base && !t.touch.isDef) {
        now.root = symbols_[t.comp].root;
        now.access.offset += symbols_[t.comp].offset;
        break;
      }
    for (const Placed& before : accesses_)
      if (mustStayInOrder(before.access, now.access,
                          before.root == now.root && before.access.uniformBase == now.access.uniformBase))
        connect(before.node, n, 1);
    accesses_.push_back(now);
  }

  /// All earlier nodes must come before this one, and all later nodes after it.
  void addWall(std::uint32_t n) {
    for (std::uint32_t before = wall_ == kNone ? 0 : wall_; before < n; ++before)
      connect(before, n, 1);
    wall_ = n;
  }

  // --- the schedule

  void schedule(unsigned window, UnrolledCost& cost) {
    for (std::uint32_t n = wall_ == kNone ? 0 : wall_ + 1; wall_ != kNone && n < nodes_.size(); ++n)
      connect(wall_, n, 1);
    const auto last = static_cast<std::uint32_t>(nodes_.size() - 1);
    for (std::uint32_t n = 0; n < last; ++n)
      if (keepsTest_) connect(n, last, nodes_[n].issue);
    for (std::uint32_t n = static_cast<std::uint32_t>(nodes_.size()); n-- > 0;)
      for (const Edge& e : nodes_[n].out)
        nodes_[n].height = std::max(nodes_[n].height, e.latency + nodes_[e.to].height);
    const auto byHeight = [&](std::uint32_t a, std::uint32_t b) {
      return nodes_[a].height != nodes_[b].height ? nodes_[a].height < nodes_[b].height : a > b;
    };
    const auto byTime = [&](std::uint32_t a, std::uint32_t b) {
      return nodes_[a].earliest != nodes_[b].earliest ? nodes_[a].earliest > nodes_[b].earliest : a > b;
    };
    std::vector<std::uint32_t> ready;
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(byTime)> waiting(byTime);
    std::vector<std::vector<std::uint32_t>> held(copies_); // nodes of copies that must not begin yet
    std::vector<std::size_t> left(copies_, size_);
    unsigned first = 0; // the first copy that is not complete
    const auto release = [&](std::uint32_t n) {
      const auto copy = static_cast<unsigned>(n / size_);
      if (copy >= first + window)
        held[copy].push_back(n);
      else
        waiting.push(n);
    };
    for (std::uint32_t n = 0; n < nodes_.size(); ++n)
      if (nodes_[n].open == 0) release(n);
    std::array<unsigned, kPipes> pipeFree{}, pipeBusy{};
    unsigned now = 0, live = liveAtStart_, issued = 0;
    cost.peak = live;
    while (!ready.empty() || !waiting.empty()) {
      while (!waiting.empty() && nodes_[waiting.top()].earliest <= now) {
        ready.push_back(waiting.top());
        std::ranges::push_heap(ready, byHeight);
        waiting.pop();
      }
      if (ready.empty()) {
        now = std::max(now, nodes_[waiting.top()].earliest);
        continue;
      }
      const std::uint32_t chosen = ready.front();
      std::ranges::pop_heap(ready, byHeight);
      ready.pop_back();
      Node& node = nodes_[chosen];
      if (node.pipe != 0) {
        now = std::max(now, pipeFree[node.pipe]);
        pipeFree[node.pipe] = now + node.pipeCycles;
        pipeBusy[node.pipe] += node.pipeCycles;
      }
      node.at = now;
      live += node.defines;
      cost.peak = std::max(cost.peak, live);
      for (std::uint32_t v : node.reads)
        if (--values_[v].readers == 0 && !values_[v].isCarried) --live;
      for (const Edge& e : node.out) {
        nodes_[e.to].earliest = std::max(nodes_[e.to].earliest, now + e.latency);
        if (--nodes_[e.to].open == 0) release(e.to);
      }
      now += node.issue;
      issued += node.issue;
      --left[chosen / size_];
      for (; first < copies_ && left[first] == 0; ++first)
        if (first + window < copies_)
          for (std::uint32_t n : held[first + window])
            waiting.push(n);
    }
    cost.busy = std::max(issued, *std::ranges::max_element(pipeBusy));
    cost.length = now + (keepsTest_ ? kBranchCycles : 0);
    if (!keepsTest_) return;
    for (const FirstRead& read : firstReads_)
      for (const Writer& w : writers_[read.comp]) {
        const unsigned end = nodes_[w.node].at + latency(w, read.touch);
        cost.length = std::max(cost.length, end - std::min(end, nodes_[read.node].at));
      }
  }

  static constexpr unsigned kPipes = 16;

  struct FirstRead {
    std::uint32_t comp, node;
    isa::Touch touch;
  };

  const std::span<const Instr* const> body_;
  const Instr* compare_ = nullptr; ///< computes the condition of the branch
  const Instr* low_ = nullptr;     ///< for 64 bits: the comparison of the low words
  const unsigned copies_;
  const bool keepsTest_;
  const isa::Target& target_;
  const std::size_t size_;
  std::uint32_t compCount_ = 0, nextRoot_ = 0;
  std::vector<std::vector<BodyTouch>> touches_; ///< by instruction of the body
  std::vector<bool> isWritten_;                 ///< by component
  std::vector<bool> isNumber_;                  ///< by component: set to constants in the body, and to nothing else
  std::vector<bool> isFolded_;                  ///< by instruction: an increment that is folded into addresses
  std::vector<Node> nodes_;
  std::vector<std::vector<Writer>> writers_; ///< by component: the last certain write and guarded writes after it
  std::vector<std::uint32_t> lastValue_;     ///< by component
  std::vector<Symbol> symbols_;              ///< by component
  std::vector<Value> values_;
  std::vector<FirstRead> firstReads_; ///< reads of values from the previous pass
  std::map<std::uint32_t, bool> hasFirstReads_;
  std::vector<Placed> accesses_;
  std::uint32_t wall_ = kNone;
  unsigned liveAtStart_ = 0;
};

} // namespace

UnrolledCost costOfCopies(std::span<const Instr* const> body, unsigned copies, bool keepsTest, unsigned window,
                          const isa::Target& target) {
  return Copies(body, copies, keepsTest, target).run(window);
}

namespace {

constexpr double kSchedulers = 4;
/// The share of an iteration's length that other warps do not hide, as in phases 24 and 97.
constexpr double kShareOfLength = 0.05;
/// Cycles of an instruction outside the loop.
constexpr double kOutsideCycles = 6;
/// Cycles of the tests before and after the copies.
constexpr double kCheckCycles = 40;
/// What other phases add to the estimated registers.
constexpr unsigned kMarginPercent = 5, kSpare = 2;
/// The gain that justifies leaving the function's occupancy class for a loop.
constexpr double kGainOfClass = 0.85;

} // namespace

UnrollJudge::UnrollJudge(Loop loop, const OccupancyClasses& classes, const isa::Target& target)
    : loop_(std::move(loop)), classes_(classes), target_(target),
      once_(costOfCopies(loop_.instrs, 1, true, 1, target)) {
  const double trips = loop_.trips;
  before_ = logOf(trips * once_.length, trips * once_.busy, loop_.functionPeak);
}

double UnrollJudge::price(unsigned copies, bool isCounted) const {
  double best = std::numeric_limits<double>::infinity();
  const bool isWhole = loop_.isKnown && copies == loop_.trips;
  double rest = loop_.trips % copies;
  if (isCounted && !loop_.isKnown) rest = std::min<double>(loop_.trips, (copies - 1) / 2.0);
  const double passes = (loop_.trips - rest) / copies;
  const double checks = isCounted ? kCheckCycles : 0;
  for (const unsigned window : {copies, 2U, 1U}) {
    if (window > copies) continue;
    const UnrolledCost cost = costOfCopies(loop_.instrs, copies, !isWhole, window, target_);
    unsigned registers = loop_.peak;
    if (cost.peak > once_.peak)
      registers = (registers + cost.peak - once_.peak) * (100 + kMarginPercent) / 100 + kSpare;
    registers = std::max(registers, loop_.functionPeak);
    const double now = logOf(passes * cost.length + rest * once_.length + checks,
                             passes * cost.busy + rest * once_.busy + checks / kSchedulers, registers);
    const bool leavesClass = registers > classes_.end(loop_.functionPeak);
    if (leavesClass && before_ - now < kGainOfClass) continue;
    best = std::min(best, now);
    if (!leavesClass) break; // narrower windows are slower
  }
  return best - before_;
}

double UnrollJudge::logOf(double length, double busy, unsigned registers) const {
  length += kOutsideCycles * static_cast<double>(loop_.outside);
  busy += static_cast<double>(loop_.outside);
  const double block = std::max(1.0, classes_.warpsPerBlock() / kSchedulers);
  const double warps = std::max(1.0, classes_.warps(classes_.end(registers)) / kSchedulers);
  const double alone = kShareOfLength * length;
  return std::log(std::max(length, block * busy) + alone) + std::log(std::max(length / warps, busy) + alone);
}

} // namespace orias::phases
