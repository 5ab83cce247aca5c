// Conversions between integers and floating point in every direction, width and rounding.
extern "C" __global__ void intToFloat(const int* w, const long long* l, float* f, double* d) {
  int i = threadIdx.x;
  f[6 * i + 0] = (float)w[i];
  f[6 * i + 1] = (float)(unsigned)w[i];
  f[6 * i + 2] = (float)l[i];
  f[6 * i + 3] = (float)(unsigned long long)l[i];
  f[6 * i + 4] = __int2float_rz(w[i]);
  f[6 * i + 5] = (float)(short)w[i] + (float)(unsigned char)w[i];
  d[4 * i + 0] = (double)w[i];
  d[4 * i + 1] = (double)(unsigned)w[i];
  d[4 * i + 2] = (double)l[i];
  d[4 * i + 3] = (double)(unsigned long long)l[i];
}

extern "C" __global__ void floatToInt(const float* f, int* w, long long* l) {
  int i = threadIdx.x;
  w[6 * i + 0] = (int)f[i];
  w[6 * i + 1] = (int)(unsigned)f[i];
  w[6 * i + 2] = __float2int_rn(f[i]);
  w[6 * i + 3] = __float2int_ru(f[i]);
  w[6 * i + 4] = __float2int_rd(f[i]);
  w[6 * i + 5] = (short)f[i];
  l[2 * i + 0] = (long long)f[i];
  l[2 * i + 1] = (long long)(unsigned long long)f[i];
}

extern "C" __global__ void doubleToInt(const double* d, int* w, long long* l, float* f) {
  int i = threadIdx.x;
  w[3 * i + 0] = (int)d[i];
  w[3 * i + 1] = (int)(unsigned)d[i];
  w[3 * i + 2] = __double2int_rn(d[i]);
  l[2 * i + 0] = (long long)d[i];
  l[2 * i + 1] = (long long)(unsigned long long)d[i];
  f[2 * i + 0] = (float)d[i];
  f[2 * i + 1] = __double2float_rz(d[i]);
}

extern "C" __global__ void roundToIntegral(const float* f, const double* d, float* outF, double* outD) {
  int i = threadIdx.x;
  outF[4 * i + 0] = floorf(f[i]);
  outF[4 * i + 1] = ceilf(f[i]);
  outF[4 * i + 2] = truncf(f[i]);
  outF[4 * i + 3] = rintf(f[i]);
  outD[4 * i + 0] = floor(d[i]);
  outD[4 * i + 1] = ceil(d[i]);
  outD[4 * i + 2] = trunc(d[i]);
  outD[4 * i + 3] = rint(d[i]);
}
