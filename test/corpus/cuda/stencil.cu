// Five-point stencil in two dimensions with a border condition.
extern "C" __global__ void stencil(const double* in, double* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int i = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
    out[i] = in[i];
  else
    out[i] = 0.25 * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width]) - 0.125 * in[i];
}
