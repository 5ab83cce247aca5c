#pragma once

// The single table of SASS instructions (README.md describes the rows). It is used by the encoder, decoder, printer,
// text parser, verifier, legalizer, schedulers, register allocator, ConvertToUniformReg and emulator.

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

/// A modifier and its value, for builders: {Mod::Cmp, Cmp::LT}. Each kind has an enum of its values (mods.h), so code
/// outside the table never writes a modifier as a number or a string.
struct ModValue {
  Mod kind;
  std::uint8_t value;
  template <typename E> constexpr ModValue(Mod k, E v) : kind(k), value(static_cast<std::uint8_t>(v)) {}
};

enum class Role : std::uint8_t { Def, Use };

/// How many registers an operand in this slot spans. Some depend on modifiers; operandWidth() in desc.h evaluates them.
enum class WidthRule : std::uint8_t {
  One,
  Two,
  Four,
  Any,         ///< pseudo instructions: the width of the operand
  Size,        ///< by Mod::Size: the bytes that a memory access moves
  Address,     ///< by Mod::E: a 64-bit address is a pair
  AtomType,    ///< by Mod::AtomType: the type of an atomic
  AtomFloat,   ///< by Mod::AtomFloat
  MmaC,        ///< an accumulator of 16x8: two registers in f16, four in f32
  Mma1688A,    ///< A of 16x8x8: two registers, four in tf32
  Mma1688B,    ///< B of 16x8x8: one register, two in tf32
  MatrixCount, ///< by Mod::Size of LDSM and STSM: the number of matrices
  DstFmt,      ///< by Mod::DstFmt, a Fmt
  SrcFmt,      ///< by Mod::SrcFmt, a Fmt
  DstInt,      ///< by Mod::DstFmt, an IntFmt
  SrcInt,      ///< by Mod::SrcFmt, an IntFmt
  MatchSize,   ///< by Mod::Size of MATCH and others with a 64-bit flag
  Cs2r,        ///< by Mod::Size of CS2R
  TexCoords,   ///< by Mod::Geometry of a texture: its coordinates; or the first half of the operands (Mod::Scattered)
  TexParams,   ///< by the modifiers of a texture: handle, level, offset, comparison; or the second half
  TexNamedCoords, ///< by Mod::Geometry of a texture: its coordinates, after its handle if that is in a register
  TexLow,         ///< by Mod::Mask: the first two requested components
  TexHigh,        ///< by Mod::Mask: the other requested components
  SurfCoords,     ///< by Mod::Geometry of a surface
  TexGradients,   ///< by Mod::Geometry of a texture: two derivatives for each coordinate
  TexMask,        ///< by Mod::Mask: all requested components
  SurfAtom,       ///< by Mod::AtomType of SURED
  GmmaC,          ///< by Mod::Geometry and Mod::DstFmt of HGMMA and QGMMA: an accumulator
  GmmaInt,        ///< by Mod::Geometry of IGMMA: an accumulator
  GmmaBit,        ///< by Mod::Geometry of BGMMA: an accumulator
  Box,            ///< by Mod::Geometry of a tensor copy: the coordinates of a box
  BoxAt,          ///< the coordinates of a box, after an address in shared memory
  BoxAtBarrier,   ///< the coordinates of a box, after an address and a barrier in shared memory
  MacroType,      ///< by Mod::MacroType of a pseudo instruction
  PairA,          ///< by Mod::Sub of FFMA2 and others: two words, or one word twice
  PairB,          ///< by Mod::Sub2
  PairC,          ///< by Mod::Sub3
  MatrixBytes,    ///< by Mod::Size and Mod::Sub of LDSM on bytes
  TensorLanes,    ///< by Mod::Sub4 of UTC*MMA: a bit for each lane of one or two blocks
  TensorColumns   ///< by Mod::Geometry and Mod::Size of LDTM and STTM
};

struct SlotDesc {
  std::string_view name; ///< as in the literature: "Rd", "Pu", "Ra", ...
  Role role = Role::Use;
  File file = File::R; ///< the register file (`accepts` tells whether a Use slot also accepts UR)
  WidthRule width{};
  /// The accepted operand kinds, as a mask of kAccepts*.
  std::uint8_t accepts = 0;
  bool canNeg = false;
  bool canAbs = false;
  bool canNot = false;
  /// Read after issue, by a decoupled unit. A read barrier must protect the register against overwriting.
  bool readLate = false;
};
inline constexpr std::uint8_t kAcceptsReg = 1 << 0;  ///< a register of `file`
inline constexpr std::uint8_t kAcceptsUReg = 1 << 1; ///< a uniform register (UR for R, UP for P)
inline constexpr std::uint8_t kAcceptsImm = 1 << 2;
inline constexpr std::uint8_t kAcceptsConst = 1 << 3;
inline constexpr std::uint8_t kAcceptsLabel = 1 << 4;
inline constexpr std::uint8_t kAcceptsNone = 1 << 5; ///< may be absent

/// Properties for phases. Target::isScoreboarded tells whether a latency is fixed or scoreboarded.
enum class Flag : std::uint32_t {
  Pseudo = 1 << 0,     ///< exists in Ori only; never reaches the encoder
  Branch = 1 << 1,     ///< transfers control to a label or register
  Terminator = 1 << 2, ///< ends a block; conditional if guarded
  Load = 1 << 3,       ///< reads memory that may be written
  Store = 1 << 4,      ///< writes memory
  Atomic = 1 << 5,
  SideEffect = 1 << 6,    ///< must not be removed even if its results are unused
  Convergent = 1 << 7,    ///< reads or synchronizes other lanes: must not move across divergence
  Fence = 1 << 8,         ///< orders memory
  Volatile = 1 << 9,      ///< two executions may give different results (clocks): no CSE, no rematerialization
  Commutative = 1 << 10,  ///< the first two source slots may be swapped
  Uniform = 1 << 11,      ///< runs on the uniform datapath, once per warp
  Copy = 1 << 12,         ///< Rd = source, unchanged
  ConstLoad = 1 << 13,    ///< reads a constant bank (LDC, ULDC)
  UniformGuard = 1 << 15, ///< the guard is a uniform predicate
  Variadic = 1 << 14,     ///< any number of operands (PHI)
  DrainsWrites = 1 << 19, ///< later instructions wait until it completes (phases/scoreboards)
  AwaitsAll = 1 << 20,    ///< waits until all instructions in flight complete
  Varying = 1 << 16,      ///< its results differ between lanes, regardless of its operands
  WarpWide = 1 << 17,     ///< lanes that execute it together get the same results, regardless of its operands
};

/// The index of the latency tables. The classes follow Mesa NAK's sm_80/sm_100 split (see the latency data's README).
enum class LatencyClass : std::uint8_t;

/// The unit that executes an instruction.
enum class Pipe : std::uint8_t { None, Alu, Fma, Fp64, Fp16, Mma, Xu, Lsu, Tex, Cbu, Uniform, Adu };

struct InstrDesc; // the full row; see encoder/isa/desc.h

/// A machine instruction: the contents of a 128-bit word.
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
