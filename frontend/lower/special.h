#pragma once

#include "encoder/isa/operand.h"
#include "frontend/lower/value.h"
#include "frontend/module.h"

#include <cstdint>

namespace orias::ptx {

class FunctionLowering;

// Numbers of special registers in S2R, S2UR and CS2R (public notes on sm_90: s2r.md; observed).
inline constexpr std::int32_t kSrLaneId = 0;
inline constexpr std::int32_t kSrVirtId = 3;
inline constexpr std::int32_t kSrVirtCfg = 2;
inline constexpr std::int32_t kSrTidX = 33; ///< y and z follow
inline constexpr std::int32_t kSrCtaIdX = 37;
inline constexpr std::int32_t kSrSWinHi = 47;
inline constexpr std::int32_t kSrSmemSize = 50;
inline constexpr std::int32_t kSrEqMask = 56; ///< then lt, le, gt, ge
inline constexpr std::int32_t kSrLtMask = 57;
inline constexpr std::int32_t kSrLeMask = 58;
inline constexpr std::int32_t kSrGtMask = 59;
inline constexpr std::int32_t kSrGeMask = 60;
inline constexpr std::int32_t kSrVirtualSmId = 67;
inline constexpr std::int32_t kSrClockLo = 80;
inline constexpr std::int32_t kSrGlobalTimerLo = 82;
inline constexpr std::int32_t kSrPm0 = 100; ///< low and high half of each in turn
inline constexpr std::int32_t kSrCgaCtaId = 136;
inline constexpr std::int32_t kSrCgaSize = 138;

/// The value of a special register, or of a component of it.
Value specialRegister(FunctionLowering& f, SpecialRegister reg, Component part);
/// Reads a special register that is a predicate.
isa::Operand specialPredicate(FunctionLowering& f, SpecialRegister reg);

} // namespace orias::ptx
