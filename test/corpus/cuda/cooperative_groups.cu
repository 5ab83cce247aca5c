// Groups of the CUDA library: tiles of a block and their reductions.
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tileSums(const int* in, int* out) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
  int x = in[block.thread_rank()];
  for (int d = tile.size() / 2; d > 0; d /= 2)
    x += tile.shfl_down(x, d);
  block.sync();
  if (tile.thread_rank() == 0) out[block.thread_rank() / 8] = x;
}
