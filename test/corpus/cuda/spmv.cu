// Sparse matrix times vector, a row a thread: loops of different lengths, indirect loads.
extern "C" __global__ void spmv(const int* rows, const int* columns, const double* values, const double* x, double* y,
                                int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  double s = 0;
  for (int j = rows[r]; j < rows[r + 1]; ++j)
    s += values[j] * x[columns[j]];
  y[r] = s;
}
