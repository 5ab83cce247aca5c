#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/call_abi.h"
#include "phases/alignment.h"
#include "phases/memory_access.h"
#include "phases/occupancy.h"
#include "phases/phases.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Flag;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

/// A group ends when its accesses are at least this far apart: values would wait in registers too long.
constexpr unsigned kFarthest = 512;
constexpr std::size_t kMaxMembers = 256;
/// The most open groups; with more, the oldest ends.
constexpr std::size_t kMaxGroups = 16;

constexpr unsigned kWidest = 16; // bytes

/// A function may have this many live registers even if it had fewer before: 40 warps of 64 still run, and wide
/// accesses gain more.
constexpr unsigned kCheap = 44;

struct Member {
  Instr* instr;
  MemoryAccess access;
  unsigned at; ///< position in the block, from 1
};

/// Accesses of one block to the same base that may be merged at the first of them (loads) or the last (stores).
struct Group {
  std::vector<Member> members; // in program order
  unsigned firstAt = 0;        // position of the first in the block
};

constexpr unsigned kWord = 4; // bytes

/// Whether the access can be merged: a load, or a store of whole words, with an exact address and without ordering.
bool isCandidate(const ori::Function& function, const Instr& instr, const MemoryAccess& access) {
  const isa::InstrDesc& row = isa::desc(instr.op);
  if (instr.isGuarded() || access.isOrdered || !access.isExact || access.bytes >= kWidest ||
      (access.bytes < kWord && access.isStore))
    return false;
  if (access.offset % access.bytes != 0 || isa::getMod(instr.op, instr.mods, Mod::AddrScale) != 0) return false;
  if (row.modIndex(Mod::Sub) >= 0 || row.has(Flag::Convergent)) return false;
  for (const ori::Operand& o : instr.ops()) {
    if (!o.isReg() || o.isZeroReg()) continue;
    // Registers with several definitions may change between two accesses.
    const bool isStackPointer = o.isReg(File::R) && o.reg == ori::kStackPointer;
    if (o.isVirtual() ? function.vreg(o.reg).multiDef : !isStackPointer) return false;
    if (o.file == File::P) return false;
  }
  const int value = row.slotIndex(access.isStore ? isa::SlotId::Rb : isa::SlotId::Rd);
  return value >= 0 && instr.op_(static_cast<unsigned>(value)).isReg() &&
         !(access.isStore ? false : instr.op_(static_cast<unsigned>(value)).isZeroReg());
}

class Vectorizer {
 public:
  Vectorizer(ori::Function& function, PhaseContext& context) : function_(function), context_(context) {}

  bool run() {
    for (ori::Block* block : function_.layout())
      visit(*block);
    return changed_;
  }

 private:
  /// Analyses of the whole function, made for the first group that needs them.
  struct Facts {
    explicit Facts(const ori::Function& function)
        : alignment(function), liveness(function.analyses().liveness()), pressure(function.analyses().pressure()),
          live(function.blockIdCount()) {}
    Alignment alignment;
    const ori::Liveness& liveness;
    const ori::RegisterPressure& pressure;
    std::vector<std::vector<unsigned>> live; ///< by block, computed on demand: live registers before an instruction
  };

  void visit(const ori::Block& block) {
    at_ = 0;
    stores_.clear();
    findAligned(block);
    function_.forEachSafe(block, [&](Instr& instr) {
      ++at_;
      const isa::InstrDesc& row = isa::desc(instr.op);
      const bool isMemory = row.has(Flag::Load) || row.has(Flag::Store) || row.has(Flag::Atomic);
      if (!isMemory) {
        if (row.has(Flag::Fence) || row.has(Flag::Convergent) || row.has(Flag::SideEffect) || row.has(Flag::Branch))
          endAll();
        return;
      }
      const MemoryAccess access = accessOf(instr);
      const bool isWanted = isCandidate(function_, instr, access);
      // Nothing moves over an access that is ordered, or that the instruction table does not describe.
      if (!isWanted && (access.isOrdered || !access.isExact || row.has(Flag::Convergent))) {
        endAll();
        return;
      }
      endStoresBefore(access);
      if (access.isStore) stores_.push_back({access, at_});
      if (isWanted) add(instr, access);
    });
    endAll();
  }

  /// Wide accesses that each lane of the block makes: their addresses are aligned.
  void findAligned(const ori::Block& block) {
    aligned_.clear();
    for (const Instr& instr : block) {
      const isa::InstrDesc& row = isa::desc(instr.op);
      if (instr.isGuarded() || !(row.has(Flag::Load) || row.has(Flag::Store))) continue;
      if (isa::getMod(instr.op, instr.mods, Mod::AddrScale) != 0) continue;
      const MemoryAccess access = accessOf(instr);
      if (access.isExact && access.bytes > kWord) aligned_.push_back(access);
    }
  }

  /// Whether another access of the block shows that this address is a multiple of `wanted` bytes.
  bool isShownAligned(const MemoryAccess& access, unsigned wanted) const {
    return std::any_of(aligned_.begin(), aligned_.end(), [&](const MemoryAccess& other) {
      return other.bytes >= wanted && (access.offset - other.offset) % wanted == 0 && haveSameBases(access, other);
    });
  }

  /// Stores move to the last of their group. Ends the groups with stores that must precede this access.
  void endStoresBefore(const MemoryAccess& access) {
    endWhere([&](const Group& group) {
      return group.members.front().access.isStore &&
             std::any_of(group.members.begin(), group.members.end(), [&](const Member& m) {
               return mustStayInOrder(m.access, access, haveSameBases(m.access, access));
             });
    });
  }

  void add(Instr& instr, const MemoryAccess& access) {
    Group* group = nullptr;
    for (Group& each : groups_)
      if (isAlike(*each.members.front().instr, instr)) group = &each;
    if (group && !mayJoin(*group, access)) {
      end(*group);
      groups_.erase(groups_.begin() + (group - groups_.data()));
      group = nullptr;
    }
    if (!group) {
      if (groups_.size() == kMaxGroups) {
        end(groups_.front());
        groups_.erase(groups_.begin());
      }
      group = &groups_.emplace_back();
      group->firstAt = at_;
    }
    group->members.push_back({&instr, access, at_});
  }

  /// Whether the access may join. A load moves to the first of its group, which must not precede a store that it
  /// depends on.
  bool mayJoin(const Group& group, const MemoryAccess& access) const {
    if (at_ - group.firstAt > kFarthest || group.members.size() >= kMaxMembers) return false;
    if (access.isStore) return true; // checked by endStoresBefore
    return std::none_of(stores_.rbegin(), stores_.rend(), [&](const Store& store) {
      return store.at > group.firstAt && mustStayInOrder(store.access, access, haveSameBases(store.access, access));
    });
  }

  /// Whether both are the same instruction except for value and offset: the same bases, size and modifiers.
  static bool isAlike(const Instr& a, const Instr& b) {
    if (a.op != b.op || a.mods != b.mods || a.operandCount != b.operandCount) return false;
    const isa::InstrDesc& row = isa::desc(a.op);
    const int value = row.slotIndex(row.has(Flag::Store) ? isa::SlotId::Rb : isa::SlotId::Rd),
              offset = row.slotIndex(isa::SlotId::offset);
    for (int i = 0; i < a.operandCount; ++i)
      if (i != value && i != offset &&
          a.op_(static_cast<unsigned>(i)).value() != b.op_(static_cast<unsigned>(i)).value())
        return false;
    return true;
  }

  /// Whether the base registers are the same. Each has one definition, so they do not change in between.
  bool haveSameBases(const MemoryAccess& a, const MemoryAccess& b) const {
    const auto isSame = [&](const Operand& x, const Operand& y) {
      if (x.isNone() || y.isNone()) return x == y;
      return x == y && (!x.isVirtual() || !function_.vreg(x.reg).multiDef);
    };
    return isSame(a.base, b.base) && isSame(a.uniformBase, b.uniformBase);
  }

  template <typename Condition> void endWhere(Condition&& isOver) {
    std::erase_if(groups_, [&](Group& group) {
      if (!isOver(group)) return false;
      end(group);
      return true;
    });
  }

  void endAll() {
    endWhere([](const Group&) { return true; });
    stores_.clear();
  }

  /// Finds the sequences of adjacent members in a group and merges each into one access.
  void end(Group& group) {
    if (group.members.size() < 2) return;
    std::vector<Member> members = group.members;
    std::stable_sort(members.begin(), members.end(),
                     [](const Member& a, const Member& b) { return a.access.offset < b.access.offset; });
    const unsigned bytes = members.front().access.bytes;
    for (std::size_t i = 0; i + 1 < members.size();) {
      unsigned count = kWidest / bytes;
      while (count > 1 && count * bytes >= kWord && !isRun(std::span(members).subspan(i), count))
        count /= 2;
      if (count > 1 && count * bytes >= kWord && merge(group, std::span(members).subspan(i, count)))
        i += count;
      else
        ++i;
    }
  }

  bool isRun(std::span<const Member> members, unsigned count) {
    if (members.size() < count) return false;
    const MemoryAccess& first = members.front().access;
    const unsigned wanted = first.bytes * count;
    for (unsigned i = 1; i < count; ++i)
      if (members[i].access.offset != first.offset + static_cast<std::int64_t>(i) * first.bytes) return false;
    if (isShownAligned(first, wanted)) return true;
    if (first.offset % wanted != 0) return false;
    unsigned known = Alignment::kMax;
    for (const Operand& base : {first.base, first.uniformBase})
      known = std::min(known, facts().alignment.zeros(base));
    if ((1u << known) % wanted == 0) return true;
    context_.remarks.missed(members.front().instr,
                            fmt::format("not vectorized: base alignment is known only to {} bytes", 1u << known),
                            wanted);
    return false;
  }

  bool merge(const Group& group, std::span<const Member> run) {
    const Instr& model = *run.front().instr;
    const isa::InstrDesc& row = isa::desc(model.op);
    const bool isStore = run.front().access.isStore;
    const unsigned bytes = run.front().access.bytes, each = bytes / kWord;
    const unsigned words = bytes * static_cast<unsigned>(run.size()) / kWord;
    const ori::BlockId block = model.block->id;
    if (!hasRoom(block, run)) {
      context_.remarks.missed(&model, "not vectorized: register pressure is too high", words);
      return false;
    }
    // Members of a group are in program order.
    Instr* place = nullptr;
    for (const Member& m : group.members) {
      const bool isOurs = std::any_of(run.begin(), run.end(), [&](const Member& r) { return r.instr == m.instr; });
      if (isOurs && (!place || isStore)) place = m.instr;
    }
    const auto value = row.slot(isStore ? isa::SlotId::Rb : isa::SlotId::Rd);
    const auto offset = row.slot(isa::SlotId::offset);
    const Operand tuple = function_.use(newTuple(words));

    ori::Builder b = ori::Builder::before(function_, place);
    b.setSource(place->source);
    std::vector<Operand> operands;
    for (const ori::Operand& o : model.ops())
      operands.push_back(o.value());
    operands[value] = tuple;
    operands[offset] = model.op_(offset).value();
    if (isStore)
      for (unsigned i = 0; i < run.size(); ++i)
        copyWords(b, tuple, each * i, run[i].instr->op_(value).value(), 0, each);
    std::vector<isa::ModValue> mods;
    for (unsigned i = 0; i < row.modCount; ++i)
      mods.push_back({row.mods[i].kind, row.mods[i].kind == Mod::Size ? sizeOf(words) : model.mods[i]});
    Instr* wide = b.emit(model.op, operands, mods);
    wide->mayContract = true;
    if (!isStore)
      for (unsigned i = 0; i < run.size(); ++i) {
        const Operand result = run[i].instr->op_(value).value();
        if (each == 0)
          extract(*run[i].instr, result, ori::component(tuple, bytes * i / kWord), bytes * i % kWord, run[i].access);
        else
          b.copy(result, ori::component(tuple, each * i, each));
      }
    context_.remarks.applied(wide,
                             fmt::format("vectorized {} accesses into one of {} bytes", run.size(), kWord * words),
                             static_cast<std::int64_t>(run.size()) - 1);
    for (const Member& m : run) {
      // The bytes of earlier stores are written here now.
      if (isStore) stores_.push_back({m.access, at_});
      function_.erase(m.instr);
    }
    changed_ = true;
    return true;
  }

  ori::VRegId newTuple(unsigned words) {
    const ori::VRegId id = function_.newVReg(File::R, words);
    function_.vreg(id).align = static_cast<std::uint8_t>(ori::defaultAlign(words));
    return id;
  }

  /// Zeros have no components to copy from.
  static void copyWords(ori::Builder& b, const Operand& to, unsigned at, const Operand& from, unsigned first,
                        unsigned count) {
    if (!from.isZeroReg()) {
      b.copy(ori::component(to, at, count), ori::component(from, first, count));
      return;
    }
    for (unsigned k = 0; k < count; ++k)
      b.copy(ori::component(to, at + k, 1), Operand::rz());
  }

  /// At the load's position, extracts its bytes from the word and extends them as the load did.
  void extract(Instr& load, const Operand& result, const Operand& word, unsigned at, const MemoryAccess& access) {
    const auto size = isa::modAs<isa::MemSize>(load, Mod::Size);
    const bool isSigned = size == isa::MemSize::S8 || size == isa::MemSize::S16;
    constexpr unsigned kOtherSource = 4, kReplicateSign = 8; // in the selector of a byte
    const unsigned filler = isSigned ? kReplicateSign | (at + access.bytes - 1) : kOtherSource;
    unsigned selector = 0;
    for (unsigned i = 0; i < kWord; ++i)
      selector |= (i < access.bytes ? at + i : filler) << (4 * i);
    ori::Builder b = ori::Builder::before(function_, &load);
    b.setSource(load.source);
    b.emit(Op::PRMT, {result, word, Operand::immediate(static_cast<std::int32_t>(selector)), Operand::rz()});
  }

  static std::uint8_t sizeOf(unsigned words) {
    return static_cast<std::uint8_t>(words == 1   ? isa::MemSize::B32
                                     : words == 2 ? isa::MemSize::B64
                                                  : isa::MemSize::B128);
  }

  /// Loaded values are in registers from the first access on, stored ones up to the last. Returns whether as many warps
  /// as before fit with that.
  bool hasRoom(ori::BlockId block, std::span<const Member> run) {
    constexpr auto kFile = static_cast<unsigned>(File::R);
    const unsigned limit = registersUpToCliff(function_, std::max(facts().pressure.maximum()[kFile], kCheap), context_);
    const bool isStore = run.front().access.isStore;
    const auto [first, last] = std::ranges::minmax(run, {}, &Member::at);
    std::vector<unsigned> more(last.at - first.at, 0);
    const unsigned bytes = run.front().access.bytes;
    // Of the values in one word, the last one keeps it in a register.
    const std::size_t together = bytes < kWord ? kWord / bytes : 1;
    for (std::size_t i = 0; i < run.size(); i += together) {
      const Member& m = *std::ranges::max_element(run.subspan(i, together), {}, &Member::at);
      for (unsigned at = isStore ? m.at : first.at; at < (isStore ? last.at : m.at); ++at)
        more[at - first.at] += bytes < kWord ? 1 : bytes / kWord;
    }
    std::vector<unsigned>& live = liveIn(block);
    for (unsigned i = 0; i < more.size(); ++i)
      if (live[first.at + i] + more[i] > limit) return false;
    for (unsigned i = 0; i < more.size(); ++i)
      live[first.at + i] += more[i];
    return true;
  }

  /// Live registers before each instruction of the original block, plus those that this phase has added.
  std::vector<unsigned>& liveIn(ori::BlockId block) {
    std::vector<unsigned>& live = facts().live[block];
    if (live.empty())
      for (const ori::FileCounts& counts : ori::liveBefore(facts().liveness, *function_.block(block)))
        live.push_back(counts[static_cast<unsigned>(File::R)]);
    return live;
  }

  Facts& facts() {
    if (!facts_) facts_.emplace(function_);
    return *facts_;
  }

  struct Store {
    MemoryAccess access;
    unsigned at;
  };

  ori::Function& function_;
  PhaseContext& context_;
  std::optional<Facts> facts_;
  std::vector<Group> groups_;         // of the current block, the oldest first
  std::vector<Store> stores_;         // since the last fence
  std::vector<MemoryAccess> aligned_; // in this block
  unsigned at_ = 0;
  bool changed_ = false;
};

} // namespace

/// Phase 41b. Merges loads and stores of adjacent words into one of 8 or 16 bytes. Merges loads of adjacent bytes or
/// halves into one of 4, 8 or 16 bytes and permutes, which later phases fold into half-precision arithmetic. The
/// address must be known to be aligned: by shifts and products, the layout of shared memory, the frame, or a wide
/// access to the same base in the block. Loads move to the first of them, stores to the last, never over a barrier, an
/// ordered access, or one that may touch the same bytes. No additional bytes are accessed.
bool vectorization(ori::Function& function, PhaseContext& context) {
  return function.ssa && Vectorizer(function, context).run();
}

} // namespace orias::phases
