// Products of matrices in double precision by the matrix unit: 8 x 8, by four steps of depth.

extern "C" __global__ void gemmDouble(const double* a, const double* b, double* d, int depth) {
  unsigned group = threadIdx.x / 4, inGroup = threadIdx.x % 4;
  double d0 = 0, d1 = 0;
  for (int k = 0; k < depth; k += 4)
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
        : "+d"(d0), "+d"(d1)
        : "d"(a[group * depth + k + inGroup]), "d"(b[group * depth + k + inGroup]));
  d[group * 8 + inGroup * 2] = d0;
  d[group * 8 + inGroup * 2 + 1] = d1;
}
