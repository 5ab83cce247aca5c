// The results of NVIDIA's library (13.0.88) in the same cases; test/peers/nvptxcompiler compares both completely.

#include "tools/c_api/nvPTXCompiler.h"
#include "test/unit/c_api/kernel.h"

#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

class Compiler {
 public:
  explicit Compiler(std::string_view ptx) {
    REQUIRE(nvPTXCompilerCreate(&handle_, ptx.size(), ptx.data()) == NVPTXCOMPILE_SUCCESS);
  }
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;
  ~Compiler() { nvPTXCompilerDestroy(&handle_); }

  nvPTXCompileResult compile(std::vector<const char*> options) {
    return nvPTXCompilerCompile(handle_, static_cast<int>(options.size()), options.data());
  }
  nvPTXCompilerHandle get() const { return handle_; }

  std::string errorLog() const { return log(nvPTXCompilerGetErrorLogSize, nvPTXCompilerGetErrorLog); }
  std::string infoLog() const { return log(nvPTXCompilerGetInfoLogSize, nvPTXCompilerGetInfoLog); }

 private:
  template <typename Size, typename Text> std::string log(Size size, Text text) const {
    std::size_t bytes = 0;
    REQUIRE(size(handle_, &bytes) == NVPTXCOMPILE_SUCCESS);
    std::string out(bytes + 1, '#');
    REQUIRE(text(handle_, out.data()) == NVPTXCOMPILE_SUCCESS);
    if (bytes == 0) return {};
    CHECK(out[bytes - 1] == '\0');
    CHECK(out[bytes] == '#');
    return out.substr(0, bytes - 1);
  }

  nvPTXCompilerHandle handle_ = nullptr;
};

} // namespace

TEST_CASE("nvPTXCompiler gives a cubin, and what -v prints") {
  Compiler compiler(kKernel);
  std::size_t size = 0;
  CHECK(nvPTXCompilerGetCompiledProgramSize(compiler.get(), &size) ==
        NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE);
  REQUIRE(compiler.compile({"--gpu-name", "sm_90", "--verbose", "-o", "ignored.cubin"}) == NVPTXCOMPILE_SUCCESS);
  REQUIRE(nvPTXCompilerGetCompiledProgramSize(compiler.get(), &size) == NVPTXCOMPILE_SUCCESS);
  std::vector<char> program(size);
  REQUIRE(nvPTXCompilerGetCompiledProgram(compiler.get(), program.data()) == NVPTXCOMPILE_SUCCESS);
  CHECK(std::memcmp(program.data(), "\177ELF", 4) == 0);
  CHECK(compiler.errorLog().empty());
  CHECK(compiler.infoLog().find("ptxas info    : Compiling entry function 'store' for 'sm_90'") != std::string::npos);
}

TEST_CASE("nvPTXCompiler's error log names lines as ptxas does") {
  std::string wrong(kKernel);
  wrong.replace(wrong.find("mov.u32"), 7, "foo.u32");
  Compiler compiler(wrong);
  CHECK(compiler.compile({"-arch=sm_90"}) == NVPTXCOMPILE_ERROR_COMPILATION_FAILURE);
  CHECK(compiler.errorLog().find("ptxas application ptx input, line 7; error   : ") == 0);
  std::size_t size = 0;
  CHECK(nvPTXCompilerGetCompiledProgramSize(compiler.get(), &size) ==
        NVPTXCOMPILE_ERROR_COMPILER_INVOCATION_INCOMPLETE);
}

TEST_CASE("nvPTXCompiler has a result of its own for PTX that is too new") {
  std::string newer(kKernel);
  newer.replace(newer.find("8.0"), 3, "9.9");
  CHECK(Compiler(newer).compile({"-arch=sm_90"}) == NVPTXCOMPILE_ERROR_UNSUPPORTED_PTX_VERSION);
}

TEST_CASE("nvPTXCompiler without an architecture compiles for sm_75") {
  Compiler compiler(kKernel);
  CHECK(compiler.compile({}) == NVPTXCOMPILE_ERROR_COMPILATION_FAILURE);
  std::string older(kKernel);
  older.replace(older.find("sm_90"), 5, "sm_75");
  CHECK(Compiler(older).compile({}) == NVPTXCOMPILE_SUCCESS);
}

TEST_CASE("nvPTXCompiler compiles no code for a virtual architecture") {
  Compiler compiler(kKernel);
  CHECK(compiler.compile({"-arch=compute_90"}) == NVPTXCOMPILE_ERROR_COMPILATION_FAILURE);
  CHECK(compiler.errorLog().empty());
}

TEST_CASE("nvPTXCompiler can be cancelled, and called again") {
  Compiler compiler(kKernel);
  int calls = 0;
  auto count = [](void* payload, void*) { return ++*static_cast<int*>(payload) == 1 ? 1 : 0; };
  REQUIRE(nvPTXCompilerSetFlowCallback(compiler.get(), count, &calls) == NVPTXCOMPILE_SUCCESS);
  CHECK(compiler.compile({"-arch=sm_90"}) == NVPTXCOMPILE_ERROR_CANCELLED);
  CHECK(compiler.compile({"-arch=sm_90"}) == NVPTXCOMPILE_SUCCESS);
}

TEST_CASE("nvPTXCompiler refuses null handles and arguments") {
  nvPTXCompilerHandle handle = nullptr;
  std::size_t size = 0;
  CHECK(nvPTXCompilerCreate(nullptr, 1, "x") == NVPTXCOMPILE_ERROR_INVALID_INPUT);
  CHECK(nvPTXCompilerCreate(&handle, 0, "") == NVPTXCOMPILE_ERROR_INVALID_INPUT);
  CHECK(nvPTXCompilerCompile(nullptr, 0, nullptr) == NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE);
  CHECK(nvPTXCompilerGetErrorLogSize(nullptr, &size) == NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE);
  CHECK(nvPTXCompilerDestroy(&handle) == NVPTXCOMPILE_ERROR_INVALID_COMPILER_HANDLE);
  Compiler compiler(kKernel);
  CHECK(nvPTXCompilerCompile(compiler.get(), 1, nullptr) == NVPTXCOMPILE_ERROR_INVALID_INPUT);
  CHECK(nvPTXCompilerGetInfoLog(compiler.get(), nullptr) == NVPTXCOMPILE_ERROR_INVALID_INPUT);
}

TEST_CASE("nvPTXCompiler lists the versions of PTX") {
  int count = 0;
  REQUIRE(nvPTXCompilerGetNumSupportedVersions(&count) == NVPTXCOMPILE_SUCCESS);
  REQUIRE(count > 0);
  std::vector<int[2]> versions(static_cast<std::size_t>(count));
  REQUIRE(nvPTXCompilerGetSupportedVersions(versions.data()) == NVPTXCOMPILE_SUCCESS);
  CHECK(versions.back()[0] == 9);
  CHECK(versions.back()[1] == 0);
}
