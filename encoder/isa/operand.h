#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace orias::isa {

/// Register files. `B` are the convergence barriers of a warp.
enum class File : std::uint8_t { R, UR, P, UP, B };
inline constexpr unsigned kFileCount = 5;

/// Register numbers that read as zero or true and ignore writes.
inline constexpr std::uint32_t kRZ = 255;
inline constexpr std::uint32_t kURZ = 255; ///< 63 in fields of 6 bits
inline constexpr std::uint32_t kPT = 7;
inline constexpr std::uint32_t kUPT = 7;

/// The number of the always-zero (always-true) register of a file; files without one have none (B).
constexpr std::uint32_t zeroRegister(File file) {
  switch (file) {
  case File::R: return kRZ;
  case File::UR: return kURZ;
  case File::P: return kPT;
  case File::UP: return kUPT;
  case File::B: break;
  }
  return ~0u;
}

/// An operand of an instruction. The instruction table (InstrDesc::slots) has the slots and the kinds that each
/// accepts. The type is used before and after register allocation.
struct Operand {
  enum class Kind : std::uint8_t {
    None,   ///< an optional operand that is absent (encoded by the slot's default)
    Reg,    ///< `reg` in `file`; `width` consecutive registers, from component `sub` of a virtual register
    Imm,    ///< `imm`: 32 raw bits (floats as their bits); also special-register and sub-field numbers
    Const,  ///< constant bank `bank` at byte offset `imm`: c[bank][imm]; with `reg` != kNoReg: cx[UR reg][imm]
            ///< (bindless)
    Label,  ///< `reg` = block id (in Ori), or `imm` = byte distance from the next instruction (in decoded words)
    Symbol, ///< address of module symbol `reg` plus `imm`, patched by a relocation
    Frame   ///< stack-pointer offset of frame object `reg`, plus `imm`: an Imm whose value is known once phase 101 lays
            ///< out
  };
  enum Flags : std::uint8_t {
    kNeg = 1 << 0,     ///< arithmetic negation
    kAbs = 1 << 1,     ///< absolute value, applied before kNeg
    kNot = 1 << 2,     ///< logical or bitwise inversion
    kReuse = 1 << 3,   ///< .reuse: keep in the operand cache (only after allocation)
    kVirtual = 1 << 4, ///< `reg` is a virtual register id, not a number of the file
    kLastUse = 1 << 5  ///< set by liveness for printing; no meaning for encoding
  };
  /// Half-word selection of packed 16-bit operands; `None` for all others.
  enum class Half : std::uint8_t { None, H0H0, H1H1, H1H0, F32 };

  static constexpr std::uint32_t kNoReg = ~0u;

  Kind kind = Kind::None;
  File file = File::R;
  std::uint8_t width = 1;
  std::uint8_t flags = 0;
  std::uint8_t sub = 0;
  std::uint8_t bank = 0;
  Half half = Half::None;
  bool isDef = false; ///< maintained by functions for their operands (ori/instr.h); not part of the value
  std::uint32_t reg = kNoReg;
  std::int32_t imm = 0;

  constexpr bool isReg() const { return kind == Kind::Reg; }
  constexpr bool isReg(File f) const { return kind == Kind::Reg && file == f; }
  constexpr bool isImm() const { return kind == Kind::Imm; }
  constexpr bool isConst() const { return kind == Kind::Const; }
  constexpr bool isVirtual() const { return (flags & kVirtual) != 0; }
  constexpr bool isNone() const { return kind == Kind::None; }
  constexpr bool neg() const { return (flags & kNeg) != 0; }
  constexpr bool abs() const { return (flags & kAbs) != 0; }
  constexpr bool inverted() const { return (flags & kNot) != 0; }
  constexpr bool reuse() const { return (flags & kReuse) != 0; }
  /// RZ, URZ, PT or UPT (also if inverted).
  constexpr bool isZeroReg() const { return kind == Kind::Reg && !isVirtual() && reg == zeroRegister(file); }

  static constexpr Operand physical(File file, std::uint32_t number, unsigned width = 1) {
    Operand o;
    o.kind = Kind::Reg;
    o.file = file;
    o.reg = number;
    o.width = static_cast<std::uint8_t>(width);
    return o;
  }
  static constexpr Operand virt(File file, std::uint32_t id, unsigned width = 1, unsigned sub = 0) {
    Operand o = physical(file, id, width);
    o.sub = static_cast<std::uint8_t>(sub);
    o.flags = kVirtual;
    return o;
  }
  static constexpr Operand zero(File file, unsigned width = 1) { return physical(file, zeroRegister(file), width); }
  static constexpr Operand rz(unsigned width = 1) { return zero(File::R, width); }
  static constexpr Operand pt() { return zero(File::P); }
  static constexpr Operand immediate(std::int32_t value) {
    Operand o;
    o.kind = Kind::Imm;
    o.imm = value;
    return o;
  }
  static constexpr Operand constant(unsigned bank, std::int32_t offset, unsigned width = 1) {
    Operand o;
    o.kind = Kind::Const;
    o.bank = static_cast<std::uint8_t>(bank);
    o.imm = offset;
    o.width = static_cast<std::uint8_t>(width);
    return o;
  }
  static constexpr Operand label(std::uint32_t block) {
    Operand o;
    o.kind = Kind::Label;
    o.reg = block;
    return o;
  }
  constexpr Operand negated() const { return withFlag(kNeg); }
  constexpr Operand absolute() const {
    Operand o = *this;
    o.flags = static_cast<std::uint8_t>((o.flags | kAbs) & ~kNeg);
    return o;
  }
  constexpr Operand notted() const { return withFlag(kNot); }

  friend constexpr bool operator==(const Operand& a, const Operand& b) { return a.bits() == b.bits(); }
  /// The value as numbers, for comparisons and keys.
  constexpr std::array<std::uint64_t, 2> bits() const {
    Operand value = *this;
    value.isDef = false;
    return std::bit_cast<std::array<std::uint64_t, 2>>(value); // there is no padding
  }

 private:
  constexpr Operand withFlag(std::uint8_t flag) const {
    Operand o = *this;
    o.flags ^= flag;
    return o;
  }
};

/// The scheduling fields of a word, bits 105 to 125 (reuse bits are operand flags).
struct Control {
  static constexpr std::uint8_t kNoBarrier = 7;
  std::uint8_t stall = 0;                 ///< cycles to the next issue of this warp, 0..15; 0 drains the pipeline
  bool yield = false;                     ///< a hint that another warp may issue next
  std::uint8_t writeBarrier = kNoBarrier; ///< scoreboard 0..5 released when the results are written
  std::uint8_t readBarrier = kNoBarrier;  ///< scoreboard 0..5 released when the sources have been read
  std::uint8_t waitMask = 0;              ///< scoreboards that must be free before issue, one bit each
  friend bool operator==(const Control&, const Control&) = default;
};

inline constexpr unsigned kMaxMods = 14;
inline constexpr unsigned kMaxOperands = 14;

} // namespace orias::isa
