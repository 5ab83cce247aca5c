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
