/* Calls the PTX Compiler API in many ways and prints what it returns; the same file is linked with NVIDIA's library and with ours. */
#define _POSIX_C_SOURCE 200809L /* strnlen */
#include <nvPTXCompiler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD ".version 8.0\n.target sm_90\n.address_size 64\n"
#define BODY                                                                                                           \
  ".visible .entry k(.param .u64 p) {\n .reg .b64 %rd<2>; .reg .b32 %r<2>;\n ld.param.u64 %rd1,[p];\n"                  \
  " mov.u32 %r1,%tid.x;\n st.global.u32 [%rd1],%r1;\n ret;\n}\n"
static const char *kGood = HEAD BODY;
static const char *kWrong = HEAD ".visible .entry k() {\n .reg .b32 %r<2>;\n foo.u32 %r1;\n ret;\n}\n";
static const char *kNewer = ".version 9.9\n.target sm_90\n.address_size 64\n" BODY;

enum { kLogBytes = 1 << 16 };

static void print_log(const char *name, nvPTXCompilerHandle compiler,
                      nvPTXCompileResult (*size_of)(nvPTXCompilerHandle, size_t *),
                      nvPTXCompileResult (*get)(nvPTXCompilerHandle, char *)) {
  static char text[kLogBytes];
  size_t size = 12345;
  memset(text, '#', sizeof text);
  int first = size_of(compiler, &size);
  int second = get(compiler, text);
  size_t length = strnlen(text, sizeof text);
  /* The texts are the programs' own, but for the line that a message is about. */
  char *line = strstr(text, "ptx input, line ");
  printf("  %s log: %d %d, %s, size %s, line %d\n", name, first, second, length ? "text" : "empty",
         size == (length ? length + 1 : 0) ? "counts the zero" : "is wrong",
         line ? atoi(line + strlen("ptx input, line ")) : 0);
}

static void print_program(nvPTXCompilerHandle compiler) {
  size_t size = 0;
  int first = nvPTXCompilerGetCompiledProgramSize(compiler, &size);
  char *program = calloc(1, size + 1);
  int second = nvPTXCompilerGetCompiledProgram(compiler, program);
  printf("  program: %d %d %s\n", first, second, size > 4 && !memcmp(program, "\177ELF", 4) ? "ELF" : "none");
  free(program);
}

static void run(const char *name, const char *ptx, size_t length, int count, const char *const *options) {
  nvPTXCompilerHandle compiler = NULL;
  printf("%s\n", name);
  int created = nvPTXCompilerCreate(&compiler, length, ptx);
  printf("  create: %d\n", created);
  if (created != NVPTXCOMPILE_SUCCESS) return;
  print_program(compiler);
  for (int again = 0; again < 2; ++again) {
    printf("  compile: %d\n", nvPTXCompilerCompile(compiler, count, options));
    print_program(compiler);
    print_log("error", compiler, nvPTXCompilerGetErrorLogSize, nvPTXCompilerGetErrorLog);
    print_log("info", compiler, nvPTXCompilerGetInfoLogSize, nvPTXCompilerGetInfoLog);
  }
  int destroyed = nvPTXCompilerDestroy(&compiler);
  printf("  destroy: %d %s\n", destroyed, compiler ? "left" : "null");
}

static int answer(void *payload, void *unused) {
  (void)unused;
  return *(int *)payload;
}

#define OPTIONS(...) (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(const char *)), (const char *[]){__VA_ARGS__}

int main(void) {
  unsigned major = 0, minor = 0;
  int result = nvPTXCompilerGetVersion(&major, &minor);
  printf("version: %d %u.%u\n", result, major, minor);
  int count = 0;
  static int versions[100][2];
  result = nvPTXCompilerGetNumSupportedVersions(&count);
  printf("versions: %d %d\n", result, count);
  result = nvPTXCompilerGetSupportedVersions(versions);
  printf("versions: %d", result);
  for (int i = 0; i < count; ++i) printf(" %d.%d", versions[i][0], versions[i][1]);
  printf("\n");

  size_t good = strlen(kGood);
  run("good", kGood, good, OPTIONS("--gpu-name=sm_90"));
  run("verbose", kGood, good, OPTIONS("-arch=sm_90", "--verbose"));
  run("option in two words", kGood, good, OPTIONS("--gpu-name", "sm_90", "-v"));
  run("output file", kGood, good, OPTIONS("-arch=sm_90", "-o", "x.cubin"));
  run("relocatable", kGood, good, OPTIONS("-arch=sm_90", "-c"));
  run("length with the zero", kGood, good + 1, OPTIONS("-arch=sm_90"));
  run("wrong PTX", kWrong, strlen(kWrong), OPTIONS("-arch=sm_90"));
  run("cut PTX", kGood, good - 20, OPTIONS("-arch=sm_90"));
  run("newer PTX", kNewer, strlen(kNewer), OPTIONS("-arch=sm_90"));
  run("no architecture", kGood, good, 0, NULL);
  run("older architecture", kGood, good, OPTIONS("-arch=sm_80"));
  run("virtual architecture", kGood, good, OPTIONS("-arch=compute_90"));
  run("unknown architecture", kGood, good, OPTIONS("-arch=sm_99"));
  run("unknown option", kGood, good, OPTIONS("-arch=sm_90", "--nonsense"));
  run("two options in a word", kGood, good, OPTIONS("--gpu-name=sm_90 --verbose"));
  run("a file", kGood, good, OPTIONS("-arch=sm_90", "x.ptx"));
  run("warning", kGood, good, OPTIONS("-arch=sm_90", "--maxrregcount=300"));
  run("no text", "", 0, OPTIONS("-arch=sm_90"));

  nvPTXCompilerHandle compiler = NULL;
  nvPTXCompilerCreate(&compiler, good, kGood);
  const char *arch = "-arch=sm_90";
  int yes = 1, no = 0;
  printf("callback: %d", nvPTXCompilerSetFlowCallback(compiler, answer, &yes));
  printf(" %d", nvPTXCompilerCompile(compiler, 1, &arch));
  printf(" %d", nvPTXCompilerSetFlowCallback(compiler, answer, &no));
  printf(" %d\n", nvPTXCompilerCompile(compiler, 1, &arch));
  nvPTXCompilerDestroy(&compiler);
  return 0;
}
