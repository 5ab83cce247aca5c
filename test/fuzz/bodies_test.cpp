// Runs the bodies of the fuzzers on seeds from the examples, on random mutations of them, on the corpus of earlier
// fuzzing, and on every input that made one of them fail.

#include "encoder/cubin/cubin.h"
#include "orias/orias.h"
#include "support/check.h"
#include "test/fuzz/bodies.h"
#include "test/fuzz/mutate.h"

#include <algorithm>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <string>

using namespace orias;
using namespace orias::fuzz;
namespace fs = std::filesystem;

namespace {

Sample readFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> filesOf(const fs::path& folder) {
  std::vector<fs::path> files;
  if (fs::is_directory(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().filename() != "README.md") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

const fs::path kRoot = ORIAS_SOURCE_DIR;

struct Seeds {
  std::vector<Sample> ptx, ori, cubin, words;
};

/// The examples as PTX, as Ori before the first phase, as cubins, and as words.
const Seeds& seeds() {
  static const Seeds made = [] {
    Seeds all;
    for (const fs::path& path : filesOf(kRoot / "examples")) {
      if (path.extension() != ".ptx") continue;
      all.ptx.push_back(readFile(path));
      const std::string_view text(reinterpret_cast<const char*>(all.ptx.back().data()), all.ptx.back().size());
      Options options;
      options.phases.dumpAfter = {"0"};
      const Result result = assemble(text, options);
      REQUIRE_MESSAGE(result.status == Status::Ok, result.diagnostics);
      all.ori.emplace_back(result.phaseText.begin(), result.phaseText.end());
      const auto* bytes = reinterpret_cast<const std::uint8_t*>(result.cubin.data());
      all.cubin.emplace_back(bytes, bytes + result.cubin.size());
      for (const cubin::Function& function : cubin::read(result.cubin).functions) {
        const auto* code = reinterpret_cast<const std::uint8_t*>(function.code.data());
        all.words.emplace_back(code, code + function.code.size());
      }
    }
    return all;
  }();
  return made;
}

const std::vector<Sample>& seedsOf(std::string_view body) {
  if (body == "ptx") return seeds().ptx;
  if (body == "ori") return seeds().ori;
  if (body == "cubin") return seeds().cubin;
  return seeds().words;
}

/// Runs a body. Writes an input that makes it fail to a file, so that it can become a regression test.
void run(const NamedBody& body, const Sample& input, std::string_view what) {
  try {
    body.run(input);
  } catch (const std::exception& e) {
    const fs::path kept = fs::temp_directory_path() / fmt::format("orias-fuzz-{}.bin", body.name);
    std::ofstream(kept, std::ios::binary)
        .write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
    FAIL_CHECK(fmt::format("{}, {}: {} (input kept as {})", body.name, what, e.what(), kept.string()));
  }
}

/// The number of mutations: ORIAS_FUZZ_ROUNDS, or a default for a unit test.
unsigned rounds() {
  const char* text = std::getenv("ORIAS_FUZZ_ROUNDS");
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 300;
}

} // namespace

TEST_CASE("seeds") {
  for (const NamedBody& body : kBodies) {
    REQUIRE(!seedsOf(body.name).empty());
    for (const Sample& seed : seedsOf(body.name))
      run(body, seed, "seed");
  }
}

TEST_CASE("inputs that failed once") {
  for (const NamedBody& body : kBodies)
    for (const fs::path& path : filesOf(kRoot / "test/fuzz/regressions" / body.name))
      run(body, readFile(path), path.filename().string());
}

TEST_CASE("what the fuzzers found to be different") {
  for (const NamedBody& body : kBodies) {
    const std::vector<fs::path> corpus = filesOf(kRoot / "test/fuzz/corpus" / body.name);
    CHECK_MESSAGE(!corpus.empty(), body.name);
    for (const fs::path& path : corpus)
      run(body, readFile(path), path.filename().string());
  }
}

TEST_CASE("mutations of the seeds") {
  for (const NamedBody& body : kBodies) {
    std::mt19937_64 random(1);
    for (unsigned round = 0; round < rounds(); ++round)
      run(body, mutate(seedsOf(body.name), random), fmt::format("round {}", round));
  }
}
