#pragma once

#include "encoder/isa/isa.h"
#include "encoder/isa/operand.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

// Keys of hash tables as sequences of 64-bit words, for tables of instructions and values.

namespace orias::phases {

/// Mixes a word into a hash: the finalizer of splitmix64 over both.
constexpr std::uint64_t mixHash(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) + 0x9e3779b97f4a7c15;
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111eb;
  return hash ^ hash >> 31;
}

constexpr std::uint64_t mixHash(std::uint64_t hash, const isa::Operand& operand) {
  const auto bits = operand.bits();
  return mixHash(mixHash(hash, bits[0]), bits[1]);
}

/// A key under construction.
using KeyWords = std::vector<std::uint64_t>;
/// A key in a table, which does not own the words.
using WordKey = std::span<const std::uint64_t>;

struct WordKeyHash {
  std::size_t operator()(WordKey key) const {
    std::uint64_t hash = key.size();
    for (const std::uint64_t word : key)
      hash = mixHash(hash, word);
    return hash;
  }
};

struct WordKeyEqual {
  bool operator()(WordKey a, WordKey b) const { return std::ranges::equal(a, b); }
};

template <typename T> using WordKeyMap = std::unordered_map<WordKey, T, WordKeyHash, WordKeyEqual>;

/// Appends all properties of an operand.
inline void append(KeyWords& key, const isa::Operand& operand) {
  const auto bits = operand.bits();
  key.insert(key.end(), bits.begin(), bits.end());
}

/// Appends an opcode with its modifiers.
inline void append(KeyWords& key, isa::Op op, const std::array<std::uint8_t, isa::kMaxMods>& mods) {
  struct Instruction {
    isa::Op op;
    std::array<std::uint8_t, isa::kMaxMods> mods;
  };
  const auto words = std::bit_cast<std::array<std::uint64_t, 2>>(Instruction{op, mods});
  key.insert(key.end(), words.begin(), words.end());
}

} // namespace orias::phases
