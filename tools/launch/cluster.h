#pragma once

#include "tools/launch/launch.h"

#include <cstdint>
#include <optional>

namespace orias::launch {

/// What a kernel says of its clusters (PTX: .reqnctapercluster, .explicitcluster, .maxclusterrank; cubins have it as
/// attributes).
struct ClusterDemands {
  std::optional<Dim3> shape;    ///< blocks in each direction, which a launch must not contradict
  bool isExplicit = false;      ///< a launch has to say the shape if the kernel does not
  std::uint32_t mostBlocks = 0; ///< of a cluster; 0: the kernel does not say
};

/// How the blocks of a launch form clusters. Those of a cluster run at the same time.
struct Clusters {
  Dim3 shape;              ///< blocks of a cluster
  Dim3 count;              ///< clusters of the grid
  bool isExplicit = false; ///< somebody asked for clusters; if not, each block is one

  std::uint32_t blocks() const { return static_cast<std::uint32_t>(shape.count()); }
  /// Of the cluster with this number, counted along x first.
  Dim3 cluster(std::uint64_t number) const;
  /// Where the block with this rank lies in its cluster, and in the grid.
  Dim3 inCluster(std::uint32_t rank) const;
  Dim3 block(std::uint64_t cluster, std::uint32_t rank) const;
};

/// What H100 allows a kernel that asks for more than the portable 8 (CUDA C++ Programming Guide, "Thread Block
/// Clusters").
inline constexpr std::uint32_t kMostClusterBlocks = 16;

/// The clusters of a launch. Throws orias::Error when launch and kernel contradict each other, where the driver answers
/// CUDA_ERROR_INVALID_CLUSTER_SIZE: another shape than the kernel's, no shape where the kernel wants one, more blocks
/// than there may be, a grid that the shape does not divide.
Clusters clustersOf(const Launch& launch, const ClusterDemands& demands);

} // namespace orias::launch
