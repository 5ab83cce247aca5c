// Observed: what nvdisasm prints for the words that ptxas emits for sm_80 and sm_90. Where the table's rows read a word
// of sm_80 as something else than nvdisasm, that is mended here, or the word is refused.

#include "encoder/isa/older_words.h"

#include "encoder/isa/word.h"

namespace orias::isa {

namespace {

/// Types of atomics, in bits 73..75: the floating-point ones are instructions of their own on sm_90.
enum class OldAtomType : std::uint8_t { U32, S32, U64, F32Ftz, F16x2, S64, F64 };

constexpr std::uint64_t kAdd = 0;

/// `actionBits` from bit 87 on say what is done.
std::optional<Word> atomic(Word word, unsigned floatOpcode, unsigned actionBits = 4) {
  const auto type = static_cast<OldAtomType>(getBits(word, 73, 3));
  const auto asFloat = [&](AtomFloat format) -> std::optional<Word> {
    if (getBits(word, 87, actionBits) != kAdd) return std::nullopt;
    setBits(word, 0, 12, floatOpcode);
    setBits(word, 73, 4, static_cast<std::uint64_t>(format));
    return word;
  };
  switch (type) {
  case OldAtomType::U32:
  case OldAtomType::S32:
  case OldAtomType::U64: return word;
  case OldAtomType::S64: setBits(word, 73, 3, static_cast<std::uint64_t>(AtomType::S64)); return word;
  case OldAtomType::F32Ftz: return asFloat(AtomFloat::F32Ftz);
  case OldAtomType::F64: return asFloat(AtomFloat::F64);
  case OldAtomType::F16x2: break;
  }
  return std::nullopt;
}

/// The distance stands in one piece: sm_90 has its low byte in bits 16..23.
std::optional<Word> branch(Word word) {
  constexpr unsigned kLow = 16, kLowBits = 8, kPos = 34, kBits = 48;
  if (getBits(word, kLow, kLowBits) != 0) return std::nullopt;
  const std::int64_t words = signExtend(getBits(word, kPos, kBits), kBits);
  setBits(word, kLow, kLowBits, static_cast<std::uint64_t>(words));
  setBits(word, kPos, kBits, static_cast<std::uint64_t>(words >> kLowBits));
  return word;
}

/// MUFU: the bit of half precision is that of bfloat16 on sm_90.
std::optional<Word> approximation(Word word) {
  constexpr unsigned kPos = 72, kBits = 2, kHalf = 1, kOldHalf = 2;
  const std::uint64_t format = getBits(word, kPos, kBits);
  if (format != 0 && format != kOldHalf) return std::nullopt;
  setBits(word, kPos, kBits, format == 0 ? 0 : kHalf);
  return word;
}

} // namespace

std::optional<Word> asSm90(const Word& word) {
  Word out = word;
  switch (getBits(word, 0, 12)) {
  case 0x947: // BRA
  case 0x949: // BRX
  case 0x944: // CALL.REL
  case 0x344: // CALL.REL
  case 0x950: // RET
    return branch(word);
  case 0x3a8: return atomic(word, 0x3a3); // ATOMG
  case 0x9a8: return atomic(word, 0x9a3);
  case 0x38a: return atomic(word, 0x3a2); // ATOM
  case 0x98a: return atomic(word, 0x9a2);
  case 0x98e: return atomic(word, 0x9a6, 3); // RED
  case 0x308:                                // MUFU
  case 0x908:
  case 0xb08:
  case 0xd08: return approximation(word);
  case 0xf8c: // ATOMS.POPC.INC
    setBits(out, 87, 1, 1);
    return out;
  case 0x948: // WARPSYNC of an immediate mask; of all lanes it is WARPSYNC.ALL
    if (getBits(word, 32, 32) != 0xffffffff) return std::nullopt;
    setBits(out, 32, 32, 0);
    return out;
  case 0x348: // WARPSYNC of a mask in a register, which stands elsewhere
    setBits(out, 24, 8, getBits(word, 32, 8));
    setBits(out, 32, 8, getBits(word, 24, 8));
    return out;
  case 0x34e: // LEPC of the next instruction
    return std::nullopt;
  default: return word;
  }
}

std::optional<Inst> decodeFor(const Target& target, const Word& word) {
  if (target.smVersion() >= 90) return decode(word);
  if (target.smVersion() < 80) return std::nullopt;
  const std::optional<Word> newer = asSm90(word);
  if (!newer) return std::nullopt;
  std::optional<Inst> inst = decode(*newer);
  // Floating-point atomics are marked for sm_90, where they have words of their own.
  const bool isTranslated = newer->lo != word.lo || newer->hi != word.hi;
  if (inst && !isTranslated && (desc(inst->op).sms & kSm80) == 0) return std::nullopt;
  return inst;
}

} // namespace orias::isa
