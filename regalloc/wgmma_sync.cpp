#include "regalloc/wgmma_sync.h"

#include "encoder/isa/desc.h"
#include "encoder/isa/effects.h"
#include "ori/builder.h"
#include "ori/module.h"
#include "support/check.h"

#include <algorithm>
#include <array>
#include <bitset>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

namespace orias::regalloc {

using isa::File;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr unsigned kRegisters = 256;
/// The number of groups that a wait may leave in flight has three bits.
constexpr std::uint8_t kOldest = 8, kNotUnderWay = 0xff;

bool isProduct(const Instr& instr) {
  return isa::desc(instr.op).latencyClass == isa::LatencyClass::Gmma;
}

/// Whether this is the empty product that ends a group without other products.
bool isEmptyProduct(const Instr& instr) {
  return instr.op_(0).isZeroReg();
}

unsigned slotOf(const Instr& instr, isa::SlotId name) {
  return isa::desc(instr.op).slot(name);
}

bool closesGroup(const Instr& product) {
  return product.op_(slotOf(product, isa::SlotId::gsb)).imm == 0;
}

unsigned leftUnderWay(const Instr& wait) {
  return static_cast<unsigned>(wait.op_(slotOf(wait, isa::SlotId::count)).imm);
}

/// Whether this copies a register to itself after allocation; phase 107 removes it.
bool isIdle(const Instr& instr) {
  return isa::desc(instr.op).has(isa::Flag::Copy) && instr.op_(0).isReg() && instr.op_(1).isReg() &&
         instr.op_(0).file == instr.op_(1).file && instr.op_(0).reg == instr.op_(1).reg &&
         instr.op_(0).width == instr.op_(1).width;
}

/// A register that a wgmma in flight writes or reads.
struct Use {
  /// How many groups have ended since, including that of the product; 0: it is in no group yet.
  std::uint8_t written = kNotUnderWay, read = kNotUnderWay;
  std::uint16_t sum = 0; ///< the sum that it belongs to: products of one sum run in order

  friend bool operator==(const Use&, const Use&) = default;
};
using State = std::array<Use, kRegisters>;

class Orderer {
 public:
  Orderer(ori::Function& function, const std::function<void(const Instr&, std::string)>& tell)
      : function_(function), tell_(tell) {}

  void run() {
    for (ori::Block* block : function_.layout())
      for (const Instr& instr : *block)
        hasProducts_ |= isProduct(instr);
    if (!hasProducts_) return;
    for (ori::Block* block : function_.layout())
      closeGroups(*block);
    solve();
    isChanging_ = true;
    for (ori::Block* block : function_.layout()) {
      State state = entry_[block->id];
      walk(*block, state);
    }
  }

 private:
  // --- groups

  void close(Instr* product) {
    if (product) function_.setOperand(product, slotOf(*product, isa::SlotId::gsb), Operand::immediate(0));
  }

  /// The last product before the end of a group closes it; so does the last one of a block, or the last one before a
  /// wait. With more groups than before, a wait waits for more, never for less.
  void closeGroups(ori::Block& block) {
    Instr* open = nullptr;
    function_.forEachSafe(block, [&](Instr& instr) {
      if (isProduct(instr)) {
        if (!isEmptyProduct(instr)) {
          open = &instr;
          return;
        }
        if (open) function_.erase(&instr);
      } else if (instr.op != Op::WARPGROUP_DEPBAR && !leaves(instr)) {
        return;
      }
      close(open);
      open = nullptr;
    });
    close(open);
  }

  /// Whether the instruction transfers control to other code, which does not know what is in flight.
  static bool leaves(const Instr& instr) {
    if (instr.op == Op::CALL_REL || instr.op == Op::RET) return true;
    if (isa::desc(instr.op).latencyClass != isa::LatencyClass::Branch) return false;
    bool isToBlock = false, isElsewhere = false;
    for (const ori::Operand& o : instr.ops()) {
      isToBlock |= o.isLabel();
      isElsewhere |= o.kind == Operand::Kind::Symbol || o.isReg(File::R);
    }
    return isElsewhere && !isToBlock;
  }

  // --- products in flight

  void solve() {
    entry_.assign(function_.blockIdCount(), State{});
    for (bool again = true; again;) {
      again = false;
      for (ori::Block* block : function_.layout()) {
        State state = entry_[block->id];
        walk(*block, state);
        function_.forEachSuccessor(*block, [&](ori::BlockId to) { again |= join(entry_[to], state); });
      }
    }
  }

  static bool join(State& into, const State& from) {
    bool changed = false;
    for (unsigned r = 0; r < kRegisters; ++r) {
      Use both = into[r];
      both.written = std::min(both.written, from[r].written);
      both.read = std::min(both.read, from[r].read);
      if (into[r].written == kNotUnderWay)
        both.sum = from[r].sum;
      else if (from[r].written != kNotUnderWay && from[r].sum != both.sum)
        both.sum = kNoSum; // registers of several sums
      changed |= !(both == into[r]);
      into[r] = both;
    }
    return changed;
  }

  /// One number for products of the same shape that write their sums to the same registers.
  std::uint16_t sumOf(const Instr& product) {
    const Sum key{isa::desc(product.op).name, isa::getMod(product.op, product.mods, isa::Mod::Geometry),
                  product.op_(0).reg, product.op_(0).width};
    const auto at = std::find(sums_.begin(), sums_.end(), key);
    if (at == sums_.end()) sums_.push_back(key);
    return static_cast<std::uint16_t>(1 + (at == sums_.end() ? sums_.size() - 1 : at - sums_.begin()));
  }

  /// Counts the end of a group.
  static void age(State& state) {
    for (Use& use : state)
      for (std::uint8_t* since : {&use.written, &use.read})
        if (*since != kNotUnderWay) *since = std::min<std::uint8_t>(kOldest, *since + 1);
  }

  static void await(State& state, unsigned left) {
    for (Use& use : state)
      for (std::uint8_t* since : {&use.written, &use.read})
        if (*since > left) *since = kNotUnderWay;
    for (Use& use : state)
      if (use.written == kNotUnderWay) use.sum = kNoSum;
  }

  /// How many groups have ended since the youngest product whose registers the instruction would disturb.
  std::uint8_t disturbed(const State& state, const Instr& instr) {
    std::uint8_t since = kNotUnderWay;
    if (leaves(instr)) {
      for (const Use& use : state)
        since = std::min({since, use.written, use.read});
      return since;
    }
    const bool multiplies = isProduct(instr);
    const std::uint16_t sum = multiplies && !isEmptyProduct(instr) ? sumOf(instr) : kNoSum;
    forEachRegister(instr, [&](std::uint32_t reg, bool isDef, bool isSum) {
      const Use& use = state[reg];
      if (!isSum || use.sum == kNoSum || use.sum != sum) since = std::min(since, use.written);
      if (isDef) since = std::min(since, use.read);
    });
    return since;
  }

  template <typename F> void forEachRegister(const Instr& instr, F&& f) const {
    const bool multiplies = isProduct(instr);
    isa::forEachTouch(
        instr.op, std::span<const std::uint8_t, isa::kMaxMods>(instr.mods), instr.guard(),
        std::span<const ori::Operand>(instr.ops()), function_.module().target(), [&](const isa::Touch& t) {
          if (t.file != File::R || t.reg >= kRegisters) return;
          const bool isSum = multiplies && (t.isDef || t.operand == &instr.op_(slotOf(instr, isa::SlotId::Rc)));
          f(t.reg, t.isDef, isSum);
        });
  }

  // --- blocks

  void walk(ori::Block& block, State& state) {
    Instr* open = nullptr; // a product in no group yet
    bool hasArrived = false;
    std::bitset<kRegisters> written; // since the last WARPGROUP.ARRIVE
    function_.forEachSafe(block, [&](Instr& instr) {
      if (isIdle(instr)) return;
      if (const std::uint8_t since = disturbed(state, instr); since != kNotUnderWay) {
        if (since == 0) {
          if (isChanging_) close(open);
          open = nullptr;
          age(state);
        }
        const unsigned left = since == 0 ? 0u : since - 1u;
        await(state, left);
        if (isChanging_) waitBefore(instr, left);
        hasArrived = false;
      }
      if (instr.op == Op::WARPGROUP_ARRIVE) {
        hasArrived = true;
        written.reset();
      } else if (instr.op == Op::WARPGROUP_DEPBAR) {
        await(state, leftUnderWay(instr));
        hasArrived = false;
      } else if (isProduct(instr)) {
        bool isReady = hasArrived;
        forEachRegister(instr, [&](std::uint32_t reg, bool, bool) { isReady &= !written.test(reg); });
        if (!isReady && isChanging_) builderBefore(instr).emit(Op::WARPGROUP_ARRIVE, {});
        if (!isReady) written.reset();
        begin(state, instr);
        hasArrived = !closesGroup(instr); // each group needs its own WARPGROUP.ARRIVE
        open = closesGroup(instr) ? nullptr : &instr;
      } else {
        forEachRegister(instr, [&](std::uint32_t reg, bool isDef, bool) {
          if (isDef) written.set(reg);
        });
      }
    });
  }

  void begin(State& state, const Instr& product) {
    if (!isEmptyProduct(product)) {
      const std::uint16_t sum = sumOf(product);
      forEachRegister(product, [&](std::uint32_t reg, bool, bool isSum) {
        ORIAS_CHECK(isSum || reg - product.op_(0).reg >= product.op_(0).width, "a wgmma overwrites its own operand");
        if (isSum) {
          state[reg].written = 0;
          state[reg].sum = sum;
        } else {
          state[reg].read = 0;
        }
      });
    }
    if (closesGroup(product)) age(state);
  }

  ori::Builder builderBefore(Instr& instr) {
    ori::Builder b = ori::Builder::before(function_, &instr);
    b.setSource(instr.source);
    return b;
  }

  void waitBefore(Instr& instr, unsigned left) {
    builderBefore(instr).emit(Op::WARPGROUP_DEPBAR,
                              {Operand::immediate(0), Operand::immediate(static_cast<int>(left))});
    if (tell_)
      tell_(instr, leaves(instr) ? "wgmma wait inserted before a call"
                                 : "wgmma wait inserted: the instruction uses registers of a wgmma in flight");
  }

  using Sum = std::tuple<std::string_view, unsigned, std::uint32_t, unsigned>;
  static constexpr std::uint16_t kNoSum = 0;

  ori::Function& function_;
  const std::function<void(const Instr&, std::string)>& tell_;
  bool hasProducts_ = false, isChanging_ = false;
  std::vector<State> entry_; // by block
  std::vector<Sum> sums_;
};

} // namespace

bool isWgmmaInput(const Instr& instr, const ori::Operand& operand) {
  if (!isProduct(instr) || operand.isDef || !operand.isReg(File::R)) return false;
  return &operand != &instr.op_(slotOf(instr, isa::SlotId::Rc)) && &operand != &instr.guard();
}

bool pinWgmmaInputs(ori::Function& function) {
  bool changed = false;
  for (ori::Block* block : function.layout())
    function.forEachSafe(*block, [&](Instr& product) {
      if (!isProduct(product)) return;
      std::vector<Operand> factors;
      for (const ori::Operand& o : product.ops()) {
        if (!isWgmmaInput(product, o) || o.isZeroReg()) continue;
        Operand plain = o.value();
        plain.flags = static_cast<std::uint8_t>(plain.flags & ~Operand::kNeg);
        factors.push_back(plain);
      }
      if (factors.empty()) return;
      Instr* at = product.next;
      for (unsigned ended = 0; at; at = at->next) { // groups that have ended, including that of the product
        ended += isProduct(*at) && isEmptyProduct(*at);
        if (at->op == Op::WARPGROUP_DEPBAR && ended > leftUnderWay(*at)) {
          at = at->next;
          break;
        }
        if (isa::desc(at->op).has(isa::Flag::Terminator) || isa::desc(at->op).has(isa::Flag::Branch)) break;
      }
      ori::Builder b = at ? ori::Builder::before(function, at) : ori::Builder(function, block);
      b.setSource(product.source);
      for (const Operand& o : factors)
        b.emit(Op::KEEP, {o});
      changed = true;
    });
  return changed;
}

void unpinWgmmaInputs(ori::Function& function) {
  for (ori::Block* block : function.layout())
    function.forEachSafe(*block, [&](Instr& instr) {
      if (instr.op == Op::KEEP) function.erase(&instr);
    });
}

void insertWgmmaWaits(ori::Function& function, const std::function<void(const Instr&, std::string)>& tell) {
  Orderer(function, tell).run();
}

} // namespace orias::regalloc
