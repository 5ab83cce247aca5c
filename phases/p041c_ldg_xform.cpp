#include "encoder/isa/desc.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/target.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "phases/memory_access.h"
#include "phases/optimize/rewriter.h"
#include "phases/phases.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>
#include <vector>

namespace orias::phases {

using isa::Flag;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// A source from which a global address is computed.
struct Root {
  enum class Kind : std::uint8_t { Unknown, Parameter, Symbol } kind = Kind::Unknown;
  std::uint32_t number = 0; ///< offset in the constant bank, or symbol
  friend auto operator<=>(const Root&, const Root&) = default;
};
using Roots = std::set<Root>;
constexpr Root kUnknownRoot{};

class ReadOnlyLoads {
 public:
  ReadOnlyLoads(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), rw_(function),
        assumesNoalias_(context.knobs.enabled(Knob::AssumeNoalias)) {}

  bool run() {
    if (const char* why = findStores()) {
      if (!loads_.empty()) context_.remarks.missed(loads_.front(), fmt::format("loads not moved: {}", why));
      return false;
    }
    std::vector<Roots> stored;
    for (const Instr* store : stores_)
      stored.push_back(rootsOf(*store));
    bool isChanged = false;
    for (Instr* load : loads_) {
      const Roots from = rootsOf(*load);
      if (std::ranges::any_of(stored, [&](const Roots& to) { return mayMeet(from, to); })) continue;
      auto mods = load->mods;
      mods[static_cast<unsigned>(isa::desc(load->op).modIndex(isa::Mod::Order))] =
          static_cast<std::uint8_t>(isa::MemOrder::Constant);
      load->mods = mods;
      function_.touch(load);
      context_.remarks.applied(load, "loads use the read-only data cache: no store of the kernel writes this memory");
      isChanged = true;
    }
    return isChanged;
  }

 private:
  /// Collects loads and stores of global memory. Returns why others might write memory that the kernel reads, or null.
  const char* findStores() {
    const char* why = function_.isKernel() ? nullptr : "a caller may write it";
    for (ori::Block* block : function_.layout())
      for (Instr& instr : *block) {
        const isa::InstrDesc& row = isa::desc(instr.op);
        const bool isMemory = row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic);
        const bool isBarrier =
            row.latencyClass == isa::LatencyClass::Barrier || instr.op == Op::WARPSYNC || instr.op == Op::WARPSYNC_ALL;
        if (row.has(Flag::Fence) && !isBarrier) why = "a fence may make stores of other kernels visible";
        if (!isMemory) {
          if (row.has(Flag::SideEffect) && !row.has(Flag::Terminator) && !isBarrier && !row.has(Flag::Fence))
            why = "unknown code runs";
          continue;
        }
        const MemoryAccess access = accessOf(instr);
        const bool isShared = access.space == MemoryAccess::Space::Shared;
        if (access.isOrdered && !row.has(Flag::Atomic) && !isShared)
          why = "an ordered access may synchronize with other kernels";
        if (instr.op == Op::LDG && !access.isOrdered && !access.isReadOnly) loads_.push_back(&instr);
        if (!access.isStore || isShared || access.space == MemoryAccess::Space::Local) continue;
        if (access.space == MemoryAccess::Space::Generic || access.space == MemoryAccess::Space::NotLocal ||
            isa::desc(instr.op).slotIndex(isa::SlotId::Ra) < 0)
          why = "the target of a store is unknown";
        stores_.push_back(&instr);
      }
    return why;
  }

  bool mayMeet(const Roots& a, const Roots& b) const {
    return std::ranges::any_of(a, [&](const Root& x) {
      return std::ranges::any_of(b, [&](const Root& y) {
        if (x == kUnknownRoot || y == kUnknownRoot || x == y) return true;
        // A parameter may point to a variable of the module.
        const bool areVariables = x.kind == Root::Kind::Symbol && y.kind == Root::Kind::Symbol;
        return !areVariables && !assumesNoalias_;
      });
    });
  }

  Roots rootsOf(const Instr& access) {
    const Operand base = access.op_(isa::desc(access.op).slot(isa::SlotId::Ra)).value();
    const int uniform = isa::desc(access.op).slotIndex(isa::SlotId::URb);
    if (uniform >= 0 && access.op_(static_cast<unsigned>(uniform)).isVirtual()) return {kUnknownRoot};
    Roots roots;
    unsigned steps = 0;
    collect(base, roots, steps);
    if (roots.empty()) roots.insert(kUnknownRoot);
    return roots;
  }

  /// Adds the roots that the pair is computed from; a number adds none.
  void collect(const Operand& pair, Roots& roots, unsigned& steps) {
    constexpr unsigned kMaxSteps = 64;
    if (pair.isImm() || pair.isZeroReg()) return;
    const Definition low = pair.isReg() ? rw_.definition(pair, 0) : Definition{};
    const Definition high = pair.isReg() && pair.width == 2 ? rw_.definition(pair, 1) : Definition{};
    if (pair.isConst() && pair.bank == 0) return collectBank(pair.bank, pair.imm, roots);
    if (!low || ++steps > kMaxSteps || pair.neg()) {
      roots.insert(kUnknownRoot);
      return;
    }
    // A 32-bit number, extended by zeros or its sign.
    if (high.instr != low.instr && high.instr && isExtension(*high.instr, high)) return;
    Instr& made = *low.instr;
    if (high.instr != &made && made.op != Op::PHI && !isa::desc(made.op).has(Flag::Copy)) {
      roots.insert(kUnknownRoot);
      return;
    }
    switch (made.op) {
    case Op::IADD64: {
      Roots left, right;
      collect(made.op_(1).value(), left, steps);
      collect(made.op_(2).value(), right, steps);
      // With two roots it is unknown which is the address and which the index.
      if (!left.empty() && !right.empty()) roots.insert(kUnknownRoot);
      roots.insert(left.begin(), left.end());
      roots.insert(right.begin(), right.end());
      return;
    }
    case Op::IMAD_WIDE: return collect(made.op_(isa::desc(made.op).slot(isa::SlotId::Rc)).value(), roots, steps);
    case Op::IMUL64: return;
    case Op::LDC:
      if (made.op_(1).isImm() && made.op_(3).isImm() && (made.op_(2).isNone() || made.op_(2).isZeroReg()))
        return collectBank(made.op_(1).imm, made.op_(3).imm, roots);
      break;
    case Op::ADDRESS:
      if (made.op_(1).kind == Operand::Kind::Symbol) {
        roots.insert({Root::Kind::Symbol, made.op_(1).reg});
        return;
      }
      break;
    default:
      if (isa::desc(made.op).has(Flag::Copy) && high.instr == &made) {
        Operand from = made.op_(1).value();
        if (from.isReg() && from.isVirtual()) from = ori::component(from, low.index, 2);
        return collect(from, roots, steps);
      }
    }
    roots.insert(kUnknownRoot);
  }

  /// Whether the word is the upper word of an extended 32-bit number: zero, or its sign.
  bool isExtension(const Instr& high, const Definition& def) const {
    constexpr std::uint32_t kSignShift = 31;
    if (high.op == Op::SHF) return high.op_(1).isZeroReg() && rw_.constantOf(high.op_(2).value()) == kSignShift;
    return rw_.constantOf(ori::component(high.op_(def.slot).value(), def.index)) == 0;
  }

  void collectBank(std::int64_t bank, std::int64_t offset, Roots& roots) const {
    const auto& slots = function_.module().addressSlots;
    constexpr std::int64_t kSlotBytes = 8, kAddressBank = 4;
    const std::int64_t first = function_.module().target().paramBase();
    if (bank == 0 && offset >= first && offset < first + function_.paramBytes)
      roots.insert({Root::Kind::Parameter, static_cast<std::uint32_t>(offset)});
    else if (bank == kAddressBank && offset >= 0 && static_cast<std::size_t>(offset / kSlotBytes) < slots.size())
      roots.insert({Root::Kind::Symbol, slots[static_cast<std::size_t>(offset / kSlotBytes)]});
    else
      roots.insert(kUnknownRoot);
  }

  ori::Function& function_;
  PhaseContext& context_;
  const Rewriter rw_;
  const bool assumesNoalias_;
  std::vector<Instr*> loads_, stores_;
};

} // namespace

/// Phase 41c, the "ldgxform" of the literature. Global loads that no store of the kernel may alias use the read-only
/// data cache (LDG.E.CONSTANT), and later phases move them like constants. The PTX memory model allows this where
/// nothing in the kernel makes others' stores visible: without fences and ordered accesses, a store elsewhere would be
/// a race. Two different module variables do not alias. Parameters are assumed not to alias only with knob
/// AssumeNoalias.
bool ldgXform(ori::Function& function, PhaseContext& context) {
  return ReadOnlyLoads(function, context).run();
}

} // namespace orias::phases
