#pragma once

#include <cstdint>

// Limits of a PTX file. Exceeding one gives an error message that names it. Real programs do not reach them.

namespace orias::ptx {

inline constexpr std::uint64_t kMaxSourceBytes = std::uint64_t{1} << 30;
/// Nesting of brackets of any kind, and of the middle parts of `a ? b : c`.
inline constexpr unsigned kMaxNesting = 256;
/// After this number of syntax errors the rest of the file is not parsed.
inline constexpr unsigned kMaxSyntaxErrors = 1000;
/// Operands of one instruction.
inline constexpr unsigned kMaxOperands = 0xffff;
/// Members of a family of registers, `.reg .b32 %r<N>`; only the used ones take memory.
inline constexpr std::uint64_t kMaxRegisterFamily = (std::uint64_t{1} << 31);
/// Members of a family of variables, `.local .b32 v<N>`; each of them is a variable.
inline constexpr std::uint64_t kMaxVariableFamily = 4096;
/// Bytes of one variable.
inline constexpr std::uint64_t kMaxVariableBytes = std::uint64_t{1} << 40;
/// Bytes of one initializer, from its start to its last non-zero element.
inline constexpr std::uint64_t kMaxInitializerBytes = std::uint64_t{1} << 27;
/// Dimensions of an array.
inline constexpr unsigned kMaxDimensions = 64;

} // namespace orias::ptx
