#include "test/unit/c_api/kernel.h"
#include "tools/c_api/orias_c.h"

#include <atomic>
#include <cstring>
#include <doctest/doctest.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

struct Free {
  void operator()(orias_result* result) const { orias_result_free(result); }
};

struct Outcome {
  orias_status status;
  std::unique_ptr<orias_result, Free> result;
  std::string text(orias_text which) const { return orias_result_text(result.get(), which, nullptr); }
};

Outcome assemble(std::string_view ptx, std::vector<const char*> options) {
  orias_result* result = nullptr;
  const orias_status status = orias_assemble(ptx.data(), ptx.size(), options.data(), options.size(), &result);
  return {status, std::unique_ptr<orias_result, Free>(result)};
}

} // namespace

TEST_CASE("the C interface gives the cubin and the texts that options ask for") {
  const Outcome done = assemble(kKernel, {"-arch=sm_90", "--listing", "--remarks=-", "-v"});
  REQUIRE(done.status == ORIAS_OK);
  std::size_t bytes = 0;
  const void* cubin = orias_result_cubin(done.result.get(), &bytes);
  REQUIRE(bytes > 64);
  CHECK(std::memcmp(cubin, "\177ELF", 4) == 0);
  CHECK(done.text(ORIAS_TEXT_LISTING).find("STG.E") != std::string::npos);
  CHECK(done.text(ORIAS_TEXT_USAGE).find("Compiling entry function 'store' for 'sm_90'") != std::string::npos);
  CHECK_NOTHROW(nlohmann::json::parse(done.text(ORIAS_TEXT_REMARKS)));
  CHECK(done.text(ORIAS_TEXT_KERNEL_INFO).empty());
  const auto statistics = nlohmann::json::parse(done.text(ORIAS_TEXT_STATISTICS));
  REQUIRE(statistics["functions"].size() == 1);
  CHECK(statistics["functions"][0]["name"] == "store");
  CHECK(statistics["functions"][0]["registers"].get<int>() >= 4);
  CHECK(orias_result_message_count(done.result.get()) == 0);
}

TEST_CASE("the C interface names the line and column of an error") {
  std::string wrong(kKernel);
  wrong.replace(wrong.find("mov.u32"), 7, "foo.u32");
  const Outcome done = assemble(wrong, {});
  REQUIRE(done.status == ORIAS_INPUT_ERRORS);
  CHECK(orias_result_cubin(done.result.get(), nullptr) == nullptr);
  REQUIRE(orias_result_message_count(done.result.get()) >= 1);
  orias_message message;
  REQUIRE(orias_result_message(done.result.get(), 0, &message) == ORIAS_OK);
  CHECK(message.severity == ORIAS_ERROR);
  CHECK(std::string(message.input) == "<input>");
  CHECK(message.line == 7);
  CHECK(message.column == 3);
  CHECK(done.text(ORIAS_TEXT_DIAGNOSTICS).find("<input>:7:3: error: ") == 0);
  CHECK(orias_result_message(done.result.get(), 1000, &message) == ORIAS_INVALID_ARGUMENT);
}

TEST_CASE("the C interface refuses options that make no sense without files") {
  for (const char* option : {"--output-file=x.cubin", "--listing=x.sass", "--reproduce=x", "--report=x.html",
                             "--list-knobs", "x.ptx", "--nonsense", "-arch=sm_12", "--knob=Nonsense=1"}) {
    CAPTURE(option);
    const Outcome done = assemble(kKernel, {option});
    CHECK(done.status == ORIAS_OPTION_ERRORS);
    CHECK(orias_result_message_count(done.result.get()) == 1);
  }
}

TEST_CASE("-Werror of the C interface makes errors of warnings on options, too") {
  CHECK(assemble(kKernel, {"--maxrregcount=300"}).status == ORIAS_OK);
  const Outcome done = assemble(kKernel, {"--maxrregcount=300", "-Werror"});
  CHECK(done.status == ORIAS_INPUT_ERRORS);
  CHECK(orias_result_cubin(done.result.get(), nullptr) == nullptr);
}

TEST_CASE("null pointers are invalid arguments") {
  orias_result* result = nullptr;
  CHECK(orias_assemble(nullptr, 0, nullptr, 0, &result) == ORIAS_INVALID_ARGUMENT);
  CHECK(orias_assemble("x", 1, nullptr, 1, &result) == ORIAS_INVALID_ARGUMENT);
  CHECK(orias_assemble("x", 1, nullptr, 0, nullptr) == ORIAS_INVALID_ARGUMENT);
  CHECK(orias_assemble_inputs(nullptr, 1, nullptr, 0, &result) == ORIAS_INVALID_ARGUMENT);
  CHECK(result == nullptr);
  CHECK(orias_result_text(nullptr, ORIAS_TEXT_LISTING, nullptr) == nullptr);
  CHECK(orias_result_message_count(nullptr) == 0);
  orias_result_free(nullptr);
}

TEST_CASE("eight threads assemble at the same time, and get the same bytes") {
  std::string wrong(kKernel);
  wrong.replace(wrong.find("mov.u32"), 7, "foo.u32");
  const Outcome once = assemble(kKernel, {"-arch=sm_90"});
  std::size_t bytes = 0;
  const void* cubin = orias_result_cubin(once.result.get(), &bytes);
  std::atomic<int> different = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const Outcome good = assemble(kKernel, {"-arch=sm_90"});
        std::size_t size = 0;
        const void* other = orias_result_cubin(good.result.get(), &size);
        different += size != bytes || std::memcmp(other, cubin, bytes) != 0;
        different += assemble(wrong, {"-arch=sm_90"}).status != ORIAS_INPUT_ERRORS;
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  CHECK(different == 0);
}

TEST_CASE("the library says its version") {
  CHECK(std::string(orias_version()).find('.') != std::string::npos);
  CHECK(orias_c_api_version() == ORIAS_C_API_VERSION);
  std::size_t count = 0;
  const char* const* versions = orias_ptx_versions(&count);
  REQUIRE(count > 0);
  CHECK(std::string(versions[count - 1]) == "9.0");
}
