#pragma once

#include "frontend/lower/function_lowering.h"

#include <optional>

namespace orias::ptx {

/// d := a + b for integer accumulators; with `saturates`, clamped to 32 bits.
void addInteger(FunctionLowering& f, isa::Operand d, isa::Operand a, isa::Operand b, bool saturates);

/// Whether the type is e4m3 or e5m2.
bool isByteFloat(Type type);

/// Converts the two halves of a register to f32, in a register pair.
void singleFromHalves(FunctionLowering& f, isa::Operand d, isa::Operand halves);

// Products a b + c of mma fragments, as the form specifies. They return nothing, and emit nothing, if there is no
// product of this kind.

/// Signed and unsigned elements of four bits.
std::optional<isa::Operand> fourBitProduct(FunctionLowering& f, const Form& form, isa::Operand a, isa::Operand b,
                                           isa::Operand c);
/// Single bits: counts the positions where both are set, or where they differ.
std::optional<isa::Operand> bitProduct(FunctionLowering& f, const Form& form, isa::Operand a, isa::Operand b,
                                       isa::Operand c);
/// mma.m8n8k4 of halves: four matrix products in one instruction.
std::optional<isa::Operand> quadProduct(FunctionLowering& f, const Form& form, isa::Operand a, isa::Operand b,
                                        isa::Operand c);
/// A sparse left matrix: `places` selects its elements, in the lanes given by `selector`.
std::optional<isa::Operand> sparseProduct(FunctionLowering& f, const Form& form, isa::Operand a, isa::Operand b,
                                          isa::Operand c, isa::Operand places, isa::Operand selector);

/// d := two of the four 8-bit floating-point numbers in a register, as halves.
void unpackHalves(FunctionLowering& f, isa::Operand d, isa::Operand word, Type type, bool isUpper);
/// Additions of f32, or of packed halves, word by word.
isa::Operand addSums(FunctionLowering& f, isa::Operand a, isa::Operand b, bool isFloat);
/// 8-bit floating-point numbers with a sparse left matrix, by two matrix products of halves.
isa::Operand sparseByteFloatProduct(FunctionLowering& f, const Form& form, isa::Operand a, isa::Operand b,
                                    isa::Operand c, isa::Operand places);

} // namespace orias::ptx
