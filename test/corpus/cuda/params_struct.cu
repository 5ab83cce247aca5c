// Kernel parameters passed by value: structures with padding, arrays inside, small and unaligned members.
struct Inner {
  char c;
  double d;
  short s;
};
struct Outer {
  int n;
  Inner inner[2];
  float matrix[3][3];
  unsigned char flags[5];
};

extern "C" __global__ void structParameter(Outer o, float* out, char last) {
  int i = threadIdx.x;
  if (i < o.n)
    out[i] = o.matrix[i % 3][(i / 3) % 3] + (float)o.inner[1].d + o.inner[0].c + o.inner[1].s + o.flags[4] + last;
}

extern "C" __global__ void mixedParameters(unsigned char a, short b, long long c, float d, double e, bool f, int3 g,
                                           double* out) {
  out[threadIdx.x] = a + b + c + d + e + f + g.x * g.y - g.z;
}
