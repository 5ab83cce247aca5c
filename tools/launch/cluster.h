#pragma once

#include "tools/launch/launch.h"

#include <cstdint>
#include <optional>

namespace orias::launch {

/// The cluster properties of a kernel (PTX: .reqnctapercluster, .explicitcluster, .maxclusterrank; attributes in
/// cubins).
struct ClusterDemands {
  std::optional<Dim3> shape;    ///< blocks in each dimension; a launch must not contradict it
  bool isExplicit = false;      ///< the launch must specify the shape if the kernel does not
  std::uint32_t mostBlocks = 0; ///< blocks per cluster; 0: not specified
};

/// The division of a launch into clusters. The blocks of a cluster run at the same time.
struct Clusters {
  Dim3 shape;              ///< blocks of a cluster
  Dim3 count;              ///< clusters of the grid
  bool isExplicit = false; ///< the launch or the kernel requests clusters; if not, each block is one

  std::uint32_t blocks() const { return static_cast<std::uint32_t>(shape.count()); }
  /// The position of the cluster with this number in the grid of clusters, counted along x first.
  Dim3 cluster(std::uint64_t number) const;
  /// The position of the block with this rank in its cluster, and in the grid.
  Dim3 inCluster(std::uint32_t rank) const;
  Dim3 block(std::uint64_t cluster, std::uint32_t rank) const;
};

/// The maximum on H100 for a kernel that requests more than the portable 8 (CUDA C++ Programming Guide, "Thread Block
/// Clusters").
inline constexpr std::uint32_t kMaxClusterBlocks = 16;

/// The clusters of a launch. Throws orias::Error where the driver returns CUDA_ERROR_INVALID_CLUSTER_SIZE, because
/// launch and kernel contradict each other: a shape other than the kernel's, no shape where the kernel requires one,
/// too many blocks, a grid that is not a multiple of the shape.
Clusters clustersOf(const Launch& launch, const ClusterDemands& demands);

} // namespace orias::launch
