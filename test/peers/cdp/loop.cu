__global__ void child(int* p, int step) { p[(blockIdx.x + step * gridDim.x) * 64 + threadIdx.x] += step; }
__global__ void parent(int* p, const int* sizes, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    if (sizes[i] > 0) child<<<sizes[i], 64>>>(p, i);
}
int main() { parent<<<1, 32>>>(nullptr, nullptr, 0); }
