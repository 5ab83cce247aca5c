// NVIDIA's PTX Compiler API on the C interface of orias. The return values and the format of the logs were observed
// with libnvptxcompiler_static 13.0.88 (test/peers/nvptxcompiler.c prints them for both).

#include "tools/c_api/nvPTXCompiler.h"
#include "tools/c_api/orias_c.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace {

struct FreeResult {
  void operator()(orias_result* result) const { orias_result_free(result); }
};

// ptxas' default, which programs without -arch rely on.
constexpr std::string_view kDefaultArch = "-arch=sm_75";
constexpr std::string_view kNoSuchVersion = "there is no .version";

} // namespace

struct nvPTXCompiler {
  std::string ptx;
  std::unique_ptr<orias_result, FreeResult> result;
  bool hasProgram = false;
  std::string errorLog, infoLog;
  int (*callback)(void*, void*) = nullptr;
  void* payload = nullptr;
};

namespace {

bool isNamed(std::string_view word, std::initializer_list<std::string_view> names) {
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  const std::string_view name = word.substr(0, word.find('='));
  for (const std::string_view candidate : names)
    if (name == candidate) return true;
  return false;
}

/// The options, without the name of an output file, which NVIDIA's library also ignores.
std::vector<std::string> wordsOf(const char* const* options, int count) {
  std::vector<std::string> words;
  // Lets programs that compile at run time use knobs tuned for a kernel.
  if (const char* file = std::getenv("ORIAS_KNOBS_FILE")) words.push_back(std::string("--knobs-file=") + file);
  if (const char* knobs = std::getenv("ORIAS_KNOBS")) words.push_back(std::string("--knob=") + knobs);
  bool namesArch = false;
  for (int i = 0; i < count; ++i) {
    const std::string_view word = options[i];
    if (word.starts_with('-') && isNamed(word, {"o", "output-file"})) {
      if (word.find('=') == std::string_view::npos) ++i;
      continue;
    }
    namesArch = namesArch || (word.starts_with('-') && isNamed(word, {"arch", "gpu-name"}));
    words.emplace_back(word);
  }
  if (!namesArch) words.emplace_back(kDefaultArch);
  return words;
}

/// A message in ptxas' format, which programs parse.
std::string asLogLine(const orias_message& message) {
  std::string out = "ptxas ";
  if (message.line != 0) out += "application ptx input, line " + std::to_string(message.line) + "; ";
  switch (message.severity) {
  case ORIAS_ERROR: out += message.line != 0 ? "error   : " : "fatal   : "; break;
  case ORIAS_WARNING: out += "warning : "; break;
  case ORIAS_NOTE: out += "info    : "; break;
  }
  out += message.text;
  if (*message.hint) out += std::string(" (") + message.hint + ")";
  return out + '\n';
}

/// Fills both logs. True if the version of the PTX is too new.
bool readMessages(nvPTXCompiler& compiler) {
  const orias_result* result = compiler.result.get();
  bool tooNew = false;
  for (std::size_t i = 0; i < orias_result_message_count(result); ++i) {
    orias_message message;
    if (orias_result_message(result, i, &message) != ORIAS_OK) continue;
    (message.severity == ORIAS_ERROR ? compiler.errorLog : compiler.infoLog) += asLogLine(message);
    tooNew = tooNew || std::string_view(message.text).starts_with(kNoSuchVersion);
  }
  compiler.infoLog += orias_result_text(result, ORIAS_TEXT_USAGE, nullptr);
  return tooNew;
}

bool isCancelled(const nvPTXCompiler& compiler) {
  return compiler.callback && compiler.callback(compiler.payload, nullptr) != 0;
}

nvPTXCompileResult compile(nvPTXCompiler& compiler, const char* const* options, int count) {
  compiler.result.reset();
  compiler.hasProgram = false;
  compiler.errorLog.clear();
  compiler.infoLog.clear();
  if (isCancelled(compiler)) return NVPTXCOMPILE_ERROR_CANCELLED;

  const std::vector<std::string> words = wordsOf(options, count);
  std::vector<const char*> pointers;
  for (const std::string& word : words)
    pointers.push_back(word.c_str());
  orias_result* result = nullptr;
  const orias_status status =
      orias_assemble(compiler.ptx.data(), compiler.ptx.size(), pointers.data(), pointers.size(), &result);
  compiler.result.reset(result);
  if (status == ORIAS_OUT_OF_MEMORY) return NVPTXCOMPILE_ERROR_OUT_OF_MEMORY;
  const bool tooNew = readMessages(compiler);
  if (isCancelled(compiler)) {
    compiler.result.reset();
    return NVPTXCOMPILE_ERROR_CANCELLED;
  }
  if (status == ORIAS_INTERNAL_FAULT) return NVPTXCOMPILE_ERROR_INTERNAL;
  if (tooNew) return NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION;
  compiler.hasProgram = status == ORIAS_OK && orias_result_cubin(compiler.result.get(), nullptr) != nullptr;
  // Without a cubin (-arch=compute_90) the call fails, with empty logs.
  return compiler.hasProgram ? NVPTXCOMPILE_SUCCESS : NVPTXCOMPILE_ERROR_COMPILATION_FAILURE;
}

nvPTXCompileResult logSize(const nvPTXCompiler* compiler, std::string nvPTXCompiler::*log, std::size_t* size) {
  if (!compiler) return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
  if (!size) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  const std::string& text = compiler->*log;
  *size = text.empty() ? 0 : text.size() + 1;
  return NVPTXCOMPILE_SUCCESS;
}

nvPTXCompileResult copyLog(const nvPTXCompiler* compiler, std::string nvPTXCompiler::*log, char* to) {
  if (!compiler) return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
  if (!to) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  const std::string& text = compiler->*log;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return NVPTXCOMPILE_SUCCESS;
}

} // namespace

nvPTXCompileResult nvPTXCompilerGetVersion(unsigned int* major, unsigned int* minor) {
  if (!major || !minor) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  *major = 13;
  *minor = 0;
  return NVPTXCOMPILE_SUCCESS;
}

nvPTXCompileResult nvPTXCompilerGetNumSupportedVersions(int* numVersions) {
  if (!numVersions) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  std::size_t count = 0;
  orias_ptx_versions(&count);
  *numVersions = static_cast<int>(count);
  return NVPTXCOMPILE_SUCCESS;
}

nvPTXCompileResult nvPTXCompilerGetSupportedVersions(int (*versions)[2]) {
  if (!versions) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  std::size_t count = 0;
  const char* const* names = orias_ptx_versions(&count);
  for (std::size_t i = 0; i < count; ++i)
    std::sscanf(names[i], "%d.%d", &versions[i][0], &versions[i][1]);
  return NVPTXCOMPILE_SUCCESS;
}

nvPTXCompileResult nvPTXCompilerCreate(nvPTXCompilerHandle* compiler, size_t ptxCodeLen, const char* ptxCode) {
  if (!compiler || !ptxCode || ptxCodeLen == 0) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  try {
    auto created = std::make_unique<nvPTXCompiler>();
    created->ptx.assign(ptxCode, strnlen(ptxCode, ptxCodeLen)); // some callers count the terminating zero, too
    *compiler = created.release();
  } catch (const std::bad_alloc&) {
    return NVPTXCOMPILE_ERROR_OUT_OF_MEMORY;
  }
  return NVPTXCOMPILE_SUCCESS;
}

nvPTXCompileResult nvPTXCompilerDestroy(nvPTXCompilerHandle* compiler) {
  if (!compiler || !*compiler) return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
  delete *compiler;
  *compiler = nullptr;
  return NVPTXCOMPILE_SUCCESS;
}

nvPTXCompileResult nvPTXCompilerCompile(nvPTXCompilerHandle compiler, int numCompileOptions,
                                        const char* const* compileOptions) {
  if (!compiler) return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
  if (numCompileOptions < 0 || (numCompileOptions > 0 && !compileOptions)) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  for (int i = 0; i < numCompileOptions; ++i)
    if (!compileOptions[i]) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  try {
    return compile(*compiler, compileOptions, numCompileOptions);
  } catch (const std::bad_alloc&) {
    return NVPTXCOMPILE_ERROR_OUT_OF_MEMORY;
  }
}

nvPTXCompileResult nvPTXCompilerGetCompiledProgramSize(nvPTXCompilerHandle compiler, size_t* binaryImageSize) {
  if (!compiler) return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
  if (!binaryImageSize) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  if (!compiler->hasProgram) return NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE;
  orias_result_cubin(compiler->result.get(), binaryImageSize);
  return NVPTXCOMPILE_SUCCESS;
}

nvPTXCompileResult nvPTXCompilerGetCompiledProgram(nvPTXCompilerHandle compiler, void* binaryImage) {
  if (!compiler) return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
  if (!binaryImage) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  if (!compiler->hasProgram) return NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE;
  std::size_t size = 0;
  const void* cubin = orias_result_cubin(compiler->result.get(), &size);
  std::memcpy(binaryImage, cubin, size);
  return NVPTXCOMPILE_SUCCESS;
}

nvPTXCompileResult nvPTXCompilerGetErrorLogSize(nvPTXCompilerHandle compiler, size_t* errorLogSize) {
  return logSize(compiler, &nvPTXCompiler::errorLog, errorLogSize);
}

nvPTXCompileResult nvPTXCompilerGetErrorLog(nvPTXCompilerHandle compiler, char* errorLog) {
  return copyLog(compiler, &nvPTXCompiler::errorLog, errorLog);
}

nvPTXCompileResult nvPTXCompilerGetInfoLogSize(nvPTXCompilerHandle compiler, size_t* infoLogSize) {
  return logSize(compiler, &nvPTXCompiler::infoLog, infoLogSize);
}

nvPTXCompileResult nvPTXCompilerGetInfoLog(nvPTXCompilerHandle compiler, char* infoLog) {
  return copyLog(compiler, &nvPTXCompiler::infoLog, infoLog);
}

nvPTXCompileResult nvPTXCompilerSetFlowCallback(nvPTXCompilerHandle compiler, int (*callback)(void*, void*),
                                                void* payload) {
  if (!compiler) return NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE;
  if (!callback) return NVPTXCOMPILE_ERROR_INVALID_INPUT;
  compiler->callback = callback;
  compiler->payload = payload;
  return NVPTXCOMPILE_SUCCESS;
}
