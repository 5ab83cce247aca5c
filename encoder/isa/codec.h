#pragma once

// Encoding and decoding of words. Both only interpret the table.

#include "encoder/isa/desc.h"

#include <optional>
#include <string>

namespace orias::isa {

/// A word, or the reason why there is none ("IADD3 Rb: neither of its forms takes c[0x0][0x210] here").
struct EncodeResult {
  Word word;
  std::string error; ///< empty on success
  explicit operator bool() const { return error.empty(); }
};

/// Encodes an allocated instruction: no virtual registers, no block labels (labels are distances), no symbols.
EncodeResult encode(const Inst& inst, const Target& target);
/// Encodes without checking whether a chip has the instruction.
EncodeResult encode(const Inst& inst, WordFormat format = WordFormat::Sm90);

/// Whether the instruction's row lists the chip.
bool isListedFor(const Target& target, Op op);

/// Whether the chip has the instruction with these modifiers.
bool existsOn(const Target& target, Op op, std::span<const std::uint8_t, kMaxMods> mods);

/// Decodes a word; nullopt if it matches the fixed bits of no row. Decoded instructions encode to the same word.
std::optional<Inst> decode(const Word& word, WordFormat format = WordFormat::Sm90);

/// Decodes a word of a chip; nullopt if the chip does not have the instruction.
std::optional<Inst> decodeFor(const Target& target, const Word& word);

/// The control fields, which have the same bits in all words, known or unknown.
Control controlOf(const Word& word);

/// By slot: the bit that keeps its register in the operand cache, in the form that these operands select; 0 if there
/// is none. Slots of two instructions with the same bit share a port.
std::array<unsigned, kMaxOperands> reuseBits(Op op, std::span<const Operand> operands);

} // namespace orias::isa
