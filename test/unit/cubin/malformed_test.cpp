#include <random>
#include <string>

#include <doctest/doctest.h>

#include "sample.h"
#include "support/check.h"

using namespace orias;
using namespace orias::cubin;
using orias::cubin::test::sampleModule;

namespace {

/// Reads a damaged file, which must give an error or a module.
bool survives(std::span<const std::byte> file) {
  try {
    read(file);
    readAttributes(file);
    return true;
  } catch (const Error&) {
    return true;
  }
}

} // namespace

TEST_CASE("files that are not cubins") {
  CHECK_THROWS_AS(read({}), Error);
  const std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n and so on, long enough for a header of ELF";
  CHECK_THROWS_AS(read(std::as_bytes(std::span(text))), Error);
  auto other = write(sampleModule(90));
  other[18] = std::byte{62}; // x86-64
  CHECK_THROWS_AS(read(other), Error);
}

TEST_CASE("truncated files") {
  const auto file = write(sampleModule(90));
  for (std::size_t size = 0; size < file.size(); size += size < 64 ? 1 : 37)
    CHECK(survives(std::span(file).first(size)));
  CHECK_THROWS_AS(read(std::span(file).first(file.size() / 2)), Error);
}

TEST_CASE("files with changed bytes") {
  for (unsigned chip : {75U, 90U}) {
    const auto file = write(sampleModule(chip));
    std::mt19937 random(chip);
    for (int round = 0; round < 3000; ++round) {
      auto damaged = file;
      const auto changes = 1 + random() % 4;
      for (unsigned i = 0; i < changes; ++i) {
        // Half of the changes are in the headers of the file and of its sections, where they have most effect.
        const std::size_t headers = file.size() / 3;
        const std::size_t at = random() % 2 ? random() % file.size() : file.size() - 1 - random() % headers;
        damaged[at] = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random() & 0xff);
      }
      CHECK(survives(damaged));
    }
  }
}
