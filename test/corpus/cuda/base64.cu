// Base64 of a text: three bytes become four letters of a table, a group a thread.

__constant__ char letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

extern "C" __global__ void base64(const unsigned char* in, char* out, int length) {
  int group = blockIdx.x * blockDim.x + threadIdx.x, at = group * 3;
  if (at >= length) return;
  unsigned bits = in[at] << 16;
  if (at + 1 < length) bits |= in[at + 1] << 8;
  if (at + 2 < length) bits |= in[at + 2];
  char* to = out + group * 4;
  to[0] = letters[bits >> 18];
  to[1] = letters[bits >> 12 & 63];
  to[2] = at + 1 < length ? letters[bits >> 6 & 63] : '=';
  to[3] = at + 2 < length ? letters[bits & 63] : '=';
}
