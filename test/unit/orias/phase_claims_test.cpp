// Each phase returns whether it changed the function. The text of the function shows whether that is so.

#include "ori/print.h"
#include "orias/compilation.h"
#include "orias/orias.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

using namespace orias;

namespace {

/// The phases whose claim differs from the texts of the functions of a program, as "number name function".
class ClaimCheck {
 public:
  void observe(const phases::PhaseInfo& phase, const ori::Function& function, bool isChanged) {
    std::string now = ori::print(function);
    const auto [before, isFirst] = textOf_.try_emplace(function.name(), now); // first: the text before is unknown
    if (!isFirst) {
      ++checked_;
      if ((before->second != now) != isChanged)
        faults_.push_back(std::string(phase.number) + " " + std::string(phase.name) + " " + function.name());
    }
    before->second = std::move(now);
  }

  const std::vector<std::string>& faults() const { return faults_; }
  std::size_t checked() const { return checked_; }

 private:
  std::map<std::string, std::string> textOf_;
  std::vector<std::string> faults_;
  std::size_t checked_ = 0;
};

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(ORIAS_SOURCE_DIR) + "/test/corpus/handwritten"))
    if (entry.path().extension() == ".ptx") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

template <typename Observer> void compile(const std::filesystem::path& path, Observer&& observer) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const Input input{path.filename().string(), text};
  const Options options;
  Compilation compilation(std::span(&input, 1), options);
  compilation.observePhases(observer);
  compilation.run();
}

} // namespace

TEST_CASE("a phase says that it changed a function exactly if the function's text has changed") {
  std::size_t checked = 0;
  for (const std::filesystem::path& path : corpus()) {
    ClaimCheck check;
    compile(path, [&](const phases::PhaseInfo& phase, ori::Function& function, bool isChanged) {
      check.observe(phase, function, isChanged);
    });
    for (const std::string& fault : check.faults())
      FAIL_CHECK(path.filename().string() << ": " << fault);
    checked += check.checked();
  }
  CHECK(checked > 1000);
}

TEST_CASE("a wrong claim of a phase is found") {
  const std::vector<std::filesystem::path> files = corpus();
  REQUIRE_FALSE(files.empty());
  ClaimCheck check;
  compile(files.front(), [&](const phases::PhaseInfo& phase, ori::Function& function, bool isChanged) {
    check.observe(phase, function, phase.number == "22" ? !isChanged : isChanged);
  });
  REQUIRE_FALSE(check.faults().empty());
  CHECK(check.faults().front().starts_with("22 OriLoopUnrolling "));
}
