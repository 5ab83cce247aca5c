#include "phases/dependence.h"

#include "phases/block_uniformity.h"
#include "phases/memory_access.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace orias::phases {

namespace {

using isa::Flag;

/// A virtual or physical register: file, number or id, component.
std::uint64_t keyOf(const isa::Touch& touch) {
  const bool isVirtual = touch.operand && touch.operand->isVirtual();
  return static_cast<std::uint64_t>(isVirtual) << 63 | static_cast<std::uint64_t>(touch.file) << 48 |
         static_cast<std::uint64_t>(touch.component) << 32 | touch.reg;
}

struct Edge {
  std::uint32_t from, to;
  std::uint16_t latency;
};

/// A memory access in the region, with the versions of its address registers at that point.
struct PlacedAccess {
  MemoryAccess access;
  std::uint32_t node = 0;
  std::uint64_t base = 0, uniformBase = 0;
  std::uint32_t version = 0, uniformVersion = 0;

  bool hasBasesOf(const PlacedAccess& other) const {
    return base == other.base && version == other.version && uniformBase == other.uniformBase &&
           uniformVersion == other.uniformVersion;
  }
};

class Builder {
 public:
  Builder(std::span<ori::Instr* const> region, const isa::Target& target) : region_(region), target_(target) {
    registers_.reserve(2 * region.size());
  }

  std::vector<Edge> run() {
    for (std::uint32_t n = 0; n < region_.size(); ++n) {
      addMemory(n);
      addRegisters(n);
    }
    return std::move(edges_);
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  struct Seen {
    std::uint32_t node;
    isa::Access access;
    bool isLate;
    std::uint32_t next = kNone; ///< in seen_
  };
  /// A list within seen_, from the first to the last element.
  struct List {
    std::uint32_t first = kNone, last = kNone;
  };
  struct Register {
    List writers; ///< the last certain write, and guarded writes after it
    List readers; ///< reads since then
    std::uint32_t version = 0;
  };
  struct Now {
    Register* reg;
    isa::Touch touch;
  };

  void append(List& list, const Seen& seen) {
    const auto at = static_cast<std::uint32_t>(seen_.size());
    seen_.push_back(seen);
    (list.first == kNone ? list.first : seen_[list.last].next) = at;
    list.last = at;
  }
  template <typename F> void forEach(const List& list, F&& f) const {
    for (std::uint32_t at = list.first; at != kNone; at = seen_[at].next)
      f(seen_[at]);
  }

  void addRegisters(std::uint32_t node) {
    const ori::Instr& instr = *region_[node];
    touches_.clear();
    isa::forEachTouch(instr.op, std::span<const std::uint8_t, isa::kMaxMods>(instr.mods), instr.guard(), instr.ops(),
                      target_, [&](const isa::Touch& t) {
                        touches_.push_back({&registers_[keyOf(t)], t});
                      });
    for (const Now& now : touches_) {
      const isa::File file = now.touch.file;
      forEach(now.reg->writers, [&](const Seen& w) {
        if (w.node == node) return;
        unsigned latency;
        if (isOtherHalf(w, now.touch))
          latency = 1;
        else if (now.touch.isDef)
          latency = w.isLate ? target_.expectedLatency(w.access.latencyClass)
                             : cycles(file, w, now.touch, &isa::Target::wawLatency);
        else
          latency = w.isLate ? target_.expectedLatency(w.access.latencyClass)
                             : cycles(file, w, now.touch, &isa::Target::rawLatency);
        add(w.node, node, latency);
      });
      if (!now.touch.isDef) continue;
      forEach(now.reg->readers, [&](const Seen& r) {
        if (r.node != node)
          add(r.node, node, r.isLate ? kLateRead : cycles(file, r, now.touch, &isa::Target::warLatency));
      });
    }
    for (const Now& now : touches_) {
      if (!now.touch.isDef) {
        append(now.reg->readers, {node, now.touch.access, now.touch.isLate});
        continue;
      }
      ++now.reg->version;
      if (!instr.isGuarded()) now.reg->writers = now.reg->readers = {};
      append(now.reg->writers, {node, now.touch.access, now.touch.isLate});
    }
  }

  /// Whether these are loads of tensor memory for one half of the threads each, into the same registers.
  static bool isOtherHalf(const Seen& first, const isa::Touch& second) {
    return first.access.latencyClass == isa::LatencyClass::TensorLoad &&
           second.access.latencyClass == isa::LatencyClass::TensorLoad &&
           (second.isDef || second.access.port == isa::Access::Port::Addend);
  }

  unsigned cycles(isa::File file, const Seen& first, const isa::Touch& second,
                  isa::Latency (isa::Target::*query)(isa::File, isa::Access, isa::Access) const) const {
    if (file == isa::File::B || first.access.latencyClass == isa::LatencyClass::None) return 1;
    return (target_.*query)(file, first.access, second.access).cycles;
  }

  /// From here on the node represents all accesses before it.
  void orderAllBefore(std::uint32_t node) {
    for (const std::vector<PlacedAccess>* accesses : {&writers_, &readers_})
      for (const PlacedAccess& before : *accesses)
        add(before.node, node, 1);
    PlacedAccess all;
    all.node = node;
    all.access.isStore = all.access.isOrdered = true;
    writers_.assign(1, all);
    readers_.clear();
  }

  void addMemory(std::uint32_t node) {
    const ori::Instr& instr = *region_[node];
    const isa::InstrDesc& row = isa::desc(instr.op);
    // Instructions with time-dependent results keep their order among themselves. Those that read other lanes need no
    // order: all active lanes of the warp issue each of them together.
    const bool isFence = isBlockFence(instr);
    if (row.has(Flag::Volatile) || isBlockBarrier(instr) || isFence) {
      if (lastOrdered_) add(*lastOrdered_, node, 1);
      lastOrdered_ = node;
    }
    // Only fences order asynchronous WGMMA operations and tensor memory.
    if (row.latencyClass == isa::LatencyClass::Gmma || isTensorAccess(instr)) {
      if (lastFence_) add(*lastFence_, node, 1);
      products_.push_back(node);
    }
    if (isFence) {
      for (const std::uint32_t product : products_)
        add(product, node, 1);
      products_.clear();
      lastFence_ = node;
    }
    if (isBlockBarrier(instr) || isFence) {
      orderAllBefore(node);
      return;
    }
    if (!row.has(Flag::Load) && !row.has(Flag::Store) && !row.has(Flag::Atomic)) return;
    const PlacedAccess now = describe(node);
    const bool isWriter = now.access.isStore || now.access.isOrdered;
    const auto order = [&](const std::vector<PlacedAccess>& accesses) {
      for (const PlacedAccess& before : accesses)
        if (mustStayInOrder(before.access, now.access, before.hasBasesOf(now))) add(before.node, node, 1);
    };
    order(writers_);
    if (isWriter) order(readers_);
    if (writers_.size() >= kMaxWriters || readers_.size() >= kMaxReaders)
      orderAllBefore(node);
    else
      (isWriter ? writers_ : readers_).push_back(now);
  }

  PlacedAccess describe(std::uint32_t node) {
    PlacedAccess m;
    m.node = node;
    m.access = accessOf(*region_[node]);
    const auto version = [&](const isa::Operand& operand, std::uint64_t& base, std::uint32_t& at) {
      if (operand.isNone()) return;
      isa::Touch t;
      t.operand = &operand;
      t.file = operand.file;
      t.reg = operand.reg;
      t.component = operand.isVirtual() ? operand.sub : 0;
      base = keyOf(t) + 1;
      const auto found = registers_.find(keyOf(t));
      at = found == registers_.end() ? 0 : found->second.version;
    };
    version(m.access.base, m.base, m.version);
    version(m.access.uniformBase, m.uniformBase, m.uniformVersion);
    return m;
  }

  void add(std::uint32_t from, std::uint32_t to, unsigned latency) {
    edges_.push_back({from, to, static_cast<std::uint16_t>(latency)});
  }

  static constexpr unsigned kLateRead = 8; ///< a guess
  /// Limits the quadratic number of address comparisons.
  static constexpr std::size_t kMaxWriters = 128, kMaxReaders = 1024;

  std::span<ori::Instr* const> region_;
  const isa::Target& target_;
  std::unordered_map<std::uint64_t, Register> registers_; // looked up, never iterated
  std::vector<Seen> seen_;
  std::vector<Now> touches_;          // of the current instruction
  std::vector<PlacedAccess> writers_; // and ordered reads
  std::vector<PlacedAccess> readers_; // unordered among themselves
  std::optional<std::uint32_t> lastOrdered_, lastFence_;
  std::vector<std::uint32_t> products_; // WGMMA and accesses to tensor memory since the last fence
  std::vector<Edge> edges_;
};

} // namespace

bool isBlockFence(const ori::Instr& instr) {
  if (instr.isGuarded()) return false;
  constexpr unsigned kCta = 0;
  return instr.op == isa::Op::FENCE_VIEW_ASYNC ||
         (instr.op == isa::Op::MEMBAR && isa::getMod(instr.op, instr.mods, isa::Mod::Scope) == kCta);
}

bool isPinned(const ori::Instr& instr) {
  if (isBlockBarrier(instr) || isBlockFence(instr) || isTensorAccess(instr)) return false;
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.has(Flag::Branch) || row.has(Flag::Terminator) || row.has(Flag::Fence)) return true;
  // Stores and atomics have dependences. A store of matrices (STSM) is a store, too: all active lanes of the warp issue
  // it together, at any place in the block.
  return row.has(Flag::SideEffect) && !row.has(Flag::Store) && !row.has(Flag::Atomic);
}

DependenceGraph::DependenceGraph(std::span<ori::Instr* const> region, const isa::Target& target)
    : starts_(region.size() + 1, 0), predecessors_(region.size(), 0) {
  const std::vector<Edge> all = Builder(region, target).run();
  for (const Edge& e : all) {
    ++starts_[e.from + 1];
    ++predecessors_[e.to];
  }
  for (std::size_t i = 1; i < starts_.size(); ++i)
    starts_[i] += starts_[i - 1];
  edges_.resize(all.size());
  std::vector<std::uint32_t> at(starts_.begin(), starts_.end() - 1);
  for (const Edge& e : all)
    edges_[at[e.from]++] = {e.to, e.latency};
}

} // namespace orias::phases
