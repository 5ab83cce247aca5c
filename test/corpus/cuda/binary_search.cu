// Binary search: a loop of data-dependent loads and selects.
extern "C" __global__ void lowerBound(const int* sorted, int n, const int* keys, int* out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int key = keys[i], low = 0, high = n;
  while (low < high) {
    int middle = (low + high) >> 1;
    if (sorted[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  out[i] = low;
}
