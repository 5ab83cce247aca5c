#include "tools/launch/cluster.h"

#include "support/check.h"

#include <fmt/format.h>

namespace orias::launch {

namespace {

std::string text(const Dim3& d) {
  return fmt::format("{} x {} x {}", d.x, d.y, d.z);
}

Dim3 place(std::uint64_t number, const Dim3& of) {
  return {static_cast<std::uint32_t>(number % of.x), static_cast<std::uint32_t>(number / of.x % of.y),
          static_cast<std::uint32_t>(number / of.x / of.y)};
}

} // namespace

Dim3 Clusters::cluster(std::uint64_t number) const {
  return place(number, count);
}

Dim3 Clusters::inCluster(std::uint32_t rank) const {
  return place(rank, shape);
}

Dim3 Clusters::block(std::uint64_t number, std::uint32_t rank) const {
  const Dim3 of = cluster(number), in = inCluster(rank);
  return {of.x * shape.x + in.x, of.y * shape.y + in.y, of.z * shape.z + in.z};
}

Clusters clustersOf(const Launch& launch, const ClusterDemands& demands) {
  if (launch.cluster && demands.shape && *launch.cluster != *demands.shape)
    throw Error(fmt::format("the launch has clusters of {} blocks, the kernel requires {}", text(*launch.cluster),
                            text(*demands.shape)));
  if (!launch.cluster && !demands.shape && demands.isExplicit)
    throw Error("the kernel runs in clusters (.explicitcluster), but the launch has no cluster size");
  Clusters clusters;
  clusters.isExplicit = launch.cluster || demands.shape;
  clusters.shape = launch.cluster.value_or(demands.shape.value_or(Dim3{}));
  const std::uint64_t blocks = clusters.shape.count();
  if (blocks > kMaxClusterBlocks)
    throw Error(fmt::format("a cluster of {} blocks, maximum is {}", blocks, kMaxClusterBlocks));
  if (demands.mostBlocks != 0 && blocks > demands.mostBlocks)
    throw Error(
        fmt::format("a cluster of {} blocks; the kernel allows {} (.maxclusterrank)", blocks, demands.mostBlocks));
  const Dim3& grid = launch.grid;
  const Dim3& shape = clusters.shape;
  if (grid.x % shape.x != 0 || grid.y % shape.y != 0 || grid.z % shape.z != 0)
    throw Error(fmt::format("a grid of {} blocks is not a multiple of the cluster size {}", text(grid), text(shape)));
  clusters.count = {grid.x / shape.x, grid.y / shape.y, grid.z / shape.z};
  return clusters;
}

} // namespace orias::launch
