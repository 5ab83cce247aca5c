// Calls that stay calls: arguments and results in registers and memory, a callee that calls, recursion.
struct Complex {
  double re, im;
};

__device__ __noinline__ int scaled(int x, int k) {
  return x * k + 1;
}

__device__ __noinline__ Complex multiply(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

__device__ __noinline__ int gcd(int a, int b) {
  return b == 0 ? a : gcd(b, a % b);
}

__device__ __noinline__ int chain(int x) {
  return scaled(x, 3) + scaled(x + 1, 5);
}

extern "C" __global__ void calls(const int* a, const Complex* z, int* out, Complex* outZ) {
  int i = threadIdx.x;
  out[3 * i + 0] = scaled(a[i], i);
  out[3 * i + 1] = chain(a[i]);
  out[3 * i + 2] = gcd(a[i] & 0xff, 36);
  outZ[i] = multiply(z[i], z[i + 1]);
}
