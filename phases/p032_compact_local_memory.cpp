#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "phases/address_flow.h"
#include "phases/frame_objects.h"
#include "phases/phases.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <vector>

namespace orias::phases {

using isa::Operand;
using ori::Instr;

namespace {

constexpr std::uint32_t kWordBytes = 4;
/// Frames with more words are skipped: the sets would get too large.
constexpr std::size_t kMaxWords = 1 << 14;

/// A set of small numbers.
class Bits {
 public:
  explicit Bits(std::size_t count = 0) : words_((count + 63) / 64) {}
  bool has(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void set(std::size_t i, bool value) {
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    words_[i / 64] = value ? words_[i / 64] | bit : words_[i / 64] & ~bit;
  }
  /// Adds the others. Returns whether any of them are new.
  bool add(const Bits& others) {
    bool isMore = false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      isMore |= (others.words_[i] & ~words_[i]) != 0;
      words_[i] |= others.words_[i];
    }
    return isMore;
  }
  friend bool operator==(const Bits&, const Bits&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

/// The accesses to frame objects all of whose addresses can be followed, block by block.
class FrameAccesses {
 public:
  FrameAccesses(ori::Function& function, const PhaseContext& context)
      : function_(function), cfg_(function.analyses().cfg()), flow_(function, addressAssumptions(context.knobs)) {
    for (std::uint32_t i = 0; i < function.frame.size(); ++i) {
      first_.push_back(words_);
      if (!flow_.obstacle(i)) words_ += (function.frame[i].size + kWordBytes - 1) / kWordBytes;
    }
    first_.push_back(words_);
    byBlock_.resize(cfg_.idCount());
    for (const FrameAccess& a : flow_.accesses())
      byBlock_[a.instr->block->id].push_back(a);
  }

  ori::Function& function() const { return function_; }
  const ori::Cfg& cfg() const { return cfg_; }
  bool isKnown(std::uint32_t object) const { return !flow_.obstacle(object); }
  std::size_t words() const { return words_; }
  std::span<const FrameAccess> in(ori::BlockId block) const { return byBlock_[block]; }

  /// Calls f(word) for each word of the object that the access may touch.
  template <typename F> void forEachWord(const FrameAccess& a, F&& f) const {
    std::size_t from = first_[a.object], to = first_[a.object + 1];
    if (a.isExact) {
      to = from + static_cast<std::size_t>((a.offset + a.bytes + kWordBytes - 1) / kWordBytes);
      from += static_cast<std::size_t>(a.offset / kWordBytes);
    }
    for (std::size_t w = from; w < to; ++w)
      f(w);
  }
  /// Whether the access overwrites all previous contents of its words.
  static bool overwrites(const FrameAccess& a) {
    return a.isStore && a.isExact && !a.instr->isGuarded() && a.offset % kWordBytes == 0 && a.bytes % kWordBytes == 0;
  }

 private:
  ori::Function& function_;
  const ori::Cfg& cfg_;
  const AddressFlow flow_;
  std::vector<std::size_t> first_; // the first word of each object
  std::size_t words_ = 0;
  std::vector<std::vector<FrameAccess>> byBlock_;
};

/// Removes stores that are never read. Returns how many.
unsigned removeDeadStores(const FrameAccesses& accesses) {
  const ori::Cfg& cfg = accesses.cfg();
  std::vector<Bits> liveIn(cfg.idCount(), Bits(accesses.words()));
  const auto walk = [&](ori::BlockId block, Bits live, std::vector<Instr*>* dead) {
    const auto list = accesses.in(block);
    for (std::size_t i = list.size(); i-- > 0;) {
      const FrameAccess& a = list[i];
      if (!a.isStore) {
        accesses.forEachWord(a, [&](std::size_t w) { live.set(w, true); });
        continue;
      }
      bool isRead = false;
      accesses.forEachWord(a, [&](std::size_t w) { isRead |= live.has(w); });
      // A store whose address may be elsewhere is kept.
      if (!isRead && dead && (a.isExact || a.isSure)) dead->push_back(a.instr);
      if (FrameAccesses::overwrites(a)) accesses.forEachWord(a, [&](std::size_t w) { live.set(w, false); });
    }
    return live;
  };
  const auto liveOut = [&](ori::BlockId block) {
    Bits live(accesses.words());
    for (const ori::BlockId to : cfg.successors(block))
      live.add(liveIn[to]);
    return live;
  };
  const auto order = cfg.reversePostOrder();
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = order.size(); i-- > 0;)
      changed |= liveIn[order[i]].add(walk(order[i], liveOut(order[i]), nullptr));
  }
  std::vector<Instr*> dead;
  for (const ori::BlockId block : order)
    walk(block, liveOut(block), &dead);
  for (Instr* instr : dead)
    accesses.function().erase(instr);
  return static_cast<unsigned>(dead.size());
}

/// Which objects are live at the same time. An object is live between a store and a load.
class Interference {
 public:
  explicit Interference(const FrameAccesses& accesses)
      : accesses_(accesses), count_(accesses.function().frame.size()), apart_(count_, Bits(count_)) {
    const ori::Cfg& cfg = accesses.cfg();
    // Words that may have been written before, or may be read later: by block, at its start and its end.
    std::vector<Bits> written(cfg.idCount(), Bits(count_)), read(written);
    const auto order = cfg.reversePostOrder();
    for (bool changed = true; changed;) {
      changed = false;
      for (const ori::BlockId block : order) {
        Bits now = writtenAtStart(written, block);
        for (const FrameAccess& a : accesses.in(block))
          if (a.isStore) now.set(a.object, true);
        changed |= written[block].add(now);
      }
      for (std::size_t i = order.size(); i-- > 0;) {
        Bits now = readAtEnd(read, order[i]);
        for (const FrameAccess& a : accesses.in(order[i]))
          if (!a.isStore) now.set(a.object, true);
        changed |= read[order[i]].add(now);
      }
    }
    for (const ori::BlockId block : order)
      lookAt(block, writtenAtStart(written, block), readAtEnd(read, block));
  }

  bool has(std::size_t a, std::size_t b) const { return apart_[a].has(b); }

 private:
  Bits writtenAtStart(const std::vector<Bits>& written, ori::BlockId block) const {
    Bits now(count_);
    for (const ori::BlockId from : accesses_.cfg().predecessors(block))
      now.add(written[from]);
    return now;
  }
  Bits readAtEnd(const std::vector<Bits>& read, ori::BlockId block) const {
    Bits now(count_);
    for (const ori::BlockId to : accesses_.cfg().successors(block))
      now.add(read[to]);
    return now;
  }

  void lookAt(ori::BlockId block, Bits written, const Bits& read) {
    const auto list = accesses_.in(block);
    std::vector<Bits> later(list.size() + 1, read); // what is read after each access
    for (std::size_t i = list.size(); i-- > 0;) {
      later[i] = later[i + 1];
      if (!list[i].isStore) later[i].set(list[i].object, true);
    }
    meet(written, later[0], count_);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!list[i].isStore) continue;
      written.set(list[i].object, true);
      meet(written, later[i + 1], list[i].object);
    }
  }

  /// All objects live here interfere; so do those written here, even if they are never read.
  void meet(const Bits& written, const Bits& read, std::size_t now) {
    std::vector<std::size_t> held;
    for (std::size_t i = 0; i < count_; ++i)
      if (i == now || (written.has(i) && read.has(i))) held.push_back(i);
    for (const std::size_t a : held)
      for (const std::size_t b : held)
        apart_[a].set(b, true);
  }

  const FrameAccesses& accesses_;
  const std::size_t count_;
  std::vector<Bits> apart_;
};

/// The offset of an object within another object's bytes.
struct Place {
  std::uint32_t object = 0;
  std::uint32_t offset = 0;
};

/// Lets objects that are not live at the same time share bytes. Returns how many bytes that saves.
std::uint32_t pack(const FrameAccesses& accesses) {
  ori::Function& function = accesses.function();
  const Interference interference(accesses);
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < function.frame.size(); ++i)
    if (accesses.isKnown(i) && function.frame[i].size) order.push_back(i);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t i) { return function.frame[i].size; });
  std::vector<Place> place(function.frame.size());
  std::vector<std::vector<std::uint32_t>> guests(function.frame.size());
  std::uint32_t saved = 0;
  for (std::size_t n = 0; n < order.size(); ++n) {
    const std::uint32_t object = order[n];
    const ori::FrameObject& mine = function.frame[object];
    place[object] = {object, 0};
    for (std::size_t h = 0; h < n && place[object].object == object; ++h) {
      const std::uint32_t host = order[h];
      if (place[host].object != host || interference.has(host, object)) continue;
      // Place it after the guests that are live at the same time.
      std::uint32_t offset = 0;
      for (const std::uint32_t guest : guests[host])
        if (interference.has(guest, object))
          offset = std::max(offset, place[guest].offset + function.frame[guest].size);
      offset = (offset + mine.align - 1) / mine.align * mine.align;
      if (offset + mine.size > function.frame[host].size) continue;
      place[object] = {host, offset};
      guests[host].push_back(object);
      saved += mine.size;
    }
  }
  if (!saved) return 0;
  for (const std::uint32_t object : order)
    if (place[object].object != object)
      function.frame[place[object].object].align =
          std::max(function.frame[place[object].object].align, function.frame[object].align);
  forEachFrameOperand(function, [&](Instr& instr, unsigned i) {
    Operand o = instr.op_(i).value();
    if (!accesses.isKnown(o.reg) || !function.frame[o.reg].size) return;
    o.imm += static_cast<std::int32_t>(place[o.reg].offset);
    o.reg = place[o.reg].object;
    function.setOperand(&instr, i, o);
  });
  return saved;
}

} // namespace

/// Phase 32, CompactLocalMemory. Removes stores to frame objects that are never read, lets objects that are not live at
/// the same time share bytes, and removes unused objects from the frame. Handles only objects whose addresses can be
/// followed to all their uses (AddressFlow). Runs after 37b, which leaves less in memory.
bool compactLocalMemory(ori::Function& function, PhaseContext& context) {
  if (function.frame.empty()) return false;
  unsigned stores = 0;
  {
    const FrameAccesses accesses(function, context);
    if (accesses.words() <= kMaxWords) stores = removeDeadStores(accesses);
  }
  if (stores) oriPerformLiveDead(function, context); // the computation of stored values
  bool isChanged = dropUnnamedObjects(function) || stores != 0;
  std::uint32_t saved = 0;
  if (function.frame.size() > 1 && !context.knobs.enabled(Knob::DisableSsc)) {
    saved = pack(FrameAccesses(function, context));
    isChanged |= saved != 0;
    dropUnnamedObjects(function);
  }
  if (stores || saved)
    context.remarks.applied(nullptr,
                            fmt::format("removed {} dead stores to local memory; {} bytes shared", stores, saved));
  return isChanged;
}

} // namespace orias::phases
