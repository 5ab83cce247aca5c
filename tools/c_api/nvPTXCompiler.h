/*
 * The interface of NVIDIA's PTX Compiler API 13.0, for programs that compile PTX at run time. The names, types, numbers
 * and order of arguments are those of NVIDIA's public documentation (docs.nvidia.com, "PTX Compiler APIs"); a program
 * that was compiled with NVIDIA's header works with this library.
 *
 * Differences: README.md in the same folder.
 */
#ifndef nvPTXCompiler_INCLUDED
#define nvPTXCompiler_INCLUDED

#include <stddef.h>

#if defined(__GNUC__)
#define ORIAS_NVPTXCOMPILER_API __attribute__((visibility("default")))
#else
#define ORIAS_NVPTXCOMPILER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** One PTX program, and what became of it. */
typedef struct nvPTXCompiler* nvPTXCompilerHandle;

typedef enum {
  NVPTXCOMPILE_SUCCESS = 0,
  NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE = 1,
  NVPTXCOMPILE_ERROR_INVALID_INPUT = 2,
  NVPTXCOMPILE_ERROR_COMPILATION_FAILURE = 3,
  NVPTXCOMPILE_ERROR_INTERNAL = 4,
  NVPTXCOMPILE_ERROR_OUT_OF_MEMORY = 5,
  NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE = 6, /**< there is no program (yet) */
  NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION = 7,
  NVPTXCOMPILE_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 8, /**< never returned by orias */
  NVPTXCOMPILE_ERROR_CANCELLED = 9
} nvPTXCompileResult;

/** The version of the interface: 13 and 0. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerGetVersion(unsigned int* major, unsigned int* minor);

/** The number of PTX ISA versions that are accepted. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerGetNumSupportedVersions(int* numVersions);

/** The PTX ISA versions that are accepted, as pairs of major and minor. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerGetSupportedVersions(int (*versions)[2]);

/** Copies the PTX. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerCreate(nvPTXCompilerHandle* compiler, size_t ptxCodeLen,
                                                               const char* ptxCode);

/** Frees all that belongs to the handle, and makes it null. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerDestroy(nvPTXCompilerHandle* compiler);

/** Compiles; the options are those of ptxas and orias. May be called again. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerCompile(nvPTXCompilerHandle compiler, int numCompileOptions,
                                                                const char* const* compileOptions);

/** In bytes. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerGetCompiledProgramSize(nvPTXCompilerHandle compiler,
                                                                               size_t* binaryImageSize);

/** Copies the cubin. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerGetCompiledProgram(nvPTXCompilerHandle compiler,
                                                                           void* binaryImage);

/** With the zero at the end; 0 if there is nothing to say. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerGetErrorLogSize(nvPTXCompilerHandle compiler,
                                                                        size_t* errorLogSize);

ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerGetErrorLog(nvPTXCompilerHandle compiler, char* errorLog);

/** With the zero at the end; 0 if there is nothing to say. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerGetInfoLogSize(nvPTXCompilerHandle compiler,
                                                                       size_t* infoLogSize);

/** Warnings, and what `--verbose` prints. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerGetInfoLog(nvPTXCompilerHandle compiler, char* infoLog);

/** `callback` is asked with `payload` before and after the compilation; another answer than 0 cancels it. */
ORIAS_NVPTXCOMPILER_API nvPTXCompileResult nvPTXCompilerSetFlowCallback(nvPTXCompilerHandle compiler,
                                                                        int (*callback)(void*, void*), void* payload);

#ifdef __cplusplus
}
#endif

#endif
