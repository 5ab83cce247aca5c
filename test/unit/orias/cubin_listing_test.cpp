#include "encoder/cubin/cubin.h"
#include "encoder/cubin_code.h"
#include "encoder/listing.h"
#include "orias/orias.h"

#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

using namespace orias;

TEST_CASE("a cubin's listing says what the compilation's said") {
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ORIAS_SOURCE_DIR) + "/examples")) {
    if (entry.path().extension() != ".ptx") continue;
    CAPTURE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string ptx{std::istreambuf_iterator<char>(file), {}};
    Options options;
    options.wantListing = true;
    options.listingFormat = ListingFormat::Json;
    const Result result = assemble(ptx, options);
    REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
    const auto made = nlohmann::json::parse(result.listing);

    const cubin::Module module = cubin::read(result.cubin);
    REQUIRE(module.functions.size() == made.size());
    for (std::size_t f = 0; f < made.size(); ++f) {
      const encoder::FunctionListing listing =
          encoder::makeListing(module.functions[f], module, encoder::targetOf(module.abi));
      const auto read = nlohmann::json::parse(encoder::renderJson(listing, {}));
      for (const char* fact : {"name", "arch", "kernel", "instructions", "registers", "barriers", "sharedBytes",
                               "constantBytes", "frameBytes", "occupancy"})
        CHECK_MESSAGE(read[fact] == made[f][fact], fact);
      REQUIRE(read["code"].size() == made[f]["code"].size());
      for (std::size_t i = 0; i < read["code"].size(); ++i)
        for (const char* fact : {"offset", "word", "text", "label", "control", "padding", "uniformDatapath", "live"})
          CHECK_MESSAGE(read["code"][i].value(fact, nlohmann::json()) ==
                            made[f]["code"][i].value(fact, nlohmann::json()),
                        fact << " of " << made[f]["code"][i].dump());
    }
  }
}

TEST_CASE("a listing shows the addresses that are filled in after the phases") {
  // The shared memory of kernels is only known when all code is generated: -g, and functions that are not inlined.
  constexpr std::string_view kProgram = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p) {
  .shared .align 4 .b8 first[1024];
  .shared .align 4 .b8 second[1024];
  .reg .b32 %r<3>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  mov.u32 %r1, first;
  mov.u32 %r2, second;
  st.global.u32 [%rd1], %r1;
  st.global.u32 [%rd1+4], %r2;
  ret;
}
)";
  Options options;
  options.optLevel = 0;
  options.debugInfo = true;
  options.wantListing = true;
  options.listingFormat = ListingFormat::Json;
  const Result result = assemble(kProgram, options);
  REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
  const auto listed = nlohmann::json::parse(result.listing)[0];
  const auto& made = listed["code"];

  const cubin::Module module = cubin::read(result.cubin);
  REQUIRE(module.functions.size() == 1);
  const encoder::FunctionListing listing =
      encoder::makeListing(module.functions[0], module, encoder::targetOf(module.abi));
  const auto decoded = nlohmann::json::parse(encoder::renderJson(listing, {}));
  for (const char* fact : {"registers", "barriers", "sharedBytes", "occupancy"})
    CHECK_MESSAGE(decoded[fact] == listed[fact], fact);
  CHECK(listed["sharedBytes"] == 2048);
  CHECK(result.statistics.functions.at(0).sharedBytes == 2048);
  const auto& read = decoded["code"];
  REQUIRE(read.size() == made.size());
  bool hasAddress = false;
  for (std::size_t i = 0; i < read.size(); ++i) {
    for (const char* fact : {"offset", "word", "text"})
      CHECK_MESSAGE(read[i][fact] == made[i][fact], made[i].dump());
    const std::string text = made[i]["text"];
    hasAddress |= text.starts_with("MOV R") && text.ends_with(", 0x400");
  }
  CHECK(hasAddress);
}
