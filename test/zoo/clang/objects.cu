// Classes, virtual calls, function pointers, recursion, variable arguments by structure: what C++ programs have beyond
// loops.
#include "device.h"

struct Shape {
  float scale;
  __device__ explicit Shape(float s) : scale(s) {}
  __device__ virtual float area() const = 0;
  __device__ virtual float edge() const { return scale; }
};
struct Square final : Shape {
  using Shape::Shape;
  __device__ float area() const override { return scale * scale; }
};
struct Circle : Shape {
  using Shape::Shape;
  __device__ float area() const override { return 3.14159265f * scale * scale; }
  __device__ float edge() const override { return 2 * 3.14159265f * scale; }
};

__device__ __noinline__ float measure(const Shape& shape, bool isArea) {
  return isArea ? shape.area() : shape.edge();
}

extern "C" __global__ void virtual_calls(const float* sizes, float* out, int n) {
  const int i = index();
  if (i >= n) return;
  Square square(sizes[i]);
  Circle circle(sizes[i]);
  const Shape& chosen = i % 3 ? static_cast<const Shape&>(square) : circle;
  out[i] = measure(chosen, i & 1);
}

__device__ __noinline__ int twice(int x) {
  return 2 * x;
}
__device__ __noinline__ int square(int x) {
  return x * x;
}
__device__ __noinline__ int negate(int x) {
  return -x;
}

extern "C" __global__ void function_pointers(const int* kinds, int* values, int n) {
  int (*const table[])(int) = {twice, square, negate};
  const int i = index();
  if (i < n) values[i] = table[static_cast<unsigned>(kinds[i]) % 3](values[i]);
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void recursion(unsigned* values) {
  const int i = index();
  values[i] = ackermann(values[i] % 3, values[i] / 3 % 3);
}

struct Node {
  int key, left, right;
};

extern "C" __global__ void search_tree(const Node* nodes, const int* keys, int* found, int n) {
  const int i = index();
  if (i >= n) return;
  int at = 0, depth = 0;
  while (at >= 0 && depth < 64 && nodes[at & 63].key != keys[i]) {
    at = keys[i] < nodes[at & 63].key ? nodes[at & 63].left : nodes[at & 63].right;
    ++depth;
  }
  found[i] = at >= 0 ? depth : -1;
}

struct Matrix {
  double at[4][4];
};

__device__ __noinline__ Matrix product(Matrix a, const Matrix& b) {
  Matrix c;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      c.at[i][j] = 0;
      for (int k = 0; k < 4; ++k)
        c.at[i][j] += a.at[i][k] * b.at[k][j];
    }
  return c;
}

extern "C" __global__ void large_structures(const Matrix* a, const Matrix* b, Matrix* c) {
  const int i = thread() & 31;
  c[i] = product(product(a[i], b[i]), a[i]);
}
