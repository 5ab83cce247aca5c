#include "tools/launch/cluster.h"

#include "support/check.h"

#include <doctest/doctest.h>
#include <string>

using namespace orias;
using namespace orias::launch;

namespace {

Launch launchOf(Dim3 grid, std::optional<Dim3> cluster = std::nullopt) {
  Launch launch;
  launch.grid = grid;
  launch.cluster = cluster;
  return launch;
}

std::string errorOf(const Launch& launch, const ClusterDemands& demands = {}) {
  try {
    clustersOf(launch, demands);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

} // namespace

TEST_CASE("clusters: without any each block is one") {
  const Clusters clusters = clustersOf(launchOf({3, 2, 1}), {});
  CHECK(!clusters.isExplicit);
  CHECK(clusters.blocks() == 1);
  CHECK(clusters.count == Dim3{3, 2, 1});
  CHECK(clusters.block(4, 0) == Dim3{1, 1, 0});
}

TEST_CASE("clusters: ranks count along x first, in the cluster as in the grid") {
  const Clusters clusters = clustersOf(launchOf({6, 4, 2}, Dim3{3, 2, 1}), {});
  CHECK(clusters.isExplicit);
  CHECK(clusters.count == Dim3{2, 2, 2});
  CHECK(clusters.inCluster(4) == Dim3{1, 1, 0});
  CHECK(clusters.cluster(5) == Dim3{1, 0, 1});
  CHECK(clusters.block(5, 4) == Dim3{4, 1, 1});
}

TEST_CASE("clusters: the kernel's shape is the launch's") {
  CHECK(clustersOf(launchOf({4, 1, 1}), {Dim3{4, 1, 1}, true, 0}).blocks() == 4);
  CHECK(clustersOf(launchOf({4, 1, 1}, Dim3{4, 1, 1}), {Dim3{4, 1, 1}, true, 0}).blocks() == 4);
  CHECK(clustersOf(launchOf({4, 1, 1}, Dim3{2, 1, 1}), {std::nullopt, true, 2}).blocks() == 2);
  CHECK(clustersOf(launchOf({4, 1, 1}, Dim3{1, 1, 1}), {}).isExplicit);
}

TEST_CASE("clusters: what a driver refuses") {
  CHECK(errorOf(launchOf({4, 1, 1}, Dim3{2, 1, 1}), {Dim3{4, 1, 1}, true, 0}) ==
        "the launch has clusters of 2 x 1 x 1 blocks, the kernel requires 4 x 1 x 1");
  CHECK(errorOf(launchOf({4, 1, 1}), {std::nullopt, true, 0}).find("has no cluster size") != std::string::npos);
  CHECK(errorOf(launchOf({6, 1, 1}, Dim3{4, 1, 1})) ==
        "a grid of 6 x 1 x 1 blocks is not a multiple of the cluster size 4 x 1 x 1");
  CHECK(errorOf(launchOf({32, 1, 1}, Dim3{32, 1, 1})) == "a cluster of 32 blocks, maximum is 16");
  CHECK(errorOf(launchOf({4, 1, 1}, Dim3{4, 1, 1}), {std::nullopt, true, 2}) ==
        "a cluster of 4 blocks; the kernel allows 2 (.maxclusterrank)");
}

TEST_CASE("clusters: in launch files") {
  const auto parsed = [](const std::string& cluster) {
    return parseLaunch(R"({"kernel": "k", "grid": [4, 2], "block": 32, "cluster": )" + cluster + "}", ".");
  };
  CHECK(parsed("2").cluster == Dim3{2, 1, 1});
  CHECK(parsed("[2, 2]").cluster == Dim3{2, 2, 1});
  CHECK_THROWS_AS(parsed("0"), Error);
  CHECK_THROWS_AS(parsed("17"), Error);
  CHECK_THROWS_AS(parsed("[8, 4]"), Error);
}
