// Module variables with initialisers of many kinds: scalars, arrays, structures, and addresses of other variables.
struct Pair {
  char tag;
  short count;
  int value;
  double weight;
};

__device__ int counter = 42;
__device__ int table[5] = {10, 20, 30};
__device__ unsigned char text[12] = "orias\tPTX";
__device__ Pair pairs[2] = {{'a', -1, 100, 1.5}, {'b', 2, -200, 2.5e-10}};
__device__ int* second = &table[1];
__device__ const int* const directory[3] = {&counter, table, &table[4]};
__device__ float zeroed[256];
__device__ __align__(16) double aligned[2] = {3.0, -0.0};

extern "C" __global__ void readModule(int* out, double* outD) {
  int i = threadIdx.x;
  if (i < 5) out[i] = table[i] + text[i];
  if (i < 2) outD[i] = pairs[i].weight + pairs[i].value + pairs[i].count + pairs[i].tag + aligned[i];
  if (i < 3) out[8 + i] = *directory[i] + *second;
  zeroed[i & 255] = (float)counter;
  out[16 + i] = (int)zeroed[i & 255];
}

extern "C" __global__ void bumpModule() {
  if (threadIdx.x == 0)
    counter += 1;
  else
    table[threadIdx.x % 5] = threadIdx.x;
}
