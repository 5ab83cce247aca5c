#pragma once

#include <span>

// The table of PTX instructions (PTX ISA 9.0): one Row for each form of an instruction. This file explains the
// notation; the rows are in instr_table_*.cpp, one file for each family. instr_syntax.cpp reads a row when a module
// uses the instruction.
//
// Row::opcode, in a notation like the manual's:
//   .sat            a required modifier                    {.sat}          an optional one
//   .(u32|s32)      one of these                           {.(ca|cg)}      none or one of these
//   .RND  {.SCOPE}  one of a named set (kGroups in instr_groups.cpp; names are all capitals)
//   .m64nNk16       a matrix shape; N: any multiple of 8 up to 256; M: 8, 24 or a multiple of 16
// The components of the operation (instr_ops.def) come first, in order. The other modifiers may come in any
// order, as in ptxas, except that those of one kind (types, layouts, state spaces) keep theirs.
//
// Row::operands: the operands from left to right; " / " separates alternatives, "-" means none. An operand is
//   sigils name [:type] [*count] [(range)] [@modifier]
// with the sigils
//   =   destination: a register (`_` too inside vectors, except *M, and pairs)   $   a register, no constant
//   #   a constant only                                             ~   may be wider than its type (ld, st, cvt)
//   !   a predicate that may be negated                             %   may be a special register
//   &   may be the address of a variable or function                ^   may have a byte or half selector (video)
//   ?   optional                                                    -   may have a minus sign (vmad)
//   _   a destination that may be `_`; alone: must be `_`
// and the types
//   T (also the default), T2, T3, T4: the first, second, … type of the opcode;  W: twice as wide as T
//   a type's name;  V: every register type
// and the counts
//   *4                  a vector of four
//   *V                  as many as in `.v2` (without: a scalar or a vector of one)
//   *X                  as many as in `.x4` (for one: a scalar or a vector of one)
//   *A *B *C *D         the fragment of that matrix of an mma; also determines the type of its registers
//   *M                  as many as a tensor memory shape requires
//   *G *I *L            as many as a texture geometry, im2col, tcgen05.mma requires
//   *N                  any number, or a scalar
// `(0..15)` bounds a constant, `(24..256/8)` in steps, `(4|8|16)` lists the values. `@L2::cache_hint` ties an operand
// to a modifier: either both are present or neither is.
//   p|q     a pair;  p{|q}: the second is optional (the second is a predicate)
//   [a]     an address in the opcode's state space; [a:2] in its second; [a:shared] in that one; [a:generic];
//           [a:tensor] in tensor memory
// Words in capitals: LABEL, CALL, TARGETS (brx.idx), TEXTURE and SURFACE (with coordinates), TEXREF, SURFREF,
// TENSOR (`[map, {coordinates}]`).
//
// Row::since: the lowest `.version` and `.target`, "7.0 sm_80". Empty: available in every supported `.version`.
// `sm_90a`: only that architecture-specific target and the family after it; several may be listed. If the alternatives
// of Row::operands differ, " / " separates the requirements of each. Modifiers with higher requirements than their row
// are in kWordSince (instr_groups.cpp).

namespace orias::ptx {

struct Row {
  const char* opcode;
  const char* operands;
  const char* since = "";
};

/// The rows of every family.
std::span<const std::span<const Row>> instructionTable();

// The families, in the order of instructionTable().
std::span<const Row> integerRows();
std::span<const Row> floatRows();
std::span<const Row> logicRows();
std::span<const Row> dataRows();
std::span<const Row> convertRows();
std::span<const Row> memoryRows();
std::span<const Row> atomicRows();
std::span<const Row> asyncRows();
std::span<const Row> syncRows();
std::span<const Row> matrixRows();
std::span<const Row> tensorMemoryRows();
std::span<const Row> textureRows();
std::span<const Row> videoRows();
std::span<const Row> controlRows();

} // namespace orias::ptx
