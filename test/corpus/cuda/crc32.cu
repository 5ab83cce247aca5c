// CRC-32 of a message a thread, through a table that threads make in shared memory.
extern "C" __global__ void crc32(const unsigned char* data, unsigned* out, int length) {
  __shared__ unsigned table[256];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) {
    unsigned r = i;
    for (int k = 0; k < 8; ++k)
      r = (r >> 1) ^ (0xedb88320u & -(r & 1));
    table[i] = r;
  }
  __syncthreads();
  unsigned crc = ~0u;
  for (int i = 0; i < length; ++i)
    crc = (crc >> 8) ^ table[(crc ^ data[threadIdx.x * length + i]) & 0xff];
  out[threadIdx.x] = ~crc;
}
