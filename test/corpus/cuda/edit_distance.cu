// Dynamic programming in a row of local memory with 16-bit values.
extern "C" __global__ void editDistance(const char* words, const char* pattern, int length, unsigned short* out) {
  unsigned short row[17];
  const char* word = words + threadIdx.x * 16;
  for (int j = 0; j <= 16; ++j)
    row[j] = j;
#pragma unroll 1
  for (int i = 1; i <= length; ++i) {
    unsigned short diagonal = row[0];
    row[0] = i;
#pragma unroll 1
    for (int j = 1; j <= 16; ++j) {
      unsigned short cost = diagonal + (pattern[i - 1] != word[j - 1]);
      diagonal = row[j];
      unsigned short best = min(row[j], row[j - 1]) + 1;
      row[j] = min(best, cost);
    }
  }
  out[threadIdx.x] = row[16];
}
