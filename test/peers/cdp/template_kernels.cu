template <typename T, int Step> __global__ void child(T* p, T v) { p[threadIdx.x * Step] = v; }
template <typename T> __global__ void parent(T* p) {
  child<T, 1><<<dim3(2, 2), dim3(4, 2, 2)>>>(p, T(1));
  child<T, 2><<<dim3(1, 1, 3), dim3(16)>>>(p, T(2));
}
int main() {
  parent<float><<<1, 1>>>(nullptr);
  parent<double><<<1, 1>>>(nullptr);
  parent<unsigned char><<<1, 1>>>(nullptr);
}
