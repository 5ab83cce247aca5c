#pragma once

#include "encoder/isa/launch_constants.h"

#include <cstdint>

namespace orias::ptx {

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

// Places of constant bank 0 that hold special registers, beside those that isa::Target knows (observed for sm_90).
inline constexpr std::uint32_t kBankGridId = 0x30;            ///< 64 bits
inline constexpr std::uint32_t kBankEnvReg = 0x40;            ///< %envreg0; the others follow
inline constexpr std::uint32_t kBankReservedSharedEnd = 0x68; ///< of what the system keeps of shared memory
inline constexpr std::uint32_t kBankReservedShared1 = 0x6c;   ///< its second part
inline constexpr std::uint32_t kBankSmCount = 0x10c;
inline constexpr std::uint32_t kBankLargestShared = 0x13c;   ///< %aggr_smem_size is no larger
inline constexpr std::uint32_t kBankExplicitCluster = 0x140; ///< 1: launched with one
using isa::kBankClusterShape;
inline constexpr std::uint32_t kBankClusterReciprocal = 0x150; ///< 1 / that as f32
inline constexpr std::uint32_t kBankClusters = 0x15c;          ///< clusters of the grid
using isa::kBankClusterSize;
inline constexpr std::uint32_t kBankParamWindow = 0x198;    ///< generic address of the first parameter, 64 bits
inline constexpr std::uint32_t kBankParamWindowEnd = 0x1a0; ///< of the last one
// Before sm_90.
inline constexpr std::uint32_t kOlderEnvReg = 0x88;             ///< %envreg0; the others follow
inline constexpr std::uint32_t kOlderReservedSharedEnd = 0x120; ///< sm_80 and later; the second part begins behind it
inline constexpr std::uint32_t kOlderGraphExec = 0x130;         ///< 64 bits; on sm_75 they are at 0x120
inline constexpr std::uint32_t kOlderParamWindow =
    0x40;                                              ///< generic address of the bank that has the parameters, 64 bits
inline constexpr std::uint32_t kOlderParamEnd = 0x12c; ///< where in it they end
inline constexpr std::uint32_t kTuringParamEnd = 0x114; ///< ... on sm_75
inline constexpr std::uint32_t kBankGraphExec = 0x190;  ///< 64 bits

} // namespace orias::ptx
