// Constant memory: initialised tables read with constant, uniform and varying indices.
__constant__ float weights[16] = {1.0f, 0.5f, 0.25f, 0.125f, -1.0f, 2.0f, 3.5f, 1e-3f, 7.0f};
__constant__ int offsets[4] = {-2, -1, 1, 2};
__constant__ unsigned char codes[8] = {3, 1, 4, 1, 5, 9, 2, 6};
__constant__ double scale = 0.75;

extern "C" __global__ void constants(const float* in, float* out, int k) {
  int i = threadIdx.x + 2;
  float s = weights[3] * in[i];
  for (int j = 0; j < 4; ++j)
    s += in[i + offsets[j]] * weights[j + 1];
  s += weights[k] * weights[codes[i & 7]];
  out[i] = s * (float)scale;
}
