// A switch with many cases: a tree of compares or a table, and cases that fall through.
extern "C" __global__ void interpreter(const unsigned char* code, const int* in, int* out, int n) {
  int t = threadIdx.x, x = in[t], y = 1;
#pragma unroll 1
  for (int pc = 0; pc < n; ++pc) {
    switch (code[pc]) {
    case 0: x += y; break;
    case 1: x -= y; break;
    case 2: x *= y; break;
    case 3: y = x; break;
    case 4: y += t;
    case 5: x ^= y; break;
    case 6: x = x << (y & 7); break;
    case 7: x = -x; break;
    case 9: x = x > y ? x : y; break;
    case 12:
      if (x & 1) pc += 1;
      break;
    default: y = 3; break;
    }
  }
  out[t] = x;
}
