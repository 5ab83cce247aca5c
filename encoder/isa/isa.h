#pragma once

// The one table of SASS instructions (see README.md for how a row is written). Everybody asks it: encoder, decoder,
// printer, text parser, verifier, legaliser, schedulers, register allocator, ConvertToUniformReg, emulator.

#include "encoder/isa/operand.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace orias::isa {

class Target;

/// One enumerator per row of the table: IADD3, IMAD, IMAD_WIDE, LDG, ... and the pseudo instructions of Ori.
enum class Op : std::uint16_t {
#define ORIAS_INSTR(name, ...) name,
#include "encoder/isa/instructions.inc"
#undef ORIAS_INSTR
  kCount
};

/// Modifier kinds. A row lists the kinds that it has; values are small numbers with names, per row.
enum class Mod : std::uint8_t;

/// A modifier and its value, as builders write it: {Mod::Cmp, Cmp::LT}. Each kind has an enum of its values (mods.h),
/// so that no code outside the table spells a modifier as a number or a string.
struct ModValue {
  Mod kind;
  std::uint8_t value;
  template <typename E> constexpr ModValue(Mod k, E v) : kind(k), value(static_cast<std::uint8_t>(v)) {}
};

enum class Role : std::uint8_t { Def, Use };

/// How many registers an operand in this slot spans; some depend on modifiers (operandWidth in desc.h works it out).
enum class WidthRule : std::uint8_t {
  One,
  Two,
  Four,
  Any,            ///< pseudo instructions: whatever the operand says
  Size,           ///< by Mod::Size: the bytes that a memory access moves
  Address,        ///< by Mod::E: a 64-bit address is a pair
  AtomType,       ///< by Mod::AtomType: what an atomic operates on
  AtomFloat,      ///< by Mod::AtomFloat
  MmaC,           ///< an accumulator of 16x8: two registers in f16, four in f32
  Mma1688A,       ///< A of 16x8x8: two registers, four in tf32
  Mma1688B,       ///< B of 16x8x8: one register, two in tf32
  MatrixCount,    ///< by Mod::Size of LDSM and STSM: how many matrices
  DstFmt,         ///< by Mod::DstFmt, a Fmt
  SrcFmt,         ///< by Mod::SrcFmt, a Fmt
  DstInt,         ///< by Mod::DstFmt, an IntFmt
  SrcInt,         ///< by Mod::SrcFmt, an IntFmt
  MatchSize,      ///< by Mod::Size of MATCH and others with a 64-bit flag
  Cs2r,           ///< by Mod::Size of CS2R
  TexCoords,      ///< by Mod::Geometry of a texture: its coordinates; or a half of the operands (Mod::Scattered)
  TexParams,      ///< by the modifiers of a texture: name, level, offset, comparison; or the other half
  TexNamedCoords, ///< by Mod::Geometry of a texture: its coordinates, behind its name if that is in a register
  TexLow,         ///< by Mod::Mask: the first two components that are wanted
  TexHigh,        ///< by Mod::Mask: the others
  SurfCoords,     ///< by Mod::Geometry of a surface
  TexGradients,   ///< by Mod::Geometry of a texture: two derivatives for each coordinate
  TexMask,        ///< by Mod::Mask: all components that are wanted
  SurfAtom,       ///< by Mod::AtomType of SURED
  GmmaC,          ///< by Mod::Geometry and Mod::DstFmt of HGMMA and QGMMA: an accumulator
  GmmaInt,        ///< by Mod::Geometry of IGMMA: an accumulator
  GmmaBit,        ///< by Mod::Geometry of BGMMA: an accumulator
  Box,            ///< by Mod::Geometry of a tensor copy: the coordinates of a box
  BoxAt,          ///< likewise, behind an address in shared memory
  BoxAtBarrier,   ///< likewise, behind an address and a barrier in shared memory
  MacroType,      ///< by Mod::MacroType of a pseudo instruction
  PairA,          ///< by Mod::Sub of FFMA2 and others: two words, or one word twice
  PairB,          ///< by Mod::Sub2
  PairC,          ///< by Mod::Sub3
  MatrixBytes,    ///< by Mod::Size and Mod::Sub of LDSM on bytes
  TensorLanes,    ///< by Mod::Sub4 of UTC*MMA: a bit for each lane of a block, or of two
  TensorColumns   ///< by Mod::Geometry and Mod::Size of LDTM and STTM
};

struct SlotDesc {
  std::string_view name; ///< as in the literature: "Rd", "Pu", "Ra", ...
  Role role = Role::Use;
  File file = File::R; ///< the file of a register here (Use slots that take UR as well say so in `accepts`)
  WidthRule width{};
  /// What may stand here, as a mask of kAccepts*.
  std::uint8_t accepts = 0;
  bool canNeg = false;
  bool canAbs = false;
  bool canNot = false;
  /// Read after issue (by a decoupled unit): such a register needs a read barrier against overwriting.
  bool readLate = false;
};
inline constexpr std::uint8_t kAcceptsReg = 1 << 0;  ///< a register of `file`
inline constexpr std::uint8_t kAcceptsUReg = 1 << 1; ///< a uniform register (UR for R, UP for P)
inline constexpr std::uint8_t kAcceptsImm = 1 << 2;
inline constexpr std::uint8_t kAcceptsConst = 1 << 3;
inline constexpr std::uint8_t kAcceptsLabel = 1 << 4;
inline constexpr std::uint8_t kAcceptsNone = 1 << 5; ///< may be absent

/// Facts that phases act on. What is fixed and what is scoreboarded is asked of the Target.
enum class Flag : std::uint32_t {
  Pseudo = 1 << 0,     ///< exists in Ori only; never reaches the encoder
  Branch = 1 << 1,     ///< transfers control to a label or register
  Terminator = 1 << 2, ///< ends a block; conditional when guarded
  Load = 1 << 3,       ///< reads memory that may be written by someone
  Store = 1 << 4,      ///< writes memory
  Atomic = 1 << 5,
  SideEffect = 1 << 6,    ///< must not be removed even when its results are unused
  Convergent = 1 << 7,    ///< reads or synchronises other lanes: must not move across divergence
  Fence = 1 << 8,         ///< orders memory
  Volatile = 1 << 9,      ///< two executions may give two results (clocks); no CSE, no remat
  Commutative = 1 << 10,  ///< the first two source slots may be swapped
  Uniform = 1 << 11,      ///< runs on the uniform datapath, once per warp
  Copy = 1 << 12,         ///< Rd = source, unchanged
  ConstLoad = 1 << 13,    ///< reads a constant bank (LDC, ULDC)
  UniformGuard = 1 << 15, ///< the guard is a uniform predicate
  Variadic = 1 << 14,     ///< any number of operands (PHI)
  DrainsWrites = 1 << 19, ///< later ones wait until it is done (phases/scoreboards)
  AwaitsAll = 1 << 20,    ///< waits until all that is under way is done
  Varying = 1 << 16,      ///< its results differ from lane to lane, whatever it reads
  WarpWide = 1 << 17,     ///< all lanes that execute it together get the same results, whatever they read
};

/// What the latency tables are indexed by. The classes follow Mesa NAK's sm_80/sm_100 split (see the latency data's
/// README).
enum class LatencyClass : std::uint8_t;

/// The unit that executes an instruction.
enum class Pipe : std::uint8_t { None, Alu, Fma, Fp64, Fp16, Mma, Xu, Lsu, Tex, Cbu, Uniform, Adu };

struct InstrDesc; // the full row; see encoder/isa/desc.h

/// A machine instruction: what one 128-bit word says.
struct Inst {
  Op op{};
  std::uint8_t operandCount = 0;
  std::array<std::uint8_t, kMaxMods> mods{};
  Operand guard = Operand::pt();
  std::array<Operand, kMaxOperands> operands{};
  Control control;
};

struct Word {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  friend bool operator==(const Word&, const Word&) = default;
};

} // namespace orias::isa
