template <int N> struct Bytes { char b[N]; };
struct Mixed { char c; double d; short s[3]; int* p; };
template <int N> __global__ void sized(Bytes<N> x, char* out) { out[threadIdx.x % N] = x.b[threadIdx.x % N]; }
__global__ void mixed(char a, short b, int c, long long d, float e, double f, Mixed m, char* out) {
  out[0] = static_cast<char>(a + b + c + d + e + f + m.c + m.d + m.s[1] + *m.p);
}
__global__ void none() {}
template <int N> __device__ void launch(char* out) {
  Bytes<N> x;
  for (int i = 0; i < N; ++i) x.b[i] = static_cast<char>(i * 5 + N + threadIdx.x);
  sized<N><<<1, 32>>>(x, out);
}
__global__ void parent(char* out, int* p) {
  none<<<1, 1>>>();
  launch<1>(out);
  launch<3>(out + 32);
  launch<8>(out + 64);
  launch<64>(out + 96);
  launch<1000>(out + 128);
  launch<4000>(out + 160);
  mixed<<<1, 1>>>(1, 2, 3, 4, 5.0f, 6.0, Mixed{7, 8.0, {9, 10, 11}, p}, out + 192);
}
int main() { parent<<<1, 1>>>(nullptr, nullptr); }
