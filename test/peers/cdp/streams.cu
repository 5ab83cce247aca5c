__global__ void child(int* p, int v) { p[threadIdx.x] = v; }
__global__ void parent(int* p) {
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  child<<<1, 8, 0, s>>>(p, 1);
  child<<<1, 8, 0, cudaStreamTailLaunch>>>(p + 8, 2);
  child<<<1, 8, 0, cudaStreamFireAndForget>>>(p + 16, 3);
  cudaStreamDestroy(s);
}
int main() { parent<<<1, 1>>>(nullptr); }
