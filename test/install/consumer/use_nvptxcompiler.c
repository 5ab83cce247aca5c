/* The way of NVIDIA's documentation from PTX to a cubin. */
#include <nvPTXCompiler.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  static char ptx[1 << 20];
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!file) return 2;
  size_t bytes = fread(ptx, 1, sizeof ptx, file);
  fclose(file);

  nvPTXCompilerHandle compiler = NULL;
  const char *options[] = {"--gpu-name=sm_90"};
  size_t size = 0;
  if (nvPTXCompilerCreate(&compiler, bytes, ptx) != NVPTXCOMPILE_SUCCESS) return 1;
  nvPTXCompileResult status = nvPTXCompilerCompile(compiler, 1, options);
  if (status == NVPTXCOMPILE_SUCCESS) nvPTXCompilerGetCompiledProgramSize(compiler, &size);
  printf("nvPTXCompiler: result %d, %zu bytes of cubin\n", status, size);
  nvPTXCompilerDestroy(&compiler);
  return status;
}
