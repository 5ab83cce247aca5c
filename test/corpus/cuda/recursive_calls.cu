// Recursion: nested in its own arguments, through pointers and virtual functions, in loops, and from several places.
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

extern "C" __global__ void ackermanns(unsigned* out) {
  unsigned i = threadIdx.x;
  out[i] = ackermann(i % 3, i / 3) * 1000;
  if (i & 1) out[i] += ackermann(2, i % 5);
}

// A sort in place, whose halves are sorted in a loop and by recursion; a flag and doubles live across the calls.
__device__ __noinline__ double quicksort(int* v, int low, int high, bool up, double depth) {
  double deepest = depth;
  while (low < high) {
    int pivot = v[(low + high) / 2], i = low, j = high;
    while (i <= j) {
      while (up ? v[i] < pivot : v[i] > pivot) ++i;
      while (up ? v[j] > pivot : v[j] < pivot) --j;
      if (i <= j) {
        int t = v[i];
        v[i++] = v[j];
        v[j--] = t;
      }
    }
    double below = quicksort(v, low, j, up, depth + 0.5);
    if (below > deepest) deepest = below;
    low = i;
  }
  return deepest;
}

extern "C" __global__ void quicksorts(int* values, double* depths) {
  int i = threadIdx.x;
  depths[i] = quicksort(values + 16 * i, 0, 15, i % 3 != 0, 1.0) > 1.0 ? 1.0 : 0.0;
}

// Expressions: virtual functions that call virtual functions, of objects on the stack.
struct Node {
  __device__ virtual long long value(long long x) const = 0;
};
struct Constant : Node {
  long long number;
  __device__ Constant(long long n) : number(n) {}
  __device__ long long value(long long) const override { return number; }
};
struct Variable : Node {
  __device__ long long value(long long x) const override { return x; }
};
struct Sum : Node {
  const Node *left, *right;
  __device__ Sum(const Node* l, const Node* r) : left(l), right(r) {}
  __device__ long long value(long long x) const override { return left->value(x) + right->value(x); }
};
struct Product : Node {
  const Node *left, *right;
  __device__ Product(const Node* l, const Node* r) : left(l), right(r) {}
  __device__ long long value(long long x) const override { return left->value(x) * right->value(x); }
};

extern "C" __global__ void expressions(const int* picks, long long* out) {
  int i = threadIdx.x;
  Constant three(3), many(1000000007LL);
  Variable x;
  Sum xPlus3(&x, &three);
  Product square(&xPlus3, &xPlus3), scaled(&many, &square);
  Sum all(&scaled, &x);
  const Node* nodes[] = {&three, &x, &xPlus3, &square, &scaled, &all};
  out[i] = nodes[picks[i] % 6]->value(i);
}
