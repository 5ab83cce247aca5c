#pragma once

// The contents of registers and spill slots, as known to the allocation checker.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace orias::regalloc {

using Unit = std::uint32_t;     ///< a component of a virtual register
using Location = std::uint32_t; ///< a physical register or a word of a spill slot

inline constexpr std::uint32_t kNowhere = ~0u;

template <typename T> inline bool has(const std::vector<T>& set, T x) {
  return std::find(set.begin(), set.end(), x) != set.end();
}
template <typename T> inline void drop(std::vector<T>& set, T x) {
  auto it = std::find(set.begin(), set.end(), x);
  if (it == set.end()) return;
  *it = set.back();
  set.pop_back();
}

/// A guard in the checker: the lanes where the predicate has this value.
struct Guard {
  Unit predicate = 0;
  bool inverted = false;
  Guard complement() const { return {predicate, !inverted}; }
  friend bool operator==(const Guard&, const Guard&) = default;
};

/// The location holds the component's value where the guard is true. Facts end with their block.
struct Fact {
  Location location; ///< kNowhere: there is no value, so any location is correct
  Unit unit;
  Guard guard;
};

/// A set of numbers below a bound.
class Bits {
 public:
  Bits() = default;
  explicit Bits(std::size_t bound) : words_((bound + 63) / 64) {}

  bool operator[](std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void set(std::size_t i, bool isIn) {
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    words_[i / 64] = isIn ? words_[i / 64] | bit : words_[i / 64] & ~bit;
  }
  void clear() { std::ranges::fill(words_, std::uint64_t{0}); }
  template <typename F> void forEach(F&& f) const {
    for (std::size_t w = 0; w < words_.size(); ++w)
      for (std::uint64_t left = words_[w]; left != 0; left &= left - 1)
        f(w * 64 + static_cast<std::size_t>(std::countr_zero(left)));
  }
  /// Adds the members of `other` (only those in `mask`, if given); true if that changed something.
  bool add(const Bits& other, const Bits* mask) {
    std::uint64_t added = 0;
    for (std::size_t w = 0; w < words_.size(); ++w) {
      const std::uint64_t more = other.words_[w] & ~words_[w] & (mask ? mask->words_[w] : ~std::uint64_t{0});
      words_[w] |= more;
      added |= more;
    }
    return added != 0;
  }

 private:
  std::vector<std::uint64_t> words_;
};

/// Which location holds which components, in both directions. Each step takes time proportional to what it changes.
///
/// Where predicates are packed, the bits of a location are locations, too.
class Holdings {
 public:
  static constexpr Location kBits = 32;

  Holdings(std::size_t locations, std::size_t units, bool hasBits)
      : locations_(static_cast<Location>(locations)), hasBits_(hasBits), held_(locations * (hasBits ? 1 + kBits : 1)),
        where_(units), used_(held_.size()) {}

  bool hasBits() const { return hasBits_; }
  Location bitOf(Location l, Location bit) const { return locations_ + l * kBits + bit; }

  bool holds(Location l, Unit u) const { return has(held_[l], u); }
  bool holdsUnder(Location l, Unit u, Guard guard) const {
    return holds(l, u) || std::ranges::any_of(facts_, [&](const Fact& f) {
             return (f.location == l || f.location == kNowhere) && f.unit == u && f.guard == guard;
           });
  }
  const std::vector<Unit>& at(Location l) const { return held_[l]; }
  const std::vector<Location>& placesOf(Unit u) const { return where_[u]; }
  const std::vector<Fact>& facts() const { return facts_; }
  void addFact(const Fact& fact) { facts_.push_back(fact); }
  /// Drops the facts under a predicate that changes.
  void forgetGuard(Unit predicate) {
    std::erase_if(facts_, [&](const Fact& f) { return f.guard.predicate == predicate; });
  }
  void add(Location l, Unit u) {
    if (holds(l, u)) return;
    if (held_[l].empty()) used_.set(l, true);
    held_[l].push_back(u);
    where_[u].push_back(l);
  }
  /// Also clears the bits of the location.
  void clear(Location l) {
    clearOne(l);
    if (hasBits_ && l < locations_)
      for (Location bit = 0; bit < kBits; ++bit)
        clearOne(bitOf(l, bit));
  }
  void forget(Unit u) {
    for (Location l : where_[u])
      drop(held_[l], u);
    where_[u].clear();
    std::erase_if(facts_, [&](const Fact& f) { return f.unit == u; });
  }
  void clearAll() {
    facts_.clear();
    used_.forEach([&](std::size_t l) {
      for (Unit u : held_[l])
        where_[u].clear();
      held_[l].clear();
    });
    used_.clear();
  }
  /// Calls f for all held components, by location.
  template <typename F> void forEach(F&& f) const {
    used_.forEach([&](std::size_t l) {
      for (Unit u : held_[l])
        f(static_cast<Location>(l), u);
    });
  }

 private:
  void clearOne(Location l) {
    for (Unit u : held_[l])
      drop(where_[u], l);
    held_[l].clear();
    std::erase_if(facts_, [&](const Fact& f) { return f.location == l; });
  }

  Location locations_;
  bool hasBits_;
  std::vector<std::vector<Unit>> held_;
  std::vector<std::vector<Location>> where_;
  Bits used_; // also contains some that have become empty
  std::vector<Fact> facts_;
};

} // namespace orias::regalloc
