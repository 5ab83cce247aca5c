// Escape times: a loop whose length differs between neighbouring lanes.
extern "C" __global__ void mandelbrot(unsigned char* out, int width, float x0, float y0, float step, int limit) {
  int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y;
  float cx = x0 + px * step, cy = y0 + py * step, x = 0, y = 0;
  int n = 0;
  while (n < limit && x * x + y * y < 4.0f) {
    float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    ++n;
  }
  out[py * width + px] = (unsigned char)n;
}
