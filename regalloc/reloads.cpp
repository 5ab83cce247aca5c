#include "regalloc/reloads.h"

#include "encoder/isa/target.h"
#include "ori/analysis/analyses.h"
#include "ori/module.h"
#include "regalloc/accumulators.h"
#include "regalloc/forwarding.h"
#include "regalloc/live_ranges.h"

#include <algorithm>
#include <bit>
#include <optional>

namespace orias::regalloc {

using isa::File;
using ori::Instr;
using ori::Operand;

namespace {

constexpr std::uint32_t kNothing = ~0u;

/// A run of registers, or of words of spill slots.
struct Run {
  std::uint32_t first = 0, count = 0;
  bool overlaps(const Run& other) const { return first < other.first + other.count && other.first < first + count; }
};

class Forwarder {
 public:
  Forwarder(ori::Function& function, SpillState& state)
      : function_(function), state_(state), cfg_(function.analyses().cfg()),
        registers_(function.module().target().registerCount(File::R)), held_(cfg_, registers_, kNothing) {
    std::uint32_t words = 0;
    for (const ori::FrameObject& object : function.frame) {
      firstWord_.push_back(words);
      if (object.isSpill) words += object.size / 4;
    }
    for (ori::VRegId v = 0; v < function.vregCount(); ++v) {
      firstConstant_.push_back(words);
      words += function.vreg(v).width;
    }
  }

  void run() {
    for (const ori::BlockId id : cfg_.reversePostOrder()) {
      held_.enter(id);
      for (Instr *instr = function_.block(id)->first, *next; instr; instr = next) {
        next = instr->next;
        step(*instr);
      }
      held_.leave(id);
    }
  }

 private:
  void step(Instr& instr) {
    const auto move = state_.assignment.spillMoves.find(instr.id);
    const std::optional<Run> words =
        move != state_.assignment.spillMoves.end() ? wordsOf(instr, move->second) : std::nullopt;
    if (!words) return forgetResults(instr);
    const Operand& reg = instr.op_(move->second.reg);
    if (move->second.kind != SpillMove::Kind::Store) {
      if (forward(instr, reg, *words)) return;
      forgetResults(instr);
    } else {
      if (const std::optional<Run> place = placeOf(reg); place && isHeldIn(place->first, *words)) {
        remove(instr);
        return;
      }
      for (std::uint32_t& held : held_.now)
        if (held != kNothing && words->overlaps({held, 1})) held = kNothing;
      if (instr.isGuarded()) return;
    }
    if (const std::optional<Run> place = placeOf(reg))
      for (std::uint32_t i = 0; i < words->count; ++i)
        held_.now[place->first + i] = words->first + i;
  }

  /// The words that a store or a reload accesses. A rematerialized constant counts as a reload.
  std::optional<Run> wordsOf(const Instr& instr, const SpillMove& move) const {
    if (move.kind == SpillMove::Kind::Remat) return constantOf(instr, instr.op_(move.reg));
    if (move.kind != SpillMove::Kind::Load && move.kind != SpillMove::Kind::Store) return std::nullopt;
    for (const Operand& o : instr.ops())
      if (o.kind == isa::Operand::Kind::Frame && function_.frame[o.reg].isSpill)
        return Run{firstWord_[o.reg] + static_cast<std::uint32_t>(o.imm) / 4, instr.op_(move.reg).width};
    return std::nullopt;
  }

  /// The numbers of a value that is the same in each iteration, as its instruction reads no registers.
  std::optional<Run> constantOf(const Instr& instr, const Operand& result) const {
    if (!result.isReg(File::R) || !result.isVirtual()) return std::nullopt;
    for (const Operand& o : instr.refs())
      if (!o.isDef && o.isVirtual()) return std::nullopt;
    return Run{firstConstant_[state_.assignment.standsFor[result.reg]] + state_.assignment.partOf[result.reg] +
                   result.sub,
               std::max<std::uint32_t>(result.width, 1)};
  }

  std::optional<Run> placeOf(const Operand& o) const {
    if (!o.isReg(File::R) || o.isZeroReg()) return std::nullopt;
    const std::uint32_t count = std::max<std::uint32_t>(o.width, 1);
    if (!o.isVirtual()) return Run{o.reg, count};
    const std::uint32_t first = state_.assignment.physical[o.reg];
    return first == kNothing ? std::nullopt : std::optional(Run{first + o.sub, count});
  }

  void forgetResults(const Instr& instr) {
    for (const Operand& o : instr.ops())
      if (o.isDef)
        if (const std::optional<Run> place = placeOf(o))
          std::fill_n(held_.now.begin() + place->first, place->count, kNothing);
    if (changesHidden(instr))
      for (std::uint32_t r = 0; r < registers_; ++r)
        if (changesHidden(instr, File::R, r)) held_.now[r] = kNothing;
  }

  /// Reads the words from registers that hold them; false if none do.
  bool forward(Instr& load, const Operand& temp, const Run& words) {
    const std::optional<Run> own = placeOf(temp);
    if (!own || load.isGuarded()) return false;
    if (isHeldIn(own->first, words)) {
      remove(load);
      return true;
    }
    const Instr* reader = onlyReader(function_, load, temp);
    if (!reader || sumSlotsOf(*reader)) return false; // operands of a wgmma are tied to their registers
    const std::uint32_t align = std::max<std::uint32_t>(std::bit_ceil(words.count), function_.vreg(temp.reg).align);
    for (std::uint32_t r = 0; r + words.count <= registers_; r += align) {
      if (!isHeldIn(r, words) || !staysUntil(load, *reader, [&](const Instr& at) {
            return writes(at, {r, words.count});
          }))
        continue;
      state_.assignment.physical[temp.reg] = r;
      remove(load);
      return true;
    }
    return false;
  }

  bool isHeldIn(std::uint32_t first, const Run& words) const {
    for (std::uint32_t i = 0; i < words.count; ++i)
      if (held_.now[first + i] != words.first + i) return false;
    return true;
  }

  bool writes(const Instr& instr, const Run& place) const {
    for (std::uint32_t r = place.first; r < place.first + place.count; ++r)
      if (changesHidden(instr, File::R, r)) return true;
    return std::ranges::any_of(instr.ops(), [&](const Operand& o) {
      const std::optional<Run> written = o.isDef ? placeOf(o) : std::nullopt;
      return written && written->overlaps(place);
    });
  }

  void remove(Instr& instr) {
    const auto move = state_.assignment.spillMoves.find(instr.id);
    const unsigned bytes = 4 * instr.op_(move->second.reg).width;
    if (move->second.kind == SpillMove::Kind::Load) state_.loadBytes -= bytes;
    if (move->second.kind == SpillMove::Kind::Store) state_.storeBytes -= bytes;
    state_.assignment.spillMoves.erase(move);
    function_.erase(&instr);
  }

  ori::Function& function_;
  SpillState& state_;
  const ori::Cfg& cfg_;
  const std::uint32_t registers_;
  std::vector<std::uint32_t> firstWord_;     // by frame object
  std::vector<std::uint32_t> firstConstant_; // by virtual register: its numbers if it is a rematerialized constant
  HeldValues<std::uint32_t> held_;           // by register: the word that it holds
};

} // namespace

void forwardReloads(ori::Function& function, SpillState& state) {
  if (state.loadBytes != 0 || state.rematerialised != 0) Forwarder(function, state).run();
}

} // namespace orias::regalloc
