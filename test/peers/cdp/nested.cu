__global__ void grandchild(int* p) { atomicAdd(p, 1); }
__global__ void child(int* p, int depth) {
  if (depth > 0) child<<<1, 2>>>(p, depth - 1);
  grandchild<<<1, 4>>>(p + depth);
}
__global__ void parent(int* p) { child<<<1, 1>>>(p, 3); }
int main() { parent<<<1, 1>>>(nullptr); }
