// Clusters by cooperative groups: distributed shared memory, its atomics, barriers of the cluster in one and two parts.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

// Bins divided among the blocks of a cluster; each cluster has its own row of results.
extern "C" __global__ void clusterHistogram(const int *in, int count, int binsOfBlock, int *out) {
  extern __shared__ int bins[];
  cg::cluster_group cluster = cg::this_cluster();
  for (int i = threadIdx.x; i < binsOfBlock; i += blockDim.x)
    bins[i] = 0;
  cluster.sync();
  const int all = binsOfBlock * cluster.num_blocks();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const int bin = ((in[i] % all) + all) % all;
    atomicAdd(cluster.map_shared_rank(bins, bin / binsOfBlock) + bin % binsOfBlock, 1);
  }
  cluster.sync();
  const int row = blockIdx.x / cluster.num_blocks() * all + cluster.block_rank() * binsOfBlock;
  for (int i = threadIdx.x; i < binsOfBlock; i += blockDim.x)
    out[row + i] = bins[i];
}

// The sum of a cluster's threads, and the largest of its blocks' sums: block 0 reads what the others have.
extern "C" __global__ void __cluster_dims__(4) clusterSum(const float *in, float *out) {
  __shared__ float warps[32];
  __shared__ float own;
  cg::cluster_group cluster = cg::this_cluster();
  float value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int step = 16; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffff, value, step);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w)
      sum += warps[w];
    own = sum;
  }
  cluster.sync();
  if (cluster.block_rank() == 0 && threadIdx.x == 0) {
    float sum = 0, most = own;
    for (int rank = 0; rank < cluster.num_blocks(); ++rank) {
      const float there = *cluster.map_shared_rank(&own, rank);
      sum += there;
      most = fmaxf(most, there);
    }
    out[2 * (blockIdx.x / 4)] = sum;
    out[2 * (blockIdx.x / 4) + 1] = most;
  }
  cluster.sync();
}

// A tile of 32 x 32 in blocks of 16 x 16, transposed through the memory of the block on the other side of the diagonal.
extern "C" __global__ void clusterTranspose(const int *in, int *out, int width) {
  __shared__ int tile[16][17];
  cg::cluster_group cluster = cg::this_cluster();
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  const dim3 place = cluster.block_index(), shape = cluster.dim_blocks();
  cluster.sync();
  int(*there)[17] = cluster.map_shared_rank(tile, place.x * shape.x + place.y);
  there[threadIdx.x][threadIdx.y] = in[y * width + x];
  cluster.sync();
  out[y * width + x] = tile[threadIdx.y][threadIdx.x];
}

// Each element and its neighbours within the cluster's strip; ends come from the blocks beside. Arrives early, works,
// and waits late.
extern "C" __global__ void clusterStencil(const int *in, int *out) {
  __shared__ int row[64];
  cg::cluster_group cluster = cg::this_cluster();
  const int i = blockIdx.x * blockDim.x + threadIdx.x, last = blockDim.x - 1, t = threadIdx.x;
  row[t] = in[i];
  auto token = cluster.barrier_arrive();
  const int weighted = in[i] * (i % 7);
  cluster.barrier_wait(static_cast<cg::cluster_group::arrival_token &&>(token));
  const int rank = cluster.block_rank(), blocks = cluster.num_blocks();
  int left = 0, right = 0;
  if (t > 0)
    left = row[t - 1];
  else if (rank > 0)
    left = cluster.map_shared_rank(row, rank - 1)[last];
  if (t < last)
    right = row[t + 1];
  else if (rank < blocks - 1)
    right = cluster.map_shared_rank(row, rank + 1)[0];
  out[i] = weighted + left - 2 * right + (cluster.query_shared_rank(row) << 20);
  cluster.sync();
}
