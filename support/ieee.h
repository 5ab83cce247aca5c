#pragma once

// Floating-point arithmetic of the GPU: every operation is exact and rounded once, in any format and rounding
// direction, with the NaN rules of the PTX manual. This code does not change the rounding mode of the process, and
// assumes that it is the default (to nearest even).
//
// NaN: an operation with a NaN result returns the canonical NaN of its format (canonicalNan), regardless of the
// payloads of its operands. For f32 the source is the CUDA programming guide; for the other formats it is an
// assumption. Conversions to a wider format keep a NaN's sign and payload.

#include <bit>
#include <cstdint>
#include <optional>

namespace orias::ieee {

/// Rounding of results; the first four are numbered as in SASS (RN, RM, RP, RZ). NearestAway takes ties away from zero
/// (PTX .rna).
enum class Rounding : std::uint8_t { NearestEven, Down, Up, TowardZero, NearestAway };

/// Formats; a value is in the low bits of a word. TF32 has 32 bits; the low 13 are written as zero and ignored when
/// read. E4M3 has no infinity. E2M1, E2M3 and E3M2 have no NaN either: a NaN becomes the greatest number. UE8M0 is an
/// unsigned power of two, 2^-127 for 0, or NaN.
enum class Format : std::uint8_t { F16, BF16, TF32, E4M3, E5M2, F32, F64, E2M1, E2M3, E3M2, UE8M0 };
using Bits = std::uint64_t;

/// The result of a conversion to a narrower format for values outside its range, including infinities: infinity (or the
/// greatest finite value, depending on the rounding direction), or always the greatest finite value of that sign (PTX
/// .satfinite).
enum class Overflow : std::uint8_t { Round, Finite };

/// The NaN result of operations: 0x7fffffff, 0xfff8000000000000, 0x7fff, 0x7f.
Bits canonicalNan(Format format);
bool isNan(Format format, Bits value);

// --- any format, on bits --------------------------------------------------------------------------------------------

Bits add(Format format, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
Bits mul(Format format, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
/// a * b + c, rounded once.
Bits fma(Format format, Bits a, Bits b, Bits c, Rounding rounding = Rounding::NearestEven);
Bits div(Format format, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
Bits sqrt(Format format, Bits a, Rounding rounding = Rounding::NearestEven);
/// Converts between formats. Exact if `to` contains every value of `from`.
Bits convert(Format to, Format from, Bits value, Rounding rounding = Rounding::NearestEven,
             Overflow overflow = Overflow::Round);
/// The direction of stochastic rounding of an f32 to F16 or BF16: away from zero if the sum of the discarded bits (13
/// or 16) and as many bits of `random` has a carry, else toward zero (PTX manual, "cvt": .rs and rbits). nullopt where
/// the manual is not specific: F16 below its normal and above its finite numbers, and other formats.
std::optional<Rounding> stochasticRounding(Format to, Bits value, std::uint32_t random);
/// Subnormals become zero of the same sign.
Bits flush(Format format, Bits value);
/// Clamps to [0, 1]; NaN and -0 become +0.
Bits saturate(Format format, Bits value);
/// PTX min and max. The result is the number for a number and a NaN, and the canonical NaN for two NaNs; -0 is less
/// than +0. With `nanWins` (PTX .NaN) any NaN gives the canonical NaN.
Bits minimum(Format format, Bits a, Bits b, bool nanWins = false);
Bits maximum(Format format, Bits a, Bits b, bool nanWins = false);
/// Rounds `value` to an integral value; NearestEven rounds ties to even.
Bits roundToIntegral(Format format, Bits value, Rounding rounding);
/// Converts -magnitude or magnitude.
Bits fromInteger(Format format, bool negative, std::uint64_t magnitude, Rounding rounding = Rounding::NearestEven);

/// The integer for NaN. PTX cvt: zero, except that if the source is f64 or the result has 64 bits, it is the highest
/// bit of the result type. SASS F2I: zero with .NTZ.
enum class NanInteger : std::uint8_t { Zero, HighestBit };
/// Rounds `value` to an integer of 8, 16, 32 or 64 bits, clamped to its range; sign-extended to 64 bits if it is
/// signed.
std::uint64_t toInteger(Format format, Bits value, unsigned bits, bool isSigned, Rounding rounding, NanInteger nan);

// --- float and double -----------------------------------------------------------------------------------------------

inline Bits bitsOf(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
inline Bits bitsOf(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
inline float floatOf(Bits bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}
inline double doubleOf(Bits bits) {
  return std::bit_cast<double>(bits);
}

float add(float a, float b, Rounding rounding = Rounding::NearestEven);
float mul(float a, float b, Rounding rounding = Rounding::NearestEven);
float fma(float a, float b, float c, Rounding rounding = Rounding::NearestEven);
float div(float a, float b, Rounding rounding = Rounding::NearestEven);
/// Division with .ftz, of flushed operands: rounded as if exponents had no lower bound; then subnormal results become
/// zero. (PTX does not specify the order; observed in ptxas 13.0.)
float divFlushed(float a, float b, Rounding rounding = Rounding::NearestEven);
float sqrt(float a, Rounding rounding = Rounding::NearestEven);
double add(double a, double b, Rounding rounding = Rounding::NearestEven);
double mul(double a, double b, Rounding rounding = Rounding::NearestEven);
double fma(double a, double b, double c, Rounding rounding = Rounding::NearestEven);
double div(double a, double b, Rounding rounding = Rounding::NearestEven);
double sqrt(double a, Rounding rounding = Rounding::NearestEven);

inline float rcp(float a, Rounding rounding = Rounding::NearestEven) {
  return div(1.0f, a, rounding);
}
inline double rcp(double a, Rounding rounding = Rounding::NearestEven) {
  return div(1.0, a, rounding);
}
inline float flush(float value) {
  return floatOf(flush(Format::F32, bitsOf(value)));
}
inline float saturate(float value) {
  return floatOf(saturate(Format::F32, bitsOf(value)));
}
inline double saturate(double value) {
  return doubleOf(saturate(Format::F64, bitsOf(value)));
}
inline float minimum(float a, float b, bool nanWins = false) {
  return floatOf(minimum(Format::F32, bitsOf(a), bitsOf(b), nanWins));
}
inline float maximum(float a, float b, bool nanWins = false) {
  return floatOf(maximum(Format::F32, bitsOf(a), bitsOf(b), nanWins));
}
inline double minimum(double a, double b) {
  return doubleOf(minimum(Format::F64, bitsOf(a), bitsOf(b)));
}
inline double maximum(double a, double b) {
  return doubleOf(maximum(Format::F64, bitsOf(a), bitsOf(b)));
}
inline float toFloat(double value, Rounding rounding = Rounding::NearestEven) {
  return floatOf(convert(Format::F32, Format::F64, bitsOf(value), rounding));
}
inline double toDouble(float value) {
  return doubleOf(convert(Format::F64, Format::F32, bitsOf(value)));
}
inline float halfToFloat(std::uint16_t half) {
  return floatOf(convert(Format::F32, Format::F16, half));
}
inline float bfloatToFloat(std::uint16_t bfloat) {
  return floatOf(convert(Format::F32, Format::BF16, bfloat));
}
inline std::uint16_t floatToHalf(float value, Rounding rounding = Rounding::NearestEven) {
  return static_cast<std::uint16_t>(convert(Format::F16, Format::F32, bitsOf(value), rounding));
}
inline std::uint16_t floatToBfloat(float value, Rounding rounding = Rounding::NearestEven) {
  return static_cast<std::uint16_t>(convert(Format::BF16, Format::F32, bitsOf(value), rounding));
}
inline float roundToIntegral(float value, Rounding rounding) {
  return floatOf(roundToIntegral(Format::F32, bitsOf(value), rounding));
}
inline double roundToIntegral(double value, Rounding rounding) {
  return doubleOf(roundToIntegral(Format::F64, bitsOf(value), rounding));
}
inline std::uint64_t toInteger(float value, unsigned bits, bool isSigned, Rounding rounding, NanInteger nan) {
  return toInteger(Format::F32, bitsOf(value), bits, isSigned, rounding, nan);
}
inline std::uint64_t toInteger(double value, unsigned bits, bool isSigned, Rounding rounding, NanInteger nan) {
  return toInteger(Format::F64, bitsOf(value), bits, isSigned, rounding, nan);
}
inline Bits fromSigned(Format format, std::int64_t value, Rounding rounding = Rounding::NearestEven) {
  const auto bits = static_cast<std::uint64_t>(value);
  return fromInteger(format, value < 0, value < 0 ? 0 - bits : bits, rounding);
}
inline Bits fromUnsigned(Format format, std::uint64_t value, Rounding rounding = Rounding::NearestEven) {
  return fromInteger(format, false, value, rounding);
}

// --- approximations -------------------------------------------------------------------------------------------------
// The GPU's special-function unit returns approximations whose bits are not public; the PTX manual gives bounds of
// their errors. These functions return the f32 nearest to the exact value, which is within any such bound but may
// differ from the hardware in the last bits. They do not flush subnormals: callers do (flush).

namespace approx {
float rcp(float a);
float rsqrt(float a);
float sqrt(float a);
float ex2(float a);
float lg2(float a);
/// Sine and cosine of an angle in radians.
float sin(float a);
float cos(float a);
/// Sine and cosine of an angle in full turns, as in MUFU; code for PTX sin and cos first multiplies by 1/2pi. Infinity
/// gives NaN.
float sinTurns(float a);
float cosTurns(float a);
float tanh(float a);
} // namespace approx

} // namespace orias::ieee
