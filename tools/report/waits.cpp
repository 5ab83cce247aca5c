#include "tools/report/waits.h"

#include "encoder/isa/codec.h"
#include "encoder/isa/effects.h"
#include "encoder/isa/target.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace orias::report {

namespace {

constexpr unsigned kScoreboards = 6;

using Decoded = std::vector<std::optional<isa::Inst>>;

Decoded decodeAll(std::span<const isa::Word> words, const isa::Target& target) {
  Decoded all;
  all.reserve(words.size());
  for (const isa::Word& word : words)
    all.push_back(isa::decodeFor(target, word));
  return all;
}

/// An instruction that uses a scoreboard.
struct Taker {
  std::uint32_t at = 0;
  bool isForSources = false;
  friend auto operator<=>(const Taker&, const Taker&) = default;
};
/// By scoreboard; sorted.
using Takers = std::array<std::vector<Taker>, kScoreboards>;

/// Adds the missing elements; true if there were any.
bool unite(Takers& into, const Takers& from) {
  bool hasGrown = false;
  for (unsigned s = 0; s < kScoreboards; ++s) {
    std::vector<Taker> all;
    std::ranges::set_union(into[s], from[s], std::back_inserter(all));
    hasGrown |= all.size() != into[s].size();
    into[s] = std::move(all);
  }
  return hasGrown;
}

void take(Takers& takers, std::uint8_t scoreboard, Taker taker) {
  if (scoreboard >= kScoreboards) return;
  std::vector<Taker>& of = takers[scoreboard];
  const auto place = std::ranges::lower_bound(of, taker);
  if (place == of.end() || *place != taker) of.insert(place, taker);
}

/// Processes one instruction. `found` is null until the takers at the starts of blocks are known.
void step(std::uint32_t at, const isa::Inst& inst, Takers& takers, std::vector<Wait>* found) {
  unsigned awaited = isa::awaitedScoreboards(inst), tested = awaited;
  if (inst.op == isa::Op::DEPBAR_LE) {
    const isa::InstrDesc& row = isa::desc(inst.op);
    const auto number = [&](isa::SlotId slot) { return static_cast<unsigned>(inst.operands[row.slot(slot)].imm); };
    // With a count, the newest ones may still be in flight.
    if (number(isa::SlotId::sb) < kScoreboards) {
      tested |= 1u << number(isa::SlotId::sb);
      if (number(isa::SlotId::count) == 0) awaited |= 1u << number(isa::SlotId::sb);
    }
  }
  for (unsigned s = 0; s < kScoreboards; ++s) {
    if ((tested >> s & 1) == 0) continue;
    if (found)
      for (const Taker& taker : takers[s])
        found->push_back({at, taker.at, static_cast<std::uint8_t>(s), taker.isForSources});
    if ((awaited >> s & 1) != 0) takers[s].clear();
  }
  take(takers, inst.control.writeBarrier, {at, false});
  take(takers, inst.control.readBarrier, {at, true});
}

using Unit = std::uint32_t; ///< file << 8 | register; scoreboards follow them
constexpr Unit kFirstScoreboard = isa::kFileCount << 8;

isa::File fileOf(Unit unit) {
  return static_cast<isa::File>(unit >> 8);
}

/// An access to a register, or the use of a scoreboard, before the current instruction.
struct Event {
  Unit unit = 0;
  bool isWrite = false;
  isa::Access access;
  std::uint32_t at = 0;
  std::int32_t issued = 0;
};

/// The stalls of one block.
class BlockStalls {
 public:
  BlockStalls(const Decoded& decoded, const isa::Target& target) : decoded_(decoded), target_(target) {}

  void run(const encoder::FlowBlock& block, std::vector<StallCause>& found) {
    std::vector<std::int32_t> slack(block.end - block.first, std::numeric_limits<std::int32_t>::max());
    std::vector<StallCause> causes(slack.size());
    std::vector<Event> events;
    std::int32_t now = 0;
    for (std::uint32_t at = block.first; at < block.end; ++at) {
      if (!decoded_[at]) continue;
      const isa::Inst& inst = *decoded_[at];
      std::erase_if(events, [&](const Event& e) {
        return now - e.issued > static_cast<std::int32_t>(target_.maxFixedLatency());
      });
      const auto need = [&](const Event& e, unsigned cycles) {
        const std::int32_t left = now - e.issued - static_cast<std::int32_t>(cycles);
        for (std::uint32_t i = e.at; i < at; ++i)
          if (left < slack[i - block.first] && left + 1 < stallOf(i)) {
            slack[i - block.first] = left;
            causes[i - block.first] = {i, e.at, at};
          }
      };
      for (const Event& e : events)
        if (e.unit >= kFirstScoreboard && (isa::awaitedScoreboards(inst) >> (e.unit - kFirstScoreboard) & 1) != 0)
          need(e, target_.scoreboardDelay());
      std::vector<Event> own;
      isa::forEachTouch(inst, target_, [&](const isa::Touch& touch) {
        const Unit unit = static_cast<Unit>(touch.file) << 8 | touch.reg;
        if (touch.file == isa::File::B) return;
        for (const Event& e : events)
          if (e.unit == unit && (e.isWrite || touch.isDef)) need(e, latency(e, touch));
        if (!touch.isLate) own.push_back({unit, touch.isDef, touch.access, at, now});
      });
      for (const std::uint8_t s : {inst.control.writeBarrier, inst.control.readBarrier})
        if (s < kScoreboards) own.push_back({kFirstScoreboard + s, true, {}, at, now});
      // Overwritten events no longer matter: later instructions depend on the newer one.
      std::erase_if(events, [&](const Event& e) {
        return std::ranges::any_of(own, [&](const Event& o) { return o.isWrite && o.unit == e.unit; });
      });
      events.insert(events.end(), own.begin(), own.end());
      now += stallOf(at);
    }
    for (std::size_t i = 0; i < slack.size(); ++i)
      if (slack[i] != std::numeric_limits<std::int32_t>::max()) found.push_back(causes[i]);
  }

 private:
  /// A stall count of 0 waits for everything in flight.
  std::int32_t stallOf(std::uint32_t at) const {
    if (!decoded_[at]) return 1;
    const unsigned stall = decoded_[at]->control.stall;
    return static_cast<std::int32_t>(stall != 0 ? stall : target_.maxFixedLatency());
  }
  unsigned latency(const Event& e, const isa::Touch& touch) const {
    const isa::File file = fileOf(e.unit);
    if (!e.isWrite) return target_.warLatency(file, e.access, touch.access).cycles;
    return (touch.isDef ? target_.wawLatency(file, e.access, touch.access)
                        : target_.rawLatency(file, e.access, touch.access))
        .cycles;
  }

  const Decoded& decoded_;
  const isa::Target& target_;
};

} // namespace

std::vector<Wait> scoreboardWaits(std::span<const isa::Word> words, const encoder::IndirectTargets& indirect,
                                  const isa::Target& target) {
  if (words.empty()) return {};
  const Decoded decoded = decodeAll(words, target);
  const auto blocks = encoder::flowBlocks(encoder::flowsOf(words, target), indirect);
  const auto through = [&](const encoder::FlowBlock& block, Takers takers, std::vector<Wait>* found) {
    for (std::uint32_t at = block.first; at < block.end; ++at)
      if (decoded[at]) step(at, *decoded[at], takers, found);
    return takers;
  };
  std::vector<Takers> in(blocks.size());
  std::vector<char> isDirty(blocks.size(), 1);
  for (bool isChanging = true; isChanging;) {
    isChanging = false;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (!isDirty[b]) continue;
      isDirty[b] = 0;
      const Takers out = through(blocks[b], in[b], nullptr);
      for (const encoder::FlowEdge& edge : blocks[b].successors)
        if (unite(in[edge.to], out)) {
          isDirty[edge.to] = 1;
          isChanging = true;
        }
    }
  }
  std::vector<Wait> found;
  for (std::size_t b = 0; b < blocks.size(); ++b)
    through(blocks[b], in[b], &found);
  return found;
}

std::vector<StallCause> stallCauses(std::span<const isa::Word> words, const encoder::IndirectTargets& indirect,
                                    const isa::Target& target) {
  if (words.empty()) return {};
  const Decoded decoded = decodeAll(words, target);
  std::vector<StallCause> found;
  BlockStalls stalls(decoded, target);
  for (const encoder::FlowBlock& block : encoder::flowBlocks(encoder::flowsOf(words, target), indirect))
    stalls.run(block, found);
  return found;
}

} // namespace orias::report
