#pragma once

#include "encoder/isa/isa.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace orias::emu {

inline constexpr unsigned kLanes = 32;

/// Lanes at the same instruction that execute together.
struct Path {
  enum class State : std::uint8_t {
    Ready,
    AtConvergence,   ///< a BSYNC, for the lanes of the barrier
    AtWarpSync,      ///< a WARPSYNC, for the lanes of `wanted`
    AtCtaBarrier,    ///< a BAR
    AtClusterBarrier ///< a UCGABAR_WAIT
  };
  std::uint32_t pc = 0;
  std::uint32_t mask = 0;
  State state = State::Ready;
  std::uint32_t wanted = 0;
  std::uint32_t barrier = 0; ///< row of the convergence barrier, or number of the CTA's
};

/// The maximum number of bytes that one lane moves at once.
inline constexpr unsigned kMaxAccess = 16;

/// A copy to shared memory in flight: read, and not yet written.
struct PendingCopy {
  std::uint32_t target = 0;
  std::uint8_t bytes = 0;
  std::uint8_t lane = 0;
  std::uint32_t group = 0; ///< number of groups of the lane that ended before it
  std::array<std::byte, kMaxAccess> data{};
};

/// A product of a warp group in flight: its sum is kept here until the warp waits for it.
struct PendingProduct {
  std::uint32_t at = 0;           ///< the operation
  std::uint32_t first = 0;        ///< row of the sum
  std::uint32_t groupsEnded = 0;  ///< since the product, its own included; 0: it is not in a group yet
  std::vector<std::uint32_t> sum; ///< [word * 32 + lane]
  std::vector<std::pair<std::uint32_t, std::array<std::uint32_t, kLanes>>> factors; ///< rows that it reads

  bool writes(std::uint32_t row) const { return row - first < sum.size() / kLanes; }
};

inline constexpr std::uint32_t kAllRegisters = 256;

/// The registers and lanes of one warp.
struct Warp {
  unsigned index = 0;            ///< in the CTA
  unsigned number = 0;           ///< in the cluster
  std::uint32_t live = 0;        ///< lanes that exist and have not exited
  std::uint32_t firstThread = 0; ///< of the CTA
  std::vector<std::uint32_t> r;  ///< [row * 32 + lane]
  std::vector<std::uint32_t> p;  ///< [row]: one bit for each lane
  std::vector<std::uint32_t> u;  ///< uniform registers
  std::vector<std::uint32_t> up; ///< uniform predicates: 0 or 1
  std::vector<std::uint32_t> b;  ///< [row * 32 + lane]: the lanes with which the lane reconverges at the barrier
  std::array<std::uint32_t, kLanes> from{}; ///< predecessor block of each lane
  std::array<std::uint64_t, kLanes> rpc{};  ///< Rpc
  std::vector<Path> paths;
  std::size_t current = 0;   ///< the running path
  std::uint32_t yielded = 0; ///< lanes that have yielded and that no WARPSYNC has converged since
  /// The current path was selected out of turn and continues for this many instructions when the warp runs next.
  std::uint32_t patience = 0;
  /// Results of the last BAR.RED.
  std::uint32_t barrierCount = 0;
  bool barrierAnswer = false;
  /// Registers of each thread, for programs that change the number; otherwise all registers.
  std::uint32_t registers = kAllRegisters;
  std::optional<std::uint32_t> clusterPhase; ///< the phase in which the warp last arrived at the cluster's barrier
  /// LDGSTS: copies that have not been waited for, in program order; the number of groups each lane has ended; the
  /// scoreboard that counts groups (none before phase 115).
  std::vector<PendingCopy> copies;
  std::array<std::uint32_t, kLanes> copyGroups{};
  std::uint8_t copyScoreboard = isa::Control::kNoBarrier;

  std::vector<PendingProduct> products; ///< in program order

  std::uint32_t* row(std::uint32_t index) { return r.data() + std::size_t{index} * kLanes; }
  bool isReady() const {
    for (const Path& path : paths)
      if (path.state == Path::State::Ready) return true;
    return false;
  }
};

} // namespace orias::emu
