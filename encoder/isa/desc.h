#pragma once

// The full row of the instruction table: roles and properties for the phases (SlotDesc, Flag, LatencyClass), bit fields
// for the encoder and decoder (FieldEnc, ModDesc, Form), and details of the text.

#include "encoder/isa/chip.h"
#include "encoder/isa/isa.h"
#include "encoder/isa/latency_class.h"
#include "encoder/isa/mods.h"
#include "encoder/isa/slot_id.h"
#include "support/check.h"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace orias::isa {

/// The encoding of an operand in a word.
enum class Enc : std::uint8_t {
  None,          ///< not encoded (pseudo instructions)
  Gpr,           ///< R: 8 bits
  Ugpr,          ///< UR: 6 bits, from sm_100 on 8; all ones is URZ
  Pred,          ///< P: 3 bits
  Upred,         ///< UP: 3 bits
  UpredInverted, ///< UP: 3 bits, the number subtracted from 7
  PredInverted,  ///< P: 3 bits, the number subtracted from 7 (so that all zeros is PT)
  Bar,           ///< B: 4 bits
  UImm,          ///< unsigned immediate
  SImm,          ///< signed immediate
  Const,         ///< offset field at `pos`, bank at `pos2`; cx if bit 91 is set, with UR in 32..37
  Label,         ///< byte distance from the end of the instruction, signed
  Implied        ///< not in the word: always the slot's default
};

/// The position of a slot in the three-source scheme of the arithmetic instructions: its bits depend on the form.
enum class AluPos : std::uint8_t { None, A, B, C };

/// Bits of an operand. Positions are 0..127; 0 means "has none" for the single bits.
struct FieldEnc {
  Enc kind = Enc::None;
  std::uint8_t pos = 0, width = 0;   ///< the field, or its low part
  std::uint8_t pos2 = 0, width2 = 0; ///< its high part, if it is split
  std::uint8_t neg = 0, abs = 0, inv = 0;
  std::uint8_t reuse = 0;
  std::uint8_t half = 0;  ///< two bits: Operand::half
  std::uint8_t ur = 0;    ///< of a constant: the position of the UR of a cx
  std::uint8_t scale = 0; ///< the field contains the value shifted right by this
};

/// The text form of an operand that is not a plain register.
enum class Style : std::uint8_t {
  Hex,
  SignedHex,
  ByType, ///< SignedHex or Hex by Mod::Type
  Decimal,
  F32,
  F64,     ///< the immediate is the high half
  F32Or64, ///< F64 if the function of a MUFU operates on high halves
  F16,     ///< one half-precision value in the low half
  Bf16,    ///< one bfloat16 value in the low half
  F16x2,
  Bf16x2,
  SpecialReg,
  Wide,       ///< a 64-bit number whose high half is the next operand
  WideSigned, ///< a 33-bit number whose sign is the next operand
  Scoreboard,
  ScoreboardList, ///< one bit for each scoreboard: {2,1}
  RpcHalf,        ///< Rpc.LO, Rpc.HI
  GroupBarrier,
  Bare
};

/// Operands that share brackets: `desc[UR4][R2.64+UR6+0x10]`, `c[0x0][R3+0x10]`, `gdesc[UR4]`, `tmem[UR4+0x10]`.
/// The last two are followed by the suffixes of the operand, instead of the register inside.
enum class Bracket : std::uint8_t { None, Address, Address2, Descriptor, Bank, MatrixDescriptor, TensorMemory };
constexpr bool hasSuffixAfter(Bracket bracket) {
  return bracket == Bracket::MatrixDescriptor || bracket == Bracket::TensorMemory;
}

struct SlotText {
  Style style = Style::Hex;
  Bracket bracket = Bracket::None;
  bool omitDefault = false; ///< not written if it is the default
  bool omitPrinted = false; ///< never written
  bool glued = false;       ///< follows the operand before it after a space, without a comma
  bool twice = false;       ///< written twice: two fields of one register
  bool opens = false;       ///< starts new brackets after others of the same kind
  bool isPair = false;      ///< two registers, the second in brackets that begin with `after`: `[UR6], [UR7]`
  std::string_view after;   ///< literal text after a register
  std::string_view before;  ///< literal text before the operand, with its separator
};

/// One modifier of an instruction.
struct ModDesc {
  Mod kind = Mod::None;
  std::uint8_t pos = 0, width = 0;
  std::uint8_t pos2 = 0, width2 = 0; ///< high part of a split field
  std::uint8_t defaultValue = 0;
  std::uint8_t bias = 0; ///< the value that is encoded as 0
  std::int8_t slot = -1; ///< >= 0: written after this operand instead of after the mnemonic
  /// By value, separated by '|'. An empty name is not written, "!" marks an illegal value, and a name that begins with
  /// a comma is written as a separate operand.
  std::string_view names;

  /// Names if Mod::SrcFmt is a 16-bit format (a half of a register instead of a byte); empty: as `names`.
  std::string_view names16{};
  /// Names for wider formats.
  std::string_view names32{};
  /// Bit i: value i is legal by `names`. Computed with the row; greater values are looked up in the names.
  std::uint64_t legalValues = 0;

  /// The name of a value; empty for the one that is not written.
  std::string_view name(unsigned value, unsigned sourceBits = 8) const;
  bool isLegal(unsigned value, unsigned sourceBits = 8) const {
    if (value >= 64 || (sourceBits >= 16 && (!names16.empty() || !names32.empty()))) return isListed(value, sourceBits);
    return (legalValues >> value & 1) != 0;
  }
  unsigned valueCount() const;

 private:
  bool isListed(unsigned value, unsigned sourceBits) const;
};

/// The field of a slot in one form, if it differs from the slot's default field.
struct SlotOverride {
  std::uint8_t slot = 0;
  FieldEnc field;
};

/// One opcode of an instruction: all bits that it fixes, and the kinds of its operands.
struct Form {
  Word value;               ///< the fixed bits
  Word fixed;               ///< the mask of the fixed bits (all that belong to no field)
  std::uint16_t opcode = 0; ///< bits 0..11
  std::uint8_t bit91 = 0;   ///< 0, 1, or 2 if a field uses it
  std::uint8_t overrideCount = 0;
  std::array<SlotOverride, 4> overrides{};
};

inline constexpr unsigned kMaxForms = 8;

/// Rules for mnemonics that depend on operand values, such as IMAD.MOV.
enum class Alias : std::uint8_t { None, Imad, ImadUniform, ImadWide, Shl };

inline constexpr std::uint16_t kSm75 = 1, kSm80 = 2, kSm86 = 4, kSm89 = 8, kSm90 = 16;
inline constexpr std::uint16_t kSm100 = 32, kSm103 = 64, kSm110 = 128, kSm120 = 256; ///< sm_121 is sm_120
/// The chips before sm_90, and those of them with the features of sm_80.
inline constexpr std::uint16_t kOlderSms = kSm75 | kSm80 | kSm86 | kSm89, kAmpereSms = kSm80 | kSm86 | kSm89;
inline constexpr std::uint16_t kUntilSm90 = kOlderSms | kSm90, kFromSm100 = kSm100 | kSm103 | kSm110 | kSm120;
inline constexpr std::uint16_t kFromSm90 = kSm90 | kFromSm100, kAllSms = kOlderSms | kFromSm90;
/// The chips with tensor memory.
inline constexpr std::uint16_t kTensorSms = kSm100 | kSm103 | kSm110;

/// One row of the table. The first cache line has what phases use most. Bits, text and defaults follow.
struct alignas(64) InstrDesc {
  std::uint32_t flags = 0;
  Op op{};
  std::uint16_t sms = kAllSms;
  std::uint8_t slotCount = 0, modCount = 0, formCount = 0;
  Pipe pipe = Pipe::None;
  LatencyClass latencyClass = LatencyClass::None;
  Alias alias = Alias::None;
  std::array<Role, kMaxOperands> roles{}; ///< of the slots
  std::array<Mod, kMaxMods> modKinds{};   ///< of the modifiers
  std::array<SlotId, kMaxOperands> slotIds{};
  std::array<std::uint8_t, kMaxMods> modDefaults{};
  std::string_view name;     ///< the enumerator
  std::string_view mnemonic; ///< with the parts that are not modifiers: "IMAD.WIDE"
  std::array<SlotDesc, kMaxOperands> slots{};
  std::array<FieldEnc, kMaxOperands> fields{};
  std::array<SlotText, kMaxOperands> texts{};
  std::array<Operand, kMaxOperands> defaults{}; ///< the encoded operands for absent ones
  std::array<ModDesc, kMaxMods> mods{};
  std::array<Form, kMaxForms> forms{};

  constexpr bool has(Flag flag) const { return (flags & static_cast<std::uint32_t>(flag)) != 0; }
  File guardFile() const { return has(Flag::Uniform) || has(Flag::UniformGuard) ? File::UP : File::P; }
  bool isPseudo() const { return has(Flag::Pseudo); }
  std::span<const SlotDesc> slotList() const { return {slots.data(), slotCount}; }
  std::span<const ModDesc> modList() const { return {mods.data(), modCount}; }
  std::span<const Form> formList() const { return {forms.data(), formCount}; }
  /// Index of a modifier in Inst::mods, or -1.
  int modIndex(Mod kind) const {
    for (unsigned i = 0; i < modCount; ++i)
      if (modKinds[i] == kind) return static_cast<int>(i);
    return -1;
  }
  /// Index of a slot, or -1.
  int slotIndex(SlotId id) const {
    for (unsigned i = 0; i < slotCount; ++i)
      if (slotIds[i] == id) return static_cast<int>(i);
    return -1;
  }
  /// Index of a slot that the instruction has; else this is an InternalError.
  unsigned slot(SlotId id) const {
    const int index = slotIndex(id);
    ORIAS_CHECK(index >= 0);
    return static_cast<unsigned>(index);
  }
  /// The field of a slot's operand in a form.
  constexpr const FieldEnc& field(const Form& form, unsigned slot) const {
    for (unsigned i = 0; i < form.overrideCount; ++i)
      if (form.overrides[i].slot == slot) return form.overrides[i].field;
    return fields[slot];
  }
};

static_assert(offsetof(InstrDesc, modDefaults) <= 64);

namespace detail {
[[gnu::visibility("hidden")]] extern const InstrDesc kRows[]; // by Op
}

/// The row of an instruction, with its encoding on sm_90.
inline const InstrDesc& desc(Op op) {
  return detail::kRows[static_cast<std::size_t>(op)];
}
/// The row with the encoding of `format`. Slots and modifiers are those of desc(op), but more modifiers may follow.
const InstrDesc& desc(Op op, WordFormat format);
/// All rows, in the order of Op.
std::span<const InstrDesc> allInstrs();
/// By enumerator name ("IMAD_WIDE"); null if there is none.
const InstrDesc* findByName(std::string_view name);

/// An instruction with the defaults of its row: modifiers, absent operands.
Inst makeInst(Op op);

/// A modifier's value; 0 if the instruction has no such modifier.
inline std::uint8_t getMod(Op op, std::span<const std::uint8_t, kMaxMods> mods, Mod kind) {
  const int index = desc(op).modIndex(kind);
  return index < 0 ? std::uint8_t{0} : mods[static_cast<std::size_t>(index)];
}
inline std::uint8_t getMod(const Inst& inst, Mod kind) {
  return getMod(inst.op, inst.mods, kind);
}
template <typename E, typename I> E modAs(const I& inst, Mod kind) {
  return static_cast<E>(getMod(inst.op, inst.mods, kind));
}
/// Sets a modifier. Returns false if the instruction has no such modifier or the value is illegal.
bool setMod(Op op, std::span<std::uint8_t, kMaxMods> mods, ModValue value);
inline bool setMod(Inst& inst, ModValue value) {
  return setMod(inst.op, inst.mods, value);
}

/// Width in bits of the integer that a conversion reads if Mod::Byte selects a part of the register; 8 for all others.
unsigned sourceBitsOf(Op op, std::span<const std::uint8_t, kMaxMods> mods);

/// How many registers the operand in `slot` spans with these modifiers. WidthRule::Any gives 0: the operand has the
/// width.
unsigned operandWidth(Op op, std::span<const std::uint8_t, kMaxMods> mods, unsigned slot);
inline unsigned operandWidth(const Inst& inst, unsigned slot) {
  return operandWidth(inst.op, inst.mods, slot);
}

/// Whether some form accepts `operand` in `slot`, regardless of the other operands. Checks kind, file, range and
/// operand modifiers, not register numbers.
bool accepts(Op op, std::span<const std::uint8_t, kMaxMods> mods, unsigned slot, const Operand& operand);
/// Whether one form accepts all operands.
bool fits(Op op, std::span<const std::uint8_t, kMaxMods> mods, std::span<const Operand> operands);
inline bool fits(const Inst& inst) {
  return fits(inst.op, inst.mods, std::span<const Operand>(inst.operands.data(), inst.operandCount));
}

} // namespace orias::isa
