// Nothing at all: measures start-up, and checks that a kernel may be only `ret`.
extern "C" __global__ void empty() {}
