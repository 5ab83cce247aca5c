// Combines shifts, masks and merges of whole bytes into one PRMT.

#include "encoder/isa/desc.h"
#include "phases/optimize/known_bits.h"
#include "phases/optimize/lut.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Instr;

namespace {

constexpr unsigned kBytes = 4;
constexpr unsigned kDepth = 3; ///< how many definitions in sequence are followed

/// The source of a byte: byte `at` of a register, or a constant 0.
struct Byte {
  Operand word; ///< Kind::None for 0
  unsigned at = 0;
  bool isZero() const { return word.isNone(); }
};
using Word = std::array<Byte, kBytes>;

/// Finds the source bytes of an instruction's result, and whether this makes other instructions unnecessary.
class ByteMoves {
 public:
  explicit ByteMoves(const Rewriter& rw) : rw_(rw) {}

  /// Nothing if some byte is not a byte of a register.
  std::optional<Word> bytesOf(const Instr& instr, unsigned depth) {
    switch (instr.op) {
    case Op::SHF: return bytesOfShift(instr, depth);
    case Op::LOP3: return bytesOfLogic(instr, depth);
    case Op::PRMT: return bytesOfPermutation(instr, depth);
    case Op::LEA: return bytesOfShiftedSum(instr, depth);
    case Op::SGXT: return bytesOfField(instr, depth);
    default: return std::nullopt;
    }
  }

  bool savesInstructions() const { return savesInstructions_; }

 private:
  /// The bytes of an operand: those of its definition, if they are bytes of registers, or else its own.
  std::optional<Word> bytesOf(const Operand& operand, unsigned depth) {
    if (operand.isZeroReg()) return Word{};
    if (!isPlainR(operand) || !operand.isVirtual()) return std::nullopt;
    const Definition def = rw_.definition(operand);
    if (depth > 0 && def && def.instr->op_(def.slot).width == 1)
      if (auto word = bytesOf(*def.instr, depth - 1)) {
        savesInstructions_ = savesInstructions_ || rw_.hasOneUse(operand);
        return word;
      }
    if (!rw_.isStable(operand)) return std::nullopt;
    const Bits bits = knownBits(rw_, operand);
    Word word;
    for (unsigned i = 0; i < kBytes; ++i)
      if ((bits.canBeOne >> 8 * i & 0xff) != 0) word[i] = {operand, i};
    return word;
  }

  /// Logical shifts by whole bytes.
  std::optional<Word> bytesOfShift(const Instr& instr, unsigned depth) {
    const auto shift = wordShiftOf(rw_, instr);
    if (!shift || shift->isSigned || shift->count % 8 != 0 || !instr.op_(4 - shift->slot).isZeroReg())
      return std::nullopt;
    const auto from = bytesOf(instr.op_(shift->slot).value(), depth);
    if (!from) return std::nullopt;
    Word word;
    const unsigned by = shift->count / 8;
    for (unsigned i = 0; i + by < kBytes; ++i)
      word[shift->isLeft ? i + by : i] = (*from)[shift->isLeft ? i : i + by];
    return word;
  }

  std::optional<Word> bytesOfPermutation(const Instr& instr, unsigned depth) {
    constexpr unsigned kOtherSource = 4, kReplicateSign = 8;
    const auto order = byteOrder(rw_, instr);
    if (!order) return std::nullopt;
    Word word;
    for (unsigned i = 0; i < kBytes; ++i) {
      const unsigned pick = *order >> 4 * i & 15;
      if ((pick & kReplicateSign) != 0) return std::nullopt;
      const auto from = bytesOf(instr.op_((pick & kOtherSource) != 0 ? 3 : 1).value(), depth);
      if (!from) return std::nullopt;
      word[i] = (*from)[pick & 3];
    }
    return word;
  }

  /// (Ra << n) + Rb, for bytes that do not overlap.
  std::optional<Word> bytesOfShiftedSum(const Instr& instr, unsigned depth) {
    const auto count = static_cast<unsigned>(instr.op_(4).imm);
    if (count % 8 != 0 || count > 24 || !isUnused(instr.op_(1).value())) return std::nullopt;
    const auto high = bytesOf(instr.op_(2).value(), depth), low = bytesOf(instr.op_(3).value(), depth);
    if (!high || !low) return std::nullopt;
    Word word = *low;
    for (unsigned i = count / 8; i < kBytes; ++i) {
      if (!word[i].isZero()) return std::nullopt;
      word[i] = (*high)[i - count / 8];
    }
    return word;
  }

  /// A zero-extended field of whole bytes.
  std::optional<Word> bytesOfField(const Instr& instr, unsigned depth) {
    const auto length = rw_.constantOf(instr.op_(2).value());
    if (!length || *length % 8 != 0 || *length > 24 || isa::getMod(instr.op, instr.mods, Mod::Wrap) != 0 ||
        isa::modAs<isa::IntType>(instr, Mod::Type) != isa::IntType::U32)
      return std::nullopt;
    auto word = bytesOf(instr.op_(1).value(), depth);
    if (!word) return std::nullopt;
    for (unsigned i = *length / 8; i < kBytes; ++i)
      (*word)[i] = {};
    return word;
  }

  /// Logic whose result has, for each byte, 0 or the byte of one input: masks of whole bytes, merges, and ORs of bytes
  /// that are 0 in the other input.
  std::optional<Word> bytesOfLogic(const Instr& instr, unsigned depth) {
    if (!isUnused(instr.op_(0).value())) return std::nullopt;
    const auto lut = static_cast<std::uint8_t>(instr.op_(5).imm);
    std::array<std::optional<std::uint32_t>, 3> constants;
    std::array<std::optional<Word>, 3> words;
    for (unsigned i = 0; i < 3; ++i)
      if (dependsOn(lut, i)) constants[i] = rw_.constantOf(instr.op_(2 + i).value());
    for (unsigned i = 0; i < 3; ++i) {
      if (!dependsOn(lut, i) || constants[i]) continue;
      words[i] = bytesOf(instr.op_(2 + i).value(), depth);
      if (!words[i] || !mayPickBytes(lut, constants, words)) return std::nullopt;
    }
    Word result;
    for (unsigned byte = 0; byte < kBytes; ++byte) {
      const auto reduced = reducedAt(byte, lut, constants, words, false);
      if (!reduced) return std::nullopt;
      if (*reduced == 0) continue;
      const auto input = std::ranges::find(kInputLuts, *reduced);
      if (input == std::end(kInputLuts)) return std::nullopt;
      result[byte] = (*words[static_cast<std::size_t>(input - std::begin(kInputLuts))])[byte];
    }
    return result;
  }

  /// The truth table for one byte of the inputs; nothing for constants with other values than all zeros or all ones
  /// there. Unknown words count as zero if `othersAreZero`, otherwise as nonzero.
  static std::optional<std::uint8_t> reducedAt(unsigned byte, std::uint8_t lut,
                                               const std::array<std::optional<std::uint32_t>, 3>& constants,
                                               const std::array<std::optional<Word>, 3>& words, bool othersAreZero) {
    std::array<LutInput, 3> inputs;
    for (unsigned i = 0; i < 3; ++i) {
      inputs[i].same = i;
      if (!dependsOn(lut, i)) continue;
      if (constants[i]) {
        const std::uint32_t bits = *constants[i] >> 8 * byte & 0xff;
        if (bits != 0 && bits != 0xff) return std::nullopt;
        inputs[i].known = bits != 0;
      } else if (words[i] ? (*words[i])[byte].isZero() : othersAreZero) {
        inputs[i].known = false;
      }
    }
    return reduceLut(lut, inputs);
  }

  /// Whether each byte can still be 0 or that of one input, for any value of an unknown word. True if more than one
  /// word is unknown, as anything is possible then.
  static bool mayPickBytes(std::uint8_t lut, const std::array<std::optional<std::uint32_t>, 3>& constants,
                           const std::array<std::optional<Word>, 3>& words) {
    const auto isPick = [](std::optional<std::uint8_t> reduced) {
      return reduced && (*reduced == 0 || std::ranges::find(kInputLuts, *reduced) != std::end(kInputLuts));
    };
    unsigned unknown = 0;
    for (unsigned i = 0; i < 3; ++i)
      unknown += dependsOn(lut, i) && !constants[i] && !words[i] ? 1 : 0;
    if (unknown > 1) return true;
    for (unsigned byte = 0; byte < kBytes; ++byte)
      if (!isPick(reducedAt(byte, lut, constants, words, true)) &&
          !isPick(reducedAt(byte, lut, constants, words, false)))
        return false;
    return true;
  }

  const Rewriter& rw_;
  bool savesInstructions_ = false;
};

} // namespace

bool permuteBytes(Rewriter& rw, Instr& instr) {
  if (instr.op != Op::LOP3 && instr.op != Op::SHF && instr.op != Op::SGXT && instr.op != Op::LEA) return false;
  ByteMoves moves(rw);
  const auto word = moves.bytesOf(instr, kDepth);
  if (!word || !moves.savesInstructions()) return false;
  std::vector<Operand> sources;
  bool hasZero = false;
  for (const Byte& byte : *word) {
    hasZero = hasZero || byte.isZero();
    if (!byte.isZero() && std::ranges::find(sources, byte.word) == sources.end()) sources.push_back(byte.word);
  }
  if (sources.empty() || sources.size() + (hasZero ? 1 : 0) > 2) return false;
  sources.resize(2, Operand::rz());
  unsigned order = 0;
  for (unsigned i = 0; i < kBytes; ++i) {
    const Byte& byte = (*word)[i];
    const unsigned pick = byte.isZero() ? 7 : byte.word == sources[0] ? byte.at : 4 + byte.at;
    order |= pick << 4 * i;
  }
  const Operand result = instr.op_(instr.op == Op::LOP3 ? 1 : 0).value();
  rw.rewrite(instr, Op::PRMT, {result, sources[0], Operand::immediate(static_cast<std::int32_t>(order)), sources[1]});
  return true;
}

} // namespace orias::phases
