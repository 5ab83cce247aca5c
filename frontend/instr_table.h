#pragma once

#include <span>

// The table of PTX instructions (PTX ISA 9.0): one Row for each form of an instruction. This file explains the
// notation; the rows are in instr_table_*.cpp, one file for each family. Read by instr_syntax.cpp when a module uses
// the instruction.
//
// Row::opcode, in the manner of the manual:
//   .sat            a modifier that must be there          {.sat}          one that may be there
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
//   ?   may be missing                                              -   may have a minus sign (vmad)
//   _   a destination that may be `_`; alone: must be `_`
// and the types
//   T (also when nothing is written), T2, T3, T4: the first, second, … type of the opcode;  W: twice as wide as T
//   a type's name;  V: every register type
// `*4` is a vector of four, `*V` of as many as `.v2` says (none: a scalar or a vector of one), `*X` as `.x4` says (one:
// likewise),
// `*A` `*B` `*C` `*D` the fragment of that matrix of an mma (its registers' type too), `*M` as many as a tensor memory
// shape needs,
// `*G` as a texture geometry needs, `*I` as im2col needs, `*L` as tcgen05.mma needs, `*N` any number or a scalar.
// `(0..15)` bounds a constant, `(24..256/8)` in steps, `(4|8|16)` lists the values. `@L2::cache_hint` ties an operand
// to a modifier: both are there or both are not.
//   p|q     a pair;  p{|q}: the second may be missing (the second is a predicate)
//   [a]     an address in the opcode's state space; [a:2] in its second; [a:shared] in that one; [a:generic];
//   [a:tensor] in tensor memory words in capitals: LABEL, CALL, TARGETS (brx.idx), TEXTURE and SURFACE (with
//   coordinates), TEXREF, SURFREF, TENSOR (`[map, {coordinates}]`)
//
// Row::since: the lowest `.version` and `.target`, "7.0 sm_80". Nothing: what every supported `.version` has. `sm_90a`:
// only that architecture-specific target and the family after it; several may be listed. Where the alternatives of
// Row::operands differ, " / " separates what each needs. Modifiers that need more than
// their row does are in kWordSince (instr_groups.cpp).

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
