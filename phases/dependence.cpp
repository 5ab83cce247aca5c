#include "phases/dependence.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace orias::phases {

namespace {

using isa::Flag;

/// A register of either kind: file, number or id, component.
std::uint64_t keyOf(const isa::Touch& touch) {
  const bool isVirtual = touch.operand && touch.operand->isVirtual();
  return static_cast<std::uint64_t>(isVirtual) << 63 | static_cast<std::uint64_t>(touch.file) << 48 |
         static_cast<std::uint64_t>(touch.component) << 32 | touch.reg;
}

struct Edge {
  std::uint32_t from, to;
  std::uint16_t latency;
};

/// What a memory instruction touches, as far as its operands tell.
struct MemoryAccess {
  enum class Space : std::uint8_t { Generic, Global, Local, Shared } space = Space::Generic;
  bool isStore = false;
  bool isStrong = false; ///< keeps its place among others of the kind
  bool isExact = false;  ///< base, version, offset and size are known
  std::uint32_t node = 0;
  std::uint64_t base = 0, uniformBase = 0;
  std::uint32_t version = 0, uniformVersion = 0;
  std::int64_t offset = 0;
  std::uint32_t bytes = 0;
};

bool isApart(const MemoryAccess& a, const MemoryAccess& b) {
  using Space = MemoryAccess::Space;
  // A generic address may be any of them.
  if (a.space != b.space && a.space != Space::Generic && b.space != Space::Generic) return true;
  if (!a.isExact || !b.isExact || a.space != b.space) return false;
  if (a.base != b.base || a.version != b.version || a.uniformBase != b.uniformBase ||
      a.uniformVersion != b.uniformVersion)
    return false;
  return a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
}

class Builder {
 public:
  Builder(std::span<ori::Instr* const> region, const isa::Target& target) : region_(region), target_(target) {}

  std::vector<Edge> run() {
    for (std::uint32_t n = 0; n < region_.size(); ++n) {
      addMemory(n);
      addRegisters(n);
    }
    return std::move(edges_);
  }

 private:
  struct Seen {
    std::uint32_t node;
    isa::Access access;
    bool isLate;
  };
  struct Register {
    std::vector<Seen> writers; ///< the last certain write, and guarded ones behind it
    std::vector<Seen> readers; ///< since then
    std::uint32_t version = 0;
  };

  void addRegisters(std::uint32_t node) {
    const ori::Instr& instr = *region_[node];
    struct Now {
      Register* reg;
      isa::Touch touch;
    };
    std::vector<Now> touches;
    isa::forEachTouch(instr.op, std::span<const std::uint8_t, isa::kMaxMods>(instr.mods), instr.guard(), instr.ops(),
                      target_, [&](const isa::Touch& t) {
                        touches.push_back({&registers_[keyOf(t)], t});
                      });
    for (const Now& now : touches) {
      const isa::File file = now.touch.file;
      for (const Seen& w : now.reg->writers) {
        if (w.node == node) continue;
        unsigned latency;
        if (now.touch.isDef)
          latency = w.isLate ? target_.expectedLatency(w.access.latencyClass)
                             : cycles(file, w, now.touch, &isa::Target::wawLatency);
        else
          latency = w.isLate ? target_.expectedLatency(w.access.latencyClass)
                             : cycles(file, w, now.touch, &isa::Target::rawLatency);
        add(w.node, node, latency);
      }
      if (!now.touch.isDef) continue;
      for (const Seen& r : now.reg->readers)
        if (r.node != node)
          add(r.node, node, r.isLate ? kLateRead : cycles(file, r, now.touch, &isa::Target::warLatency));
    }
    for (const Now& now : touches) {
      if (!now.touch.isDef) {
        now.reg->readers.push_back({node, now.touch.access, now.touch.isLate});
        continue;
      }
      ++now.reg->version;
      if (!instr.isGuarded()) {
        now.reg->writers.clear();
        now.reg->readers.clear();
      }
      now.reg->writers.push_back({node, now.touch.access, now.touch.isLate});
    }
  }

  unsigned cycles(isa::File file, const Seen& first, const isa::Touch& second,
                  isa::Latency (isa::Target::*query)(isa::File, isa::Access, isa::Access) const) const {
    if (file == isa::File::B || first.access.latencyClass == isa::LatencyClass::None) return 1;
    return (target_.*query)(file, first.access, second.access).cycles;
  }

  void addMemory(std::uint32_t node) {
    const ori::Instr& instr = *region_[node];
    const isa::InstrDesc& row = isa::desc(instr.op);
    // Instructions whose result depends on the moment, or on the other lanes, keep their order among themselves.
    if (row.has(Flag::Volatile) || row.has(Flag::Convergent)) {
      if (lastOrdered_) add(*lastOrdered_, node, 1);
      lastOrdered_ = node;
    }
    if (!row.has(Flag::Load) && !row.has(Flag::Store) && !row.has(Flag::Atomic)) return;
    const MemoryAccess now = describe(node);
    for (const MemoryAccess& before : memory_) {
      const bool isOrdered = before.isStrong && now.isStrong;
      if (isOrdered || ((before.isStore || now.isStore) && !isApart(before, now))) add(before.node, node, 1);
    }
    if (memory_.size() >= kMemoryWindow) {
      // From here on this one stands for all before it.
      for (const MemoryAccess& before : memory_)
        add(before.node, node, 1);
      MemoryAccess all;
      all.node = node;
      all.isStore = all.isStrong = true;
      memory_.assign(1, all);
      return;
    }
    memory_.push_back(now);
  }

  MemoryAccess describe(std::uint32_t node) {
    const ori::Instr& instr = *region_[node];
    const isa::InstrDesc& row = isa::desc(instr.op);
    MemoryAccess m;
    m.node = node;
    m.isStore = row.has(Flag::Store) || row.has(Flag::Atomic);
    const int order = row.modIndex(isa::Mod::Order);
    m.isStrong = row.has(Flag::Atomic) || (order >= 0 && instr.mods[order] != row.mods[order].defaultValue);
    const std::string_view name = row.mnemonic;
    using Space = MemoryAccess::Space;
    if (name.starts_with("LDG") || name.starts_with("STG") || name.starts_with("ATOMG") || name.starts_with("REDG"))
      m.space = Space::Global;
    else if (name.starts_with("LDL") || name.starts_with("STL"))
      m.space = Space::Local;
    else if (name.starts_with("LDS") || name.starts_with("STS") || name.starts_with("ATOMS"))
      m.space = Space::Shared;
    // Asynchronous copies touch two spaces.
    if (name.starts_with("LDGSTS")) m.space = Space::Generic;

    const int a = row.slotIndex("Ra"), u = row.slotIndex("URb"), o = row.slotIndex("offset");
    const int size = row.modIndex(isa::Mod::Size);
    if (a < 0 || o < 0 || size < 0 || row.has(Flag::Atomic) || m.space == Space::Generic) return m;
    if (!instr.op_(static_cast<unsigned>(o)).isImm() && !instr.op_(static_cast<unsigned>(o)).isNone()) return m;
    m.isExact = true;
    m.offset = instr.op_(static_cast<unsigned>(o)).imm;
    static constexpr std::uint32_t kBytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
    m.bytes = kBytes[instr.mods[size] & 7];
    const auto version = [&](int slot, std::uint64_t& base, std::uint32_t& at) {
      if (slot < 0) return;
      const ori::Operand& operand = instr.op_(static_cast<unsigned>(slot));
      if (!operand.isReg() || operand.isZeroReg()) return;
      isa::Touch t;
      t.operand = &operand;
      t.file = operand.file;
      t.reg = operand.reg;
      t.component = operand.isVirtual() ? operand.sub : 0;
      base = keyOf(t) + 1;
      const auto found = registers_.find(keyOf(t));
      at = found == registers_.end() ? 0 : found->second.version;
    };
    version(a, m.base, m.version);
    version(u, m.uniformBase, m.uniformVersion);
    return m;
  }

  void add(std::uint32_t from, std::uint32_t to, unsigned latency) {
    edges_.push_back({from, to, static_cast<std::uint16_t>(latency)});
  }

  static constexpr unsigned kLateRead = 8;          ///< a guess
  static constexpr std::size_t kMemoryWindow = 128; ///< keeps the comparison of addresses from growing with the square

  std::span<ori::Instr* const> region_;
  const isa::Target& target_;
  std::unordered_map<std::uint64_t, Register> registers_; // looked up, never walked
  std::vector<MemoryAccess> memory_;
  std::optional<std::uint32_t> lastOrdered_;
  std::vector<Edge> edges_;
};

} // namespace

bool isPinned(const ori::Instr& instr) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (row.has(Flag::Branch) || row.has(Flag::Terminator) || row.has(Flag::Fence)) return true;
  if (!row.has(Flag::SideEffect)) return false;
  const bool isMemory = row.has(Flag::Store) || row.has(Flag::Atomic);
  return !isMemory || row.has(Flag::Convergent);
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
