#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orias::ptx {

/// The types of PTX declarations and opcode suffixes (manual: "Types").
enum class Type : std::uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  F32,
  F32x2,
  F64,
  TF32,
  U16x2,
  S16x2,
  U8x4,
  S8x4,
  E4M3,
  E5M2,
  E3M2,
  E2M3,
  E2M1,
  E4M3x2,
  E5M2x2,
  E2M3x2,
  E3M2x2,
  E2M1x2,
  E4M3x4,
  E5M2x4,
  E2M3x4,
  E3M2x4,
  E2M1x4,
  UE8M0,
  UE4M3,
  UE8M0x2,
  U4,
  S4,
  U2,
  S2,
  B1,
  B1024,
  TexRef,
  SamplerRef,
  SurfRef,
};

/// The interpretation of the bits of a type.
enum class TypeClass : std::uint8_t { None, Predicate, Bits, Unsigned, Signed, Float, Opaque };

/// Size in bits of one element: 1 for a predicate, 64 for an opaque reference (it is stored as a handle), 0 for None.
unsigned bitWidth(Type type);
TypeClass typeClass(Type type);
/// The name without the dot, `u32`.
std::string_view typeName(Type type);
/// From the name without the dot.
std::optional<Type> typeFromName(std::string_view name);

enum class StateSpace : std::uint8_t { None, Reg, SReg, Const, Global, Local, Param, Shared, Tex };

/// The name without the dot, `global`.
std::string_view spaceName(StateSpace space);

enum class Linkage : std::uint8_t { None, Extern, Visible, Weak, Common };

/// A component or part selector after an operand: `.x` (or `.r`), a byte or half of a video operand (`.b0`, `.h1`), or
/// several of them (Bytes and Halves: `.b3210`, `.h10`; see Operand::selection).
enum class Component : std::uint8_t { None, X, Y, Z, W, B0, B1, B2, B3, H0, H1, Bytes, Halves };

std::string_view componentName(Component component);

} // namespace orias::ptx
