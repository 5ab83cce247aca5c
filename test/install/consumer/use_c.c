/* Assembles a file and says how large its cubin is. */
#include <orias/orias_c.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  static char ptx[1 << 20];
  FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (!file) return 2;
  size_t bytes = fread(ptx, 1, sizeof ptx, file);
  fclose(file);

  const char *options[] = {"-arch=sm_90", "-v"};
  orias_result *result = NULL;
  orias_status status = orias_assemble(ptx, bytes, options, 2, &result);
  size_t cubin = 0;
  orias_result_cubin(result, &cubin);
  if (status == ORIAS_OK)
    printf("C: %zu bytes of cubin\n%s", cubin, orias_result_text(result, ORIAS_TEXT_USAGE, NULL));
  else
    fputs(orias_result_text(result, ORIAS_TEXT_DIAGNOSTICS, NULL), stderr);
  orias_result_free(result);
  return status;
}
