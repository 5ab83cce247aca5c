#include "phases/share_loads.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "phases/memory_access.h"
#include "phases/optimize/cse_pressure.h"
#include "phases/optimize/rewriter.h"
#include "phases/removable.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

namespace orias::phases {

using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// The most entries of the data flow sets.
constexpr std::size_t kMaxCells = 1 << 22;

constexpr std::uint32_t kAnything = 0, kNothing = 1, kFirstProvider = 2;

/// Identifies a memory location: the address and size of a load or store. Loads with equal keys return equal values
/// unless something was written in between.
using Key = std::tuple<int, bool, ori::VRegId, unsigned, ori::VRegId, unsigned, std::int64_t, unsigned>;

struct Location {
  MemoryAccess access;
  unsigned loads = 0, stores = 0;
};

/// The effect of an instruction on the known locations.
struct Event {
  enum class Kind : std::uint8_t { Load, Store, Write, Meet, Forget } kind;
  Instr* instr = nullptr;
  std::uint32_t location = 0;        ///< of Load and Store
  std::vector<std::uint32_t> killed; ///< by Store and Write
};

bool isPlain(const Instr& instr) {
  switch (instr.op) {
  case Op::LDG:
  case Op::LDS:
  case Op::LDL:
  case Op::STG:
  case Op::STS:
  case Op::STL: break;
  default: return false;
  }
  const isa::InstrDesc& row = isa::desc(instr.op);
  for (const isa::SlotId name : {isa::SlotId::Pu, isa::SlotId::Pp})
    if (const int slot = row.slotIndex(name); slot >= 0 && instr.op_(static_cast<unsigned>(slot)).isVirtual())
      return false;
  return !instr.isGuarded();
}

bool haveSameBases(const MemoryAccess& a, const MemoryAccess& b) {
  return a.base == b.base && a.uniformBase == b.uniformBase;
}

class LoadSharing {
 public:
  LoadSharing(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), rw_(function), cfg_(function.analyses().cfg()) {}

  bool run() {
    findLocations();
    if (std::ranges::none_of(locations_, isShareable)) return false;
    if (locations_.size() * cfg_.idCount() > kMaxCells) return false;
    keepShareable();
    findEvents();
    solve();
    return replace();
  }

 private:
  static bool isShareable(const Location& location) { return location.loads && location.loads + location.stores > 1; }

  /// Drops the locations without loads that could be shared.
  void keepShareable() {
    std::vector<Location> kept;
    std::vector<std::uint32_t> now(locations_.size(), ori::kNoId);
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!isShareable(locations_[i])) continue;
      now[i] = static_cast<std::uint32_t>(kept.size());
      kept.push_back(locations_[i]);
    }
    locations_ = std::move(kept);
    std::erase_if(locationOf_, [&](const auto& known) { return now[known.second] == ori::kNoId; });
    for (auto& [instr, location] : locationOf_)
      location = now[location];
  }

  /// The key of a weak access with a known location; none otherwise.
  std::optional<Key> keyOf(const Instr& instr, const MemoryAccess& access) const {
    if (!isPlain(instr) || !access.isExact || access.isOrdered) return std::nullopt;
    if (!isStable(access.base) || !isStable(access.uniformBase)) return std::nullopt;
    const auto reg = [](const Operand& o) { return o.isVirtual() ? o.reg : ori::kNoId; };
    return Key{static_cast<int>(access.space),
               access.isReadOnly,
               reg(access.base),
               access.base.sub,
               reg(access.uniformBase),
               access.uniformBase.sub,
               access.offset,
               isa::getMod(instr.op, instr.mods, isa::Mod::Size)};
  }

  bool isStable(const Operand& o) const { return o.isNone() || (o.isVirtual() && rw_.isStable(o)); }

  /// The value that a load after the instruction would return, if known.
  std::optional<Operand> valueOf(const Instr& instr) const {
    const bool isStore = isa::desc(instr.op).has(Flag::Store);
    const Operand value = slotOf(instr, isStore ? isa::SlotId::Rb : isa::SlotId::Rd).value();
    if (value.isZeroReg()) return isStore ? std::optional(value) : std::nullopt;
    if (!value.isVirtual() || value.neg() || !rw_.isSingle(value.reg) || (isStore && !rw_.isStable(value)))
      return std::nullopt;
    return value;
  }

  void findLocations() {
    for (ori::Block* block : function_.layout())
      for (Instr& instr : *block) {
        const isa::InstrDesc& row = isa::desc(instr.op);
        if (!row.has(Flag::Load) && !row.has(Flag::Store)) continue;
        const MemoryAccess access = accessOf(instr);
        const auto key = keyOf(instr, access);
        if (!key || !valueOf(instr)) continue;
        constexpr std::uint32_t kWordBytes = 4;
        if (access.isStore && access.bytes < kWordBytes) continue; // a load would extend the value
        const auto [at, isNew] = numbers_.try_emplace(*key, static_cast<std::uint32_t>(locations_.size()));
        if (isNew) locations_.push_back({access});
        ++(access.isStore ? locations_[at->second].stores : locations_[at->second].loads);
        locationOf_[&instr] = at->second;
      }
  }

  void findEvents() {
    events_.resize(cfg_.idCount());
    for (const ori::BlockId id : cfg_.reversePostOrder())
      for (Instr& instr : *function_.block(id)) {
        const isa::InstrDesc& row = isa::desc(instr.op);
        const auto location = locationOf_.find(&instr);
        std::vector<Event>& events = events_[id];
        const bool isMemory = row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic);
        const MemoryAccess access = isMemory ? accessOf(instr) : MemoryAccess{};
        if (ordersMemory(instr) || access.isOrdered) events.push_back({Event::Kind::Meet, &instr, 0, {}});
        if (isMemory && access.isStore) {
          Event event{Event::Kind::Write, &instr, 0, {}};
          for (std::uint32_t i = 0; i < locations_.size(); ++i)
            if (mayOverlap(locations_[i].access, access, haveSameBases(locations_[i].access, access)))
              event.killed.push_back(i);
          if (location != locationOf_.end()) event.kind = Event::Kind::Store, event.location = location->second;
          events.push_back(std::move(event));
        } else if (location != locationOf_.end()) {
          events.push_back({Event::Kind::Load, &instr, location->second, {}});
        } else if (!isMemory && row.has(Flag::SideEffect) && !row.has(Flag::Terminator) && !row.has(Flag::Fence)) {
          events.push_back({Event::Kind::Forget, &instr, 0, {}});
        }
      }
  }

  std::uint32_t providerOf(const Instr& instr) {
    const auto [at, isNew] =
        providerNumber_.try_emplace(&instr, static_cast<std::uint32_t>(providers_.size() + kFirstProvider));
    if (isNew) providers_.push_back(&instr);
    return at->second;
  }

  void apply(const Event& event, std::vector<std::uint32_t>& known) {
    switch (event.kind) {
    case Event::Kind::Load:
      if (known[event.location] < kFirstProvider) known[event.location] = providerOf(*event.instr);
      break;
    case Event::Kind::Store:
    case Event::Kind::Write:
      for (const std::uint32_t location : event.killed)
        known[location] = kNothing;
      if (event.kind == Event::Kind::Store) known[event.location] = providerOf(*event.instr);
      break;
    case Event::Kind::Meet:
      // Other threads may have stored in between. Local memory is private.
      for (std::uint32_t i = 0; i < known.size(); ++i)
        if (locations_[i].access.space != MemoryAccess::Space::Local) known[i] = kNothing;
      break;
    case Event::Kind::Forget: std::ranges::fill(known, kNothing); break;
    }
  }

  /// Whether the block is the header of a loop without phis. Such a loop may wait for stores of other threads.
  bool mayWait(ori::BlockId id) const {
    const Instr* first = function_.block(id)->first;
    if (first && first->op == Op::PHI) return false;
    return std::ranges::any_of(cfg_.predecessors(id),
                               [&](ori::BlockId from) { return cfg_.rpoIndex(from) >= cfg_.rpoIndex(id); });
  }

  std::vector<std::uint32_t> atStart(ori::BlockId id) const {
    if (id == cfg_.entry() || mayWait(id)) return std::vector<std::uint32_t>(locations_.size(), kNothing);
    std::vector<std::uint32_t> known;
    for (const ori::BlockId from : cfg_.predecessors(id)) {
      if (!cfg_.isReachable(from)) continue;
      const std::vector<std::uint32_t>& others = atEnd_[from];
      if (known.empty()) {
        known = others;
        continue;
      }
      for (std::size_t i = 0; i < known.size(); ++i) { // branch-free, so that it vectorizes
        const std::uint32_t one = known[i], other = others[i];
        const std::uint32_t both = (other == kAnything) | (other == one) ? one : kNothing;
        known[i] = one == kAnything ? other : both;
      }
    }
    if (known.empty()) known.assign(locations_.size(), kAnything);
    return known;
  }

  void solve() {
    atEnd_.assign(cfg_.idCount(), std::vector<std::uint32_t>(locations_.size(), kAnything));
    for (bool changed = true; changed;) {
      changed = false;
      for (const ori::BlockId id : cfg_.reversePostOrder()) {
        std::vector<std::uint32_t> known = atStart(id);
        for (const Event& event : events_[id])
          apply(event, known);
        changed |= known != atEnd_[id];
        atEnd_[id] = std::move(known);
      }
    }
  }

  bool replace() {
    std::optional<CsePressure> pressure; // computed for the first pair
    std::vector<std::pair<Instr*, const Instr*>> shared;
    for (const ori::BlockId id : cfg_.reversePostOrder()) {
      std::vector<std::uint32_t> known = atStart(id);
      for (const Event& event : events_[id]) {
        if (event.kind == Event::Kind::Load && known[event.location] >= kFirstProvider) {
          const Instr* provider = providers_[known[event.location] - kFirstProvider];
          if (fits(pressure, *provider, *event.instr)) shared.emplace_back(event.instr, provider);
        }
        apply(event, known);
      }
    }
    for (const auto& [load, provider] : shared) {
      ori::Builder b = ori::Builder::before(function_, load);
      b.setSource(load->source);
      const Operand to = slotOf(*load, isa::SlotId::Rd).value(), from = *valueOf(*provider);
      for (unsigned k = 0; k < to.width; ++k)
        b.copy(ori::component(to, k), ori::component(from, k));
    }
    for (const auto& [load, provider] : shared) {
      context_.remarks.applied(load, "load replaced with a value in a register");
      function_.erase(load);
    }
    return !shared.empty();
  }

  bool fits(std::optional<CsePressure>& pressure, const Instr& provider, const Instr& load) const {
    const auto take = [&](const Instr& made) {
      if (!pressure) pressure.emplace(function_, cfg_, context_);
      return pressure->take(made, load);
    };
    if (!isa::desc(provider.op).has(Flag::Store)) return take(provider);
    const Operand value = *valueOf(provider);
    if (value.isZeroReg()) return true;
    const Instr* made = function_.singleDef(value.reg);
    return made ? take(*made) : provider.block == load.block;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const Rewriter rw_;
  const ori::Cfg& cfg_;
  std::map<Key, std::uint32_t> numbers_;
  std::vector<Location> locations_;
  std::map<const Instr*, std::uint32_t> locationOf_;
  std::vector<std::vector<Event>> events_; // by block
  std::map<const Instr*, std::uint32_t> providerNumber_;
  std::vector<const Instr*> providers_;
  std::vector<std::vector<std::uint32_t>> atEnd_; // by block, then by location
};

} // namespace

bool shareLoads(ori::Function& function, PhaseContext& context) {
  return LoadSharing(function, context).run();
}

} // namespace orias::phases
