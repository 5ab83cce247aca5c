// Cells on a torus, bytes in memory, counting neighbours without branches.
extern "C" __global__ void step(const unsigned char* in, unsigned char* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int left = x == 0 ? width - 1 : x - 1, right = x == width - 1 ? 0 : x + 1;
  int up = (y == 0 ? height - 1 : y - 1) * width, here = y * width, down = (y == height - 1 ? 0 : y + 1) * width;
  int n = in[up + left] + in[up + x] + in[up + right] + in[here + left] + in[here + right] + in[down + left] +
          in[down + x] + in[down + right];
  out[here + x] = n == 3 || (n == 2 && in[here + x]);
}
