#pragma once

#include "ori/function.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace orias::regalloc {

/// A spill instruction: moves a value between a register and its spill location, or rematerializes it.
struct SpillMove {
  enum class Kind : std::uint8_t {
    Store, ///< register to frame: operand `reg` is stored to the words of the Frame operand
    Load,  ///< frame to register
    Move,  ///< to or from a register of another file (P or UR kept in R): operand `from` becomes operand `reg`
    Pack,  ///< `reg` = the word in operand `old`, shifted up by one bit, with the predicate in operand `from` as bit 0
    Remat  ///< rematerializes the value into operand `reg`
  };
  /// `bit` where the whole word is moved.
  static constexpr std::uint8_t kWholeWord = 0xff;

  Kind kind;
  std::uint8_t reg = 0;  ///< index of the register operand
  std::uint8_t from = 0; ///< Move, Pack: index of the source operand
  /// Move between a predicate and a register with packed predicates: the bit there.
  std::uint8_t bit = kWholeWord;
  std::uint8_t old = 0; ///< Pack: index of the operand with the word to be shifted
};

/// The decisions of the allocator, before the operands are rewritten. The checker reads nothing else of the allocator.
struct Assignment {
  std::vector<std::uint32_t>
      physical; ///< first physical register, by virtual register; ~0 where it never holds anything
  /// Temporaries of spill code represent (a component of) another register. Ordinary registers represent themselves.
  std::vector<ori::VRegId> standsFor;
  std::vector<std::uint8_t> partOf;                       ///< first component of standsFor
  std::unordered_map<ori::InstrId, SpillMove> spillMoves; ///< looked up only, never iterated

  /// What a spill instruction moves; null for other instructions.
  const SpillMove* spillMove(const ori::Instr& instr) const {
    const auto found = spillMoves.find(instr.id);
    return found == spillMoves.end() ? nullptr : &found->second;
  }
  /// The same for moves between register files only.
  const SpillMove* fileMove(const ori::Instr& instr) const {
    const SpillMove* move = spillMove(instr);
    return move && move->kind == SpillMove::Kind::Move ? move : nullptr;
  }
};

} // namespace orias::regalloc
