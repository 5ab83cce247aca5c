__global__ void child(int* p, int v) { p[blockIdx.x * blockDim.x + threadIdx.x] = v + threadIdx.x; }
__global__ void parent(int* p) {
  if (threadIdx.x == 0) child<<<2, 32>>>(p, 5);
}
int main() { parent<<<1, 32>>>(nullptr); }
