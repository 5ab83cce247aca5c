// Block-wide barriers: plain and with a reduction of a predicate.
extern "C" __global__ void barrierReductions(const int* a, int* out) {
  int t = threadIdx.x;
  int x = a[t];
  out[4 * t + 0] = __syncthreads_count(x > 10);
  out[4 * t + 1] = __syncthreads_and(x > -1000);
  out[4 * t + 2] = __syncthreads_or(x == 77);
  __syncthreads();
  out[4 * t + 3] = out[(4 * t + 6) % (4 * blockDim.x)] & 1;
}

extern "C" __global__ void namedBarriers(const int* a, int* out) {
  __shared__ int buffer[64];
  int t = threadIdx.x;
  if (t < 64) {
    buffer[t] = a[t];
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = buffer[63 - t];
  }
  asm volatile("barrier.sync 0;" ::: "memory");
  if (t < 32) {
    buffer[t] = out[t] + 1;
    asm volatile("bar.arrive 2, 64;" ::: "memory");
  } else if (t < 64) {
    asm volatile("bar.sync 2, 64;" ::: "memory");
    out[t + 64] = buffer[t - 32];
  }
}

extern "C" __global__ void warpBarrier(const int* a, int* out) {
  __shared__ volatile int buffer[32];
  int t = threadIdx.x;
  buffer[t] = a[t];
  __syncwarp();
  int x = buffer[t ^ 1];
  __syncwarp(0xffffffffu);
  buffer[t] = x + buffer[31 - t] * 0;
  __syncwarp();
  out[t] = buffer[(t + 1) & 31];
}
