// Loops over memory: sorting, dynamic programming, automata, stencils, Gaussian elimination, jumps into loops.
#include "device.h"

extern "C" __global__ void bitonic(int* values) {
  __shared__ int local[256];
  const int t = thread() & 255;
  local[t] = values[block() * 256 + t];
  barrier();
  for (int size = 2; size <= 256; size *= 2)
    for (int gap = size / 2; gap > 0; gap /= 2) {
      const int other = t ^ gap;
      if (other > t && (local[t] > local[other]) == !(t & size)) {
        const int kept = local[t];
        local[t] = local[other];
        local[other] = kept;
      }
      barrier();
    }
  values[block() * 256 + t] = local[t];
}

extern "C" __global__ void edit_distance(const char* a, const char* b, int* out, int length) {
  int row[33];
  const int i = index();
  for (int j = 0; j <= 32; ++j)
    row[j] = j;
  for (int k = 1; k <= length; ++k) {
    int corner = row[0];
    row[0] = k;
    for (int j = 1; j <= 32; ++j) {
      const int above = row[j];
      int best = corner + (a[i * 32 + k] != b[j - 1]);
      best = best < above + 1 ? best : above + 1;
      row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
      corner = above;
    }
  }
  out[i] = row[32];
}

extern "C" __global__ void eliminate(double* matrices) {
  double* m = matrices + (index() & 31) * 72;
  for (int column = 0; column < 8; ++column) {
    int pivot = column;
    for (int r = column + 1; r < 8; ++r)
      if (__builtin_fabs(m[r * 9 + column]) > __builtin_fabs(m[pivot * 9 + column])) pivot = r;
    for (int c = column; c < 9; ++c) {
      const double kept = m[column * 9 + c];
      m[column * 9 + c] = m[pivot * 9 + c];
      m[pivot * 9 + c] = kept;
    }
    for (int r = column + 1; r < 8; ++r) {
      const double factor = m[r * 9 + column] / (m[column * 9 + column] + 1e-9);
      for (int c = column; c < 9; ++c)
        m[r * 9 + c] -= factor * m[column * 9 + c];
    }
  }
}

extern "C" __global__ void count_words(const char* text, int* counts, int n) {
  enum { Space, Word, Number, Quoted } state = Space;
  int words = 0, numbers = 0;
  for (int k = 0; k < n; ++k) {
    const char c = text[index() * n + k];
    switch (state) {
    case Space:
      if (c == '"')
        state = Quoted;
      else if (c >= '0' && c <= '9')
        state = Number, ++numbers;
      else if (c > ' ')
        state = Word, ++words;
      break;
    case Number:
      if (c < '0' || c > '9') state = c > ' ' ? Word : Space;
      break;
    case Word:
      if (c <= ' ') state = Space;
      break;
    case Quoted:
      if (c == '"') state = Space;
      break;
    }
  }
  counts[index()] = words << 16 | numbers;
}

// Two ways into one loop.
extern "C" __global__ void jump_into_loop(int* values, int start, int n) {
  int k = start, sum = 0;
  if (values[index()] & 1) goto middle;
first:
  sum += values[index()] * k;
middle:
  sum ^= k;
  if (++k < n) {
    if (sum & 4) goto first;
    goto middle;
  }
  values[index()] = sum;
}

extern "C" __global__ void life(const unsigned char* before, unsigned char* after, int width, int height) {
  const int x = thread(), y = block();
  if (x >= width || y >= height) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy) alive += before[(y + dy + height) % height * width + (x + dx + width) % width] & 1;
  after[y * width + x] = alive == 3 || (alive == 2 && before[y * width + x] & 1);
}

template <int kTile> __device__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float left[kTile][kTile + 1], right[kTile][kTile + 1];
  const int x = thread() % kTile, y = thread() / kTile % kTile;
  const int row = block() % (n / kTile) * kTile + y, column = block() / (n / kTile) * kTile + x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    left[y][x] = a[row * n + k + x];
    right[y][x] = b[(k + y) * n + column];
    barrier();
    for (int j = 0; j < kTile; ++j)
      sum += left[y][j] * right[j][x];
    barrier();
  }
  c[row * n + column] = sum;
}
extern "C" __global__ void multiply_8(const float* a, const float* b, float* c, int n) {
  multiply<8>(a, b, c, n);
}
extern "C" __global__ void multiply_16(const float* a, const float* b, float* c, int n) {
  multiply<16>(a, b, c, n);
}
