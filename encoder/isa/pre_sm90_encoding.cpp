// Observed: nvdisasm's text for the words that ptxas emits for sm_80 and sm_90. If the table decodes a word of sm_80
// differently from nvdisasm, this file corrects or rejects the word.

#include "encoder/isa/pre_sm90_encoding.h"

#include "encoder/isa/word.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::isa {

namespace {

/// Types of atomics, in bits 73..75. On sm_90 floating-point atomics are separate instructions.
enum class OldAtomType : std::uint8_t { U32, S32, U64, F32Ftz, F16x2, S64, F64 };

constexpr std::uint64_t kAdd = 0;
constexpr unsigned kUniformPredicate = 87, kTrue = 7;
/// Of HADD2.
constexpr unsigned kToSingle = 78;
/// Of LEPC: bytes from the next instruction.
constexpr unsigned kPlace = 24, kPlaceBits = 58;
constexpr std::int64_t kOwnPlace = -16;
/// Of I2IP.
constexpr unsigned kSaturates = 74;
/// Of WARPSYNC.
constexpr unsigned kExclusive = 85, kCollective = 86, kOlderExclusive = 86, kWarpsync = 0x348;
/// Set in ATOMS.POPC.INC, clear in ATOMS.ARRIVE.
constexpr unsigned kCounts = 88;
/// NANOSLEEP.SYNCS.
constexpr unsigned kUntilBarrier = 1;
/// The reuse bits.
constexpr unsigned kReuse = 122, kReuseBits = 3;

/// Translates an atomic. Its operation is in the `actionBits` bits from bit 87 on.
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
  case OldAtomType::F16x2: return asFloat(AtomFloat::F16x2);
  }
  return std::nullopt;
}

/// Translates an atomic of sm_90. `opcode` is that of sm_80, which on sm_90 has all types except floating-point.
std::optional<Word> olderAtomic(Word word, unsigned opcode, unsigned actionBits = 4) {
  OldAtomType type{};
  if (getBits(word, 0, 12) != opcode) {
    switch (static_cast<AtomFloat>(getBits(word, 73, 4))) {
    case AtomFloat::F32Ftz: type = OldAtomType::F32Ftz; break;
    case AtomFloat::F64: type = OldAtomType::F64; break;
    case AtomFloat::F16x2: type = OldAtomType::F16x2; break;
    default: return std::nullopt;
    }
    if (getBits(word, 87, actionBits) != kAdd) return std::nullopt;
    setBits(word, 0, 12, opcode);
    setBits(word, 73, 4, 0);
  } else {
    switch (static_cast<AtomType>(getBits(word, 73, 3))) {
    case AtomType::U32: type = OldAtomType::U32; break;
    case AtomType::S32: type = OldAtomType::S32; break;
    case AtomType::U64: type = OldAtomType::U64; break;
    case AtomType::S64: type = OldAtomType::S64; break;
    default: return std::nullopt;
    }
  }
  setBits(word, 73, 3, static_cast<std::uint64_t>(type));
  return word;
}

/// The fields of the distance of a branch.
constexpr unsigned kDistanceLow = 16, kDistanceLowBits = 8, kDistance = 34, kDistanceBits = 48;

/// Translates a branch, whose distance is in one field. On sm_90 its low byte is in bits 16..23.
std::optional<Word> branch(Word word) {
  if (getBits(word, kDistanceLow, kDistanceLowBits) != 0) return std::nullopt;
  const std::int64_t words = signExtend(getBits(word, kDistance, kDistanceBits), kDistanceBits);
  setBits(word, kDistanceLow, kDistanceLowBits, static_cast<std::uint64_t>(words));
  setBits(word, kDistance, kDistanceBits, static_cast<std::uint64_t>(words >> kDistanceLowBits));
  return word;
}

Word olderBranch(Word word) {
  const std::int64_t words = signExtend(getBits(word, kDistance, kDistanceBits), kDistanceBits);
  const std::uint64_t all =
      static_cast<std::uint64_t>(words) << kDistanceLowBits | getBits(word, kDistanceLow, kDistanceLowBits);
  setBits(word, kDistanceLow, kDistanceLowBits, 0);
  setBits(word, kDistance, kDistanceBits, all);
  return word;
}

/// MUFU: the code of half precision is that of bfloat16 on sm_90.
constexpr unsigned kFormat = 72, kFormatBits = 2, kHalf = 1, kOldHalf = 2;

std::optional<Word> approximation(Word word) {
  const std::uint64_t format = getBits(word, kFormat, kFormatBits);
  if (format != 0 && format != kOldHalf) return std::nullopt;
  setBits(word, kFormat, kFormatBits, format == 0 ? 0 : kHalf);
  return word;
}

std::optional<Word> olderApproximation(Word word) {
  const std::uint64_t format = getBits(word, kFormat, kFormatBits);
  if (format > kHalf) return std::nullopt;
  setBits(word, kFormat, kFormatBits, format == kHalf ? kOldHalf : 0);
  return word;
}

// sm_75 has two fields for the order and the scope of an access. Later chips have one.
constexpr unsigned kOrderBit = 77, kOrderBits = 4, kScopeBits = 2;
enum class TuringOrder : std::uint8_t { Constant, Weak, Strong, Mmio };
enum class TuringScope : std::uint8_t { Cta, Sm, Gpu, Sys };
constexpr unsigned turing(TuringOrder order, TuringScope scope) {
  return static_cast<unsigned>(order) << kScopeBits | static_cast<unsigned>(scope);
}
struct OrderPair {
  unsigned turing, later;
};
constexpr unsigned kMmioSys = 12;
constexpr OrderPair kOrders[] = {
    {turing(TuringOrder::Constant, TuringScope::Sys), static_cast<unsigned>(MemOrder::Constant)},
    {turing(TuringOrder::Weak, TuringScope::Sys), static_cast<unsigned>(MemOrder::Weak)},
    {turing(TuringOrder::Strong, TuringScope::Cta), static_cast<unsigned>(MemOrder::StrongSm)},
    {turing(TuringOrder::Strong, TuringScope::Gpu), static_cast<unsigned>(MemOrder::StrongGpu)},
    {turing(TuringOrder::Strong, TuringScope::Sys), static_cast<unsigned>(MemOrder::StrongSys)},
    {turing(TuringOrder::Mmio, TuringScope::Sys), kMmioSys},
};
/// LDS.U: ptxas sets it in all loads of shared memory for sm_75, but never for later chips.
constexpr unsigned kUnordered = 76;

/// Whether the instruction has a memory order, by its opcode.
bool isOrdered(const Word& word) {
  switch (getBits(word, 0, 12)) {
  case 0x381: // LDG
  case 0x981:
  case 0x980: // LD
  case 0x386: // STG
  case 0x986:
  case 0x385: // ST
  case 0x985:
  case 0x3a8: // ATOMG
  case 0x9a8:
  case 0x3a9:
  case 0x38a: // ATOM
  case 0x98a:
  case 0x38b:
  case 0x98e: // RED
  case 0xb99: // SULD
  case 0x99a:
  case 0xb9d: // SUST.D
  case 0x99e:
  case 0xb9b: // SUST.P
  case 0x99c:
  case 0x59f: // SURED
  case 0x3a0: return true;
  default: return false;
  }
}
constexpr unsigned kLds = 0x984;
/// Whether this is an atomic with one value: it has RZ in the field of the second value of a compare-and-swap.
constexpr unsigned kOtherValue = 64, kOtherValueBits = 8, kNoValue = 0xff; // the number of RZ
bool hasOneValue(const Word& word) {
  switch (getBits(word, 0, 12)) {
  case 0x3a8:              // ATOMG
  case 0x38a:              // ATOM
  case 0x38c: return true; // ATOMS
  default: return false;
  }
}

/// kWideAddress is set in the loads, stores and reductions of later chips, in those of sm_75 only with a uniform
/// register. In atomics with a result it is part of the operation.
constexpr unsigned kWideAddress = 90, kTakesUniform = 91, kRegister = 24, kRegisterBits = 8;
bool isWidthInverted(const Word& word) {
  return getBits(word, 0, 12) == 0x98e && getBits(word, kTakesUniform, 1) == 0; // RED
}

bool isAtomicWithResult(const Word& word) {
  switch (getBits(word, 0, 12)) {
  case 0x9a8:              // ATOMG
  case 0x98a: return true; // ATOM
  default: return false;
  }
}

bool hasIndexedRow(const Word& word) {
  switch (getBits(word, 0, 12)) {
  case 0x981: // LDG
  case 0x980: // LD
  case 0x986: // STG
  case 0x985: // ST
    return true;
  default: return false;
  }
}

/// The orders of an instruction: only loads have the constant order.
std::span<const OrderPair> ordersOf(const Word& word) {
  const std::uint64_t opcode = getBits(word, 0, 12);
  const bool isLoad = opcode == 0x381 || opcode == 0x981 || opcode == 0x980;
  return std::span(kOrders).subspan(isLoad ? 0 : 1);
}

/// Whether this is a global or generic access through a descriptor, which sm_75 does not have.
bool hasDescriptor(const Word& word) {
  constexpr unsigned kKind = 70, kKindBits = 2, kAtomicsWith = 3, kReductionsWith = 2, kLoads = 76;
  switch (getBits(word, 0, 12)) {
  case 0x980:
  case 0x981:
  case 0x986:
  case 0x985: return getBits(word, kLoads, 1) != 0;
  case 0x9a8:
  case 0x98a: return getBits(word, kKind, kKindBits) == kAtomicsWith;
  case 0x98e: return getBits(word, kKind, kKindBits) == kReductionsWith;
  default: return false;
  }
}

/// A name on sm_90, and on the chips before it.
struct Renamed {
  std::string_view newer, older;
};
/// Before sm_89 the name of F2FP does not contain the source format f32.
constexpr Renamed kPackedFormats[] = {{".F16.F32.", "."}, {".BF16.F32.", ".BF16."}};
constexpr Renamed kRenamed[] = {{"REDG.", "RED."}, {"WARPSYNC.ALL", "WARPSYNC 0xffffffff"}, {"DMMA.8x8x4", "DMMA.884"}};

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
    if (getBits(word, kCounts, 1) != 0) setBits(out, 87, 1, 1);
    return out;
  case 0x948: // WARPSYNC with an immediate mask; for all lanes it is WARPSYNC.ALL
    if (getBits(word, 32, 32) != 0xffffffff) return std::nullopt;
    setBits(out, 32, 32, 0);
    return out;
  case 0x348: // WARPSYNC with a mask in a register: the register and EXCLUSIVE have other bits
    setBits(out, 24, 8, getBits(word, 32, 8));
    setBits(out, 32, 8, getBits(word, 24, 8));
    setBits(out, kExclusive, 1, getBits(word, kOlderExclusive, 1));
    setBits(out, kOlderExclusive, 1, getBits(word, kExclusive, 1));
    return out;
  case 0x3c2: // R2UR
    setBits(out, 0, 12, 0x2ca);
    return out;
  case 0x239: // I2IP, which always saturates
  case 0x839:
  case 0xa39:
  case 0xc39:
    if (getBits(word, kSaturates, 1) != 0) return std::nullopt;
    setBits(out, kSaturates, 1, 1);
    return out;
  case 0x34e: // LEPC, without an operand: its own address
    setBits(out, 0, 12, 0x94e);
    setBits(out, kPlace, kPlaceBits, kOwnPlace);
    return out;
  default: return word;
  }
}

std::optional<Word> asSm80(const Word& word) {
  Word out = word;
  switch (getBits(word, 0, 12)) {
  case 0x947: // BRA
  case 0x949: // BRX
  case 0x944: // CALL.REL
  case 0x344: // CALL.REL
  case 0x950: // RET
    return olderBranch(word);
  case 0x3a3: // ATOMG
  case 0x3a8: return olderAtomic(word, 0x3a8);
  case 0x9a3:
  case 0x9a8: return olderAtomic(word, 0x9a8);
  case 0x3a2: // ATOM
  case 0x38a: return olderAtomic(word, 0x38a);
  case 0x9a2:
  case 0x98a: return olderAtomic(word, 0x98a);
  case 0x9a6: // RED
  case 0x98e: return olderAtomic(word, 0x98e, 3);
  case 0x308: // MUFU
  case 0x908:
  case 0xb08:
  case 0xd08: return olderApproximation(word);
  case 0xf8c: // ATOMS.POPC.INC
    if (getBits(word, kCounts, 1) != 0) setBits(out, 87, 1, 0);
    return out;
  case 0x948: // WARPSYNC for all lanes
    if (getBits(word, 32, 32) != 0 || getBits(word, kUniformPredicate, 4) != kTrue) return std::nullopt;
    setBits(out, 32, 32, 0xffffffff);
    return out;
  case 0x348: // WARPSYNC of a mask in a register
    if (getBits(word, kCollective, 1) != 0) return std::nullopt;
    setBits(out, 24, 8, getBits(word, 32, 8));
    setBits(out, 32, 8, getBits(word, 24, 8));
    setBits(out, kOlderExclusive, 1, getBits(word, kExclusive, 1));
    setBits(out, kExclusive, 1, 0);
    return out;
  case 0x239: // I2IP
  case 0x839:
  case 0xa39:
  case 0xc39:
    if (getBits(word, kSaturates, 1) == 0) return std::nullopt;
    setBits(out, kSaturates, 1, 0);
    return out;
  case 0x237: // IMMA, HMMA, DMMA: never with a uniform predicate
  case 0x23c:
  case 0x23f:
    if (getBits(word, kUniformPredicate, 4) != 0) return std::nullopt; // UPT is encoded as 0
    return word;
  case 0x430: // HADD2.F32 has no immediate
    if (getBits(word, kToSingle, 1) != 0) return std::nullopt;
    return word;
  case 0x2ca: // R2UR, which does not use the operand cache
    setBits(out, 0, 12, 0x3c2);
    setBits(out, kReuse, kReuseBits, 0);
    return out;
  case 0x94e: // LEPC
    if (signExtend(getBits(word, kPlace, kPlaceBits), kPlaceBits) != kOwnPlace) return std::nullopt;
    setBits(out, 0, 12, 0x34e);
    setBits(out, kPlace, kPlaceBits, 0);
    return out;
  default: return word;
  }
}

std::optional<Word> turingAsSm80(const Word& word) {
  Word out = word;
  // nvdisasm has no EXCLUSIVE there.
  if (getBits(word, 0, 12) == kWarpsync && getBits(word, kOlderExclusive, 1) != 0) return std::nullopt;
  if (getBits(word, 0, 12) == kLds) {
    if (getBits(word, kUnordered, 1) == 0) return std::nullopt;
    setBits(out, kUnordered, 1, 0);
    return out;
  }
  if (hasOneValue(word)) {
    if (getBits(word, kOtherValue, kOtherValueBits) != kNoValue) return std::nullopt;
    setBits(out, kOtherValue, kOtherValueBits, 0);
  }
  if (!isOrdered(word)) return out;
  // Only loads and stores have rows with a 32-bit register and a uniform address ([R2.U32+UR4]).
  const bool hasRegister = getBits(word, kRegister, kRegisterBits) != kNoValue;
  const bool isIndexed = getBits(word, kTakesUniform, 1) != 0 && getBits(word, kWideAddress, 1) == 0 && hasRegister;
  if (hasDescriptor(word) || (isIndexed && !hasIndexedRow(word) && !isAtomicWithResult(word))) return std::nullopt;
  if (isWidthInverted(word)) setBits(out, kWideAddress, 1, 1 - getBits(word, kWideAddress, 1));
  for (const OrderPair& pair : ordersOf(word))
    if (getBits(word, kOrderBit, kOrderBits) == pair.turing) {
      setBits(out, kOrderBit, kOrderBits, pair.later);
      return out;
    }
  return std::nullopt;
}

std::optional<Word> asTuring(const Word& word) {
  Word out = word;
  if (getBits(word, 0, 12) == kWarpsync) setBits(out, kOlderExclusive, 1, 0); // the only form
  if (getBits(word, 0, 12) == kLds) setBits(out, kUnordered, 1, 1);
  if (hasOneValue(word)) setBits(out, kOtherValue, kOtherValueBits, kNoValue);
  if (!isOrdered(word)) return out;
  if (hasDescriptor(word)) return std::nullopt;
  if (isWidthInverted(word)) setBits(out, kWideAddress, 1, 1 - getBits(word, kWideAddress, 1));
  for (const OrderPair& pair : ordersOf(word))
    if (getBits(word, kOrderBit, kOrderBits) == pair.later) {
      setBits(out, kOrderBit, kOrderBits, pair.turing);
      return out;
    }
  return std::nullopt;
}

namespace {

/// Adapts the text to sm_75: every access has a scope, and the low words of a comparison are written if present.
void printAsTuring(const Inst& inst, std::string& text) {
  const InstrDesc& row = desc(inst.op);
  const bool isLoad = row.has(Flag::Load) && !row.has(Flag::Store);
  if (inst.op == Op::LDS) {
    text.insert(text.find("LDS") + 3, ".U");
    return;
  }
  if (inst.op == Op::ISETP_EX) {
    constexpr std::string_view kBoth = ", PT";
    if (text.ends_with(kBoth)) text.erase(text.size() - kBoth.size());
    return;
  }
  if (row.modIndex(Mod::Order) < 0) return;
  constexpr std::string_view kNoRegister = "[RZ.64+UR";
  if (const std::size_t at = text.find(kNoRegister); at != std::string::npos)
    text.erase(at + 1, kNoRegister.size() - 3);
  constexpr std::string_view kSm = ".STRONG.SM";
  switch (getMod(inst, Mod::Order)) {
  case static_cast<unsigned>(MemOrder::Constant):
    if (!isLoad) break;
    [[fallthrough]];
  case static_cast<unsigned>(MemOrder::Weak): {
    const std::size_t name = text.find(row.mnemonic);
    std::size_t at = text.find(' ', name);
    // The stored components and the mode for texels outside the surface follow the scope.
    for (const std::string_view after : {".IGN", ".TRAP", ".RG", ".R"})
      if (row.pipe == Pipe::Tex && std::string_view(text).substr(0, at).ends_with(after)) at -= after.size();
    text.insert(at, ".SYS");
    break;
  }
  case static_cast<unsigned>(MemOrder::StrongSm):
    if (const std::size_t at = text.find(kSm); at != std::string::npos) text.replace(at, kSm.size(), ".STRONG.CTA");
    break;
  default: break;
  }
}

} // namespace

std::optional<Inst> decodeFor(const Target& target, const Word& word) {
  if (target.words() >= WordFormat::Sm100) {
    const std::optional<Inst> inst = decode(word, target.words());
    return inst && isListedFor(target, inst->op) ? inst : std::nullopt;
  }
  if (target.words() == WordFormat::Sm90) return decode(word);
  const std::optional<Word> later = target.words() >= WordFormat::Sm80 ? word : turingAsSm80(word);
  if (!later) return std::nullopt;
  const std::optional<Word> newer = asSm90(*later);
  if (!newer) return std::nullopt;
  std::optional<Inst> inst = decode(*newer);
  // Floating-point atomics are listed for sm_90, where they have separate words.
  const bool isTranslated = newer->lo != later->lo || newer->hi != later->hi;
  if (inst && !isTranslated && !isListedFor(target, inst->op)) return std::nullopt;
  return inst;
}

std::string printFor(const Target& target, const Inst& inst, const PrintOptions& options) {
  std::string text = print(inst, options, std::max(target.words(), WordFormat::Sm90));
  if (target.words() >= WordFormat::Sm100) {
    constexpr std::string_view kNumber = "SR138"; // no name on sm_90
    if (const std::size_t at = text.find(kNumber); at != std::string::npos)
      text.replace(at, kNumber.size(), "SR_CgaSize");
    // Observed: the scale for 16 elements has another name on sm_103.
    constexpr std::string_view kScales = ".4X ";
    if (target.instructions() == kSm103 && (inst.op == Op::UTCOMMA || inst.op == Op::UTCOMMA_T))
      if (const std::size_t at = text.find(kScales); at != std::string::npos)
        text.replace(at, kScales.size(), ".BLOCK16 ");
  }
  if (target.words() >= WordFormat::Sm90) return text;
  constexpr std::string_view kDescriptor = "desc[";
  if (const std::size_t at = text.find(kDescriptor); at != std::string::npos)
    text.erase(at, text.find(']', at) + 1 - at);
  const auto rename = [&](std::span<const Renamed> names) {
    for (const Renamed& name : names)
      if (const std::size_t at = text.find(name.newer); at != std::string::npos) {
        text.replace(at, name.newer.size(), name.older);
        return;
      }
  };
  if (target.words() < WordFormat::Sm80) printAsTuring(inst, text);
  rename(kRenamed);
  if (inst.op == Op::LEPC) text.erase(text.find(','));
  if (const Operand& mask = inst.operands[2]; inst.op == Op::P2R && mask.isImm() && mask.imm < 0) // signed there
    text.replace(text.rfind("0x"), std::string::npos, fmt::format("-0x{:x}", -std::int64_t{mask.imm}));
  if (!target.has(Capability::ByteFloats) && desc(inst.op).mnemonic == "F2FP") rename(kPackedFormats);
  return text;
}

} // namespace orias::isa
