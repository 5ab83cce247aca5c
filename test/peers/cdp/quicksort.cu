__global__ void sort(int* data, int left, int right, int depth) {
  if (depth == 0) {
    for (int i = left + 1; i <= right; ++i)
      for (int j = i; j > left && data[j - 1] > data[j]; --j) {
        const int t = data[j];
        data[j] = data[j - 1];
        data[j - 1] = t;
      }
    return;
  }
  int l = left, r = right;
  const int pivot = data[(left + right) / 2];
  while (l <= r) {
    while (data[l] < pivot) ++l;
    while (data[r] > pivot) --r;
    if (l <= r) {
      const int t = data[l];
      data[l++] = data[r];
      data[r--] = t;
    }
  }
  cudaStream_t s;
  if (left < r) {
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    sort<<<1, 1, 0, s>>>(data, left, r, depth - 1);
    cudaStreamDestroy(s);
  }
  if (l < right) {
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    sort<<<1, 1, 0, s>>>(data, l, right, depth - 1);
    cudaStreamDestroy(s);
  }
}
int main() { sort<<<1, 1>>>(nullptr, 0, 100, 8); }
