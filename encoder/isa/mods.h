#pragma once

// The kinds of modifiers and the names of their values. The numbers are those of the bit fields, so the encoder needs
// no translation. A unit test compares these names with the names in the table.

#include <cstdint>

namespace orias::isa {

/// Modifier kinds. The row of an instruction contains its kinds with their bits and names.
enum class Mod : std::uint8_t {
  None,
  X,         ///< add with carry-in
  Ex,        ///< ISETP: high half of a 64-bit comparison
  Type,      ///< IntType: the signedness of an integer source
  Cmp,       ///< ICmp or FCmp
  Bool,      ///< BoolOp: combines a comparison with its predicate input
  BoolF,     ///< FSET, HSET2: the result is 1.0 instead of all ones
  Ftz,       ///< Ftz
  Sat,       ///< clamp to [0, 1]
  Rnd,       ///< Rnd: rounding of a result
  Round,     ///< RoundInt: rounding to an integer
  Ntz,       ///< F2I: NaN converts to zero
  Relu,      ///< negative results become zero
  Nan,       ///< minimum and maximum: NaN if a source is NaN
  XorSign,   ///< minimum and maximum: the sign is that of the sources' product
  Hi,        ///< SHF, LEA: the high half of the result
  ShiftDir,  ///< ShiftDir
  ShiftType, ///< ShiftType
  Wrap,      ///< shift counts modulo the width
  Sx32,      ///< LEA.HI: the high half is the sign of the low half
  Pand,      ///< LOP3: the predicate result is "all lanes of the AND"
  PrmtMode,
  Func,      ///< Mufu
  FuncFmt,   ///< MUFU: the format of the operation
  Size,      ///< MemSize
  E,         ///< 64-bit addresses
  Order,     ///< MemOrder
  Evict,     ///< Evict
  Prefetch,  ///< LTC prefetch size
  AddrScale, ///< shared memory: scale of the index register
  AtomOp,
  AtomType,  ///< AtomType
  AtomFloat, ///< AtomFloat
  ShflMode,
  VoteMode,
  DstFmt, ///< Fmt, or IntFmt where the result is an integer
  SrcFmt, ///< Fmt, or IntFmt where the source is an integer
  Byte,   ///< the byte or half of a source register
  Sub,    ///< a choice that is specific to the instruction
  Sub2,
  Sub3,
  Sub4,
  Scope,     ///< MemScope of a fence
  Fence,     ///< FenceKind
  Bf16,      ///< packed operands are bfloat16
  F32,       ///< accumulate in f32
  Geometry,  ///< dimensions of a texture or surface; the shape of a product of a warp group
  Mask,      ///< the requested components of a texel
  Scattered, ///< textures: all operands in two halves, regardless of the number of coordinates
  Bindless,  ///< textures: the handle is in a register among the operands
  MacroType, ///< MacroType of a pseudo instruction
  MacroKind, ///< MacroKind of a pseudo instruction
  kCount
};

/// Integer comparison (3 bits).
enum class ICmp : std::uint8_t { F, LT, EQ, LE, GT, NE, GE, T };
/// The comparison that is true if this one is false. It has the mirrored position in the list.
constexpr ICmp opposite(ICmp comparison) {
  return static_cast<ICmp>(static_cast<unsigned>(ICmp::T) - static_cast<unsigned>(comparison));
}
/// The equivalent comparison with exchanged operands.
constexpr ICmp mirrored(ICmp comparison) {
  switch (comparison) {
  case ICmp::LT: return ICmp::GT;
  case ICmp::GT: return ICmp::LT;
  case ICmp::LE: return ICmp::GE;
  case ICmp::GE: return ICmp::LE;
  default: return comparison;
  }
}
/// Floating-point comparison (4 bits); the names ending in U are true for unordered operands as well.
enum class FCmp : std::uint8_t { F, LT, EQ, LE, GT, NE, GE, NUM, NAN_, LTU, EQU, LEU, GTU, NEU, GEU, T };
enum class BoolOp : std::uint8_t { AND, OR, XOR };
enum class IntType : std::uint8_t { U32, S32 };
enum class Rnd : std::uint8_t { RN, RM, RP, RZ };
/// Rounding to an integer: to even, down, up, toward zero.
enum class RoundInt : std::uint8_t { Round, Floor, Ceil, Trunc };
/// FTZ flushes subnormals to zero. With FMZ, zero times anything is also zero. OOB does not flush; its results are 0 if
/// a source is the NaN of all ones.
enum class Ftz : std::uint8_t { None, FTZ, FMZ, OOB };
enum class ShiftDir : std::uint8_t { L, R };
enum class ShiftType : std::uint8_t { S64, U64, S32, U32 };
enum class PrmtMode : std::uint8_t { Index, F4E, B4E, RC8, ECL, ECR, RC16 };
enum class Mufu : std::uint8_t { COS, SIN, EX2, LG2, RCP, RSQ, RCP64H, RSQ64H, SQRT, TANH };
enum class MemSize : std::uint8_t { U8, S8, U16, S16, B32, B64, B128, UB128 };
/// The memory order and scope of an access: the values that code generation uses (of 16).
enum class MemOrder : std::uint8_t { Weak = 0, Constant = 4, StrongSm = 5, StrongGpu = 7, StrongSys = 10 };
enum class Evict : std::uint8_t { EF, Normal, EL, LU, EU, NA };
/// The type of an atomic. Integer and floating-point atomics are separate instructions.
enum class AtomType : std::uint8_t { U32, S32, U64, S64, U128 };
enum class AtomFloat : std::uint8_t {
  F16x2,
  F16x4,
  F16x8,
  BF16x2,
  BF16x4,
  BF16x8,
  F32Ftz = 9,
  F32x2Ftz,
  F32x4Ftz,
  F32,
  F32x2,
  F32x4,
  F64,
  E5M2x4 = 17, ///< of LDGMC_BYTE_FLOAT
  E5M2x8,
  E5M2x16,
  E4M3x4,
  E4M3x8,
  E4M3x16
};
enum class AtomOp : std::uint8_t { ADD, MIN, MAX, INC, DEC, AND, OR, XOR, EXCH };
enum class ShflMode : std::uint8_t { IDX, UP, DOWN, BFLY };
enum class VoteMode : std::uint8_t { ALL, ANY, EQ };
/// Floating-point formats of conversions.
enum class Fmt : std::uint8_t { F16 = 1, F32 = 2, F64 = 3, BF16 = 4 };
/// Integer formats of conversions.
enum class IntFmt : std::uint8_t { U8, S8, U16, S16, U32, S32, U64, S64 };

/// The type of a pseudo arithmetic instruction.
enum class MacroType : std::uint8_t { U16, S16, U32, S32, U64, S64, F32, F64 };
/// The rounding or accuracy of a pseudo floating-point instruction.
enum class MacroKind : std::uint8_t { RN, RM, RP, RZ, Approx, Full };

} // namespace orias::isa
