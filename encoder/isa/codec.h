#pragma once

// Words: encode and decode. Both only interpret the table.

#include "encoder/isa/desc.h"

#include <optional>
#include <string>

namespace orias::isa {

/// A word, or the reason why there is none ("IADD3 Rb: neither of its forms takes c[0x0][0x210] here").
struct EncodeResult {
  Word word;
  std::string error; ///< empty when encoded
  explicit operator bool() const { return error.empty(); }
};

/// Encodes an allocated instruction: no virtual registers, no block labels (labels are distances), no symbols.
EncodeResult encode(const Inst& inst, const Target& target);
/// The same without asking whether a chip has the instruction.
EncodeResult encode(const Inst& inst, WordFormat format = WordFormat::Sm90);

/// Does the table name the chip in the instruction's row?
bool isListedFor(const Target& target, Op op);

/// Has the chip the instruction, under these modifiers?
bool existsOn(const Target& target, Op op, std::span<const std::uint8_t, kMaxMods> mods);

/// The instruction that a word means; nothing when the table has no row whose fixed bits it matches. What decodes,
/// encodes to the same word again.
std::optional<Inst> decode(const Word& word, WordFormat format = WordFormat::Sm90);

/// The control fields, which lie in the same bits of every word, known or not.
Control controlOf(const Word& word);

/// By slot, the bit that keeps the register there in the operand cache, in the form that these operands take; 0 when
/// there is none. Slots of two instructions with the same bit share a port.
std::array<unsigned, kMaxOperands> reuseBits(Op op, std::span<const Operand> operands);

} // namespace orias::isa
