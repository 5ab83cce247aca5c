#pragma once

// Floating-point arithmetic as the machine does it: every operation exact and rounded once, in any format and any
// rounding direction, with the NaN rules of the PTX manual. Nothing here reads or changes the rounding mode of the
// process; the process is assumed to be in the default one (to nearest even), as nothing in orias changes it.
//
// NaN: an operation that gives NaN gives the canonical one of its format (canonicalNan), whatever the payloads of its
// operands. For f32 the CUDA programming guide says so; for the other formats this is ours. Conversions to a wider
// format keep a NaN's sign and payload.

#include <bit>
#include <cstdint>
#include <optional>

namespace orias::ieee {

/// Rounding of results; the first four are numbered as in SASS (RN, RM, RP, RZ). NearestAway takes ties away from zero
/// (PTX .rna).
enum class Rounding : std::uint8_t { NearestEven, Down, Up, TowardZero, NearestAway };

/// Formats; a value is held in the low bits of a word. TF32 stands in 32 bits, of which the low 13 are zero when made
/// and ignored when read. E4M3 has no infinity; E2M1, E2M3 and E3M2 have no NaN either: one becomes the greatest
/// number. UE8M0 is a power of two, 2^-127 for 0, without a sign, and NaN.
enum class Format : std::uint8_t { F16, BF16, TF32, E4M3, E5M2, F32, F64, E2M1, E2M3, E3M2, UE8M0 };
using Bits = std::uint64_t;

/// What a conversion to a narrower format gives for values beyond its range, infinities included: infinity (or the
/// greatest finite value, where the direction of rounding says so), or always the greatest finite value of that sign
/// (PTX .satfinite).
enum class Overflow : std::uint8_t { Round, Finite };

/// The NaN that operations give: 0x7fffffff, 0xfff8000000000000, 0x7fff, 0x7f.
Bits canonicalNan(Format format);
bool isNan(Format format, Bits value);

// --- any format, on bits --------------------------------------------------------------------------------------------

Bits add(Format format, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
Bits mul(Format format, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
/// a * b + c, rounded once.
Bits fma(Format format, Bits a, Bits b, Bits c, Rounding rounding = Rounding::NearestEven);
Bits div(Format format, Bits a, Bits b, Rounding rounding = Rounding::NearestEven);
Bits sqrt(Format format, Bits a, Rounding rounding = Rounding::NearestEven);
/// From one format to another. Exact when `to` holds every value of `from`.
Bits convert(Format to, Format from, Bits value, Rounding rounding = Rounding::NearestEven,
             Overflow overflow = Overflow::Round);
/// Which way an f32 goes to F16 or BF16 by stochastic rounding: away from zero if the bits that it loses (13 or 16) and
/// as many of `random` add up to a carry, else toward zero (PTX manual, "cvt": .rs and rbits). Nothing where the
/// manual's text leaves it open: F16 below its normal and above its finite numbers, and other formats.
std::optional<Rounding> stochasticRounding(Format to, Bits value, std::uint32_t random);
/// Subnormals become zero of the same sign.
Bits flush(Format format, Bits value);
/// Clamps to [0, 1]; NaN and -0 become +0.
Bits saturate(Format format, Bits value);
/// PTX min and max: of a number and a NaN the number, of two NaNs the canonical NaN; -0 is less than +0. With `nanWins`
/// (PTX .NaN) any NaN gives the canonical NaN.
Bits minimum(Format format, Bits a, Bits b, bool nanWins = false);
Bits maximum(Format format, Bits a, Bits b, bool nanWins = false);
/// The integral value next to `value` in the direction; NearestEven takes ties to even.
Bits roundToIntegral(Format format, Bits value, Rounding rounding);
/// -magnitude or magnitude.
Bits fromInteger(Format format, bool negative, std::uint64_t magnitude, Rounding rounding = Rounding::NearestEven);

/// What NaN becomes as an integer. PTX cvt: zero, unless the source is f64 or the result has 64 bits; then the highest
/// bit of the result's type alone. SASS F2I: zero with .NTZ.
enum class NanInteger : std::uint8_t { Zero, HighestBit };
/// The integer of 8, 16, 32 or 64 bits that `value` rounds to, clamped to its range; sign-extended to 64 bits when it
/// is signed.
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
/// With .ftz, of flushed operands: rounded as if exponents had no lower bound, then subnormal results become zero. (PTX
/// does not say in which order; observed of ptxas 13.0.)
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
// The machine's special-function unit returns approximations whose bits are not public; their errors are bounded by the
// PTX manual. Ours return the f32 nearest to the exact value, which is within any such bound, and so may differ from
// the machine in the last bits. They do not flush subnormals: callers do (flush).

namespace approx {
float rcp(float a);
float rsqrt(float a);
float sqrt(float a);
float ex2(float a);
float lg2(float a);
/// Of an angle in radians.
float sin(float a);
float cos(float a);
/// Of an angle in full turns, as MUFU takes it; code for PTX sin and cos multiplies by 1/2pi first. Infinity gives NaN.
float sinTurns(float a);
float cosTurns(float a);
float tanh(float a);
} // namespace approx

} // namespace orias::ieee
