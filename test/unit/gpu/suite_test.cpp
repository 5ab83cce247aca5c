// The runner of packed cases: files of cases, results on disk, and the processes that run them on the test driver.

#include "tools/common/files.h"
#include "tools/gpu/suite/case.h"
#include "tools/gpu/suite/options.h"
#include "tools/gpu/suite/plan.h"
#include "tools/gpu/suite/report.h"
#include "tools/gpu/suite/supervisor.h"

#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

using namespace orias;
using namespace orias::gpu;
using tools::ExitStatus;

namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("orias-suite-test-{}", getpid())) {
    fs::remove_all(path_);
    fs::create_directories(path_);
    setenv("FAKE_CUDA_LOG", path("log").c_str(), 1);
    setenv("FAKE_CUDA_DEVICES", "1", 1);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string path(const std::string& name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

std::vector<std::byte> bytesOf(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> words(std::initializer_list<std::uint32_t> values) {
  const std::vector<std::uint32_t> list(values);
  const auto bytes = std::as_bytes(std::span(list));
  return {bytes.begin(), bytes.end()};
}

/// A launch of a kernel of the test driver: addOne(data, n) with 4 elements.
Case caseOf(const std::string& name, const std::string& kernel, std::string family = "") {
  Case c;
  c.group = "tests";
  c.name = name;
  c.family = std::move(family);
  c.text = kernel + " of <nothing>";
  c.launch.kernel = kernel;
  launch::Buffer buffer;
  buffer.name = "data";
  buffer.elements = 4;
  buffer.initial = words({1, 2, 3, 4});
  c.launch.buffers.push_back(buffer);
  c.launch.arguments.resize(2);
  c.launch.arguments[0].buffer = 0;
  c.launch.arguments[1].bytes = words({4});
  c.memory = {words({2, 3, 4, 5})};
  c.candidates.push_back({"orias -O3", bytesOf("\177ELF of ours")});
  return c;
}

Plan planOf(const Folder& folder, std::vector<Case> cases, const char* chip = "sm_90") {
  PlanWriter writer(folder.path("cases"), "for tests", chip);
  for (Case& c : cases)
    writer.add(std::move(c));
  writer.finish();
  return readPlan(folder.path("cases"));
}

SuiteOptions optionsFor(const Folder& folder) {
  SuiteOptions options;
  options.library = ORIAS_FAKE_CUDA;
  options.out = folder.path("results");
  options.itemSeconds = 3;
  options.maxFamilyFailures = 2;
  return options;
}

/// "right wrong hung"
std::string outcomes(const Folder& folder) {
  std::string text;
  const ResultFile file(folder.path("results/results.jsonl"));
  for (const Result& result : file.all())
    text += std::string(text.empty() ? "" : " ") + outcomeName(result.outcome);
  return text;
}

std::size_t launches(const Folder& folder) {
  std::ifstream log(folder.path("log"));
  std::size_t count = 0;
  for (std::string line; std::getline(log, line);)
    count += line.starts_with("cuLaunchKernelEx");
  return count;
}

Result probed(const std::string& what, unsigned stall, unsigned table, Outcome outcome) {
  Result result;
  result.group = "latency";
  result.name = fmt::format("{} @{}", what, stall);
  result.candidate = "orias";
  result.outcome = outcome;
  result.probe = Probe{what, Probe::Kind::Stall, stall, table, 8};
  return result;
}

} // namespace

TEST_CASE("a file of cases gives the same cases again") {
  const Folder folder;
  Case c = caseOf("a", "addOne", "add");
  c.launch.cluster = launch::Dim3{2, 1, 1};
  c.launch.dynamicShared = 60000;
  c.launch.stops = "trap";
  c.launch.buffers[0].pointers.push_back({8, 0, -4});
  c.launch.buffers[0].expected = launch::Expectation{words({7}), {0.5, 0.25}};
  c.launch.variables.push_back({"v", launch::ElementType::F32, {words({1}), {}}});
  c.probe = Probe{"IADD3 -> FADD", Probe::Kind::Issue, 3, 5, 16};
  c.cycles = 0;
  c.repetitions = 9;
  writeCases(folder.path("x"), {c, caseOf("b", "k")});
  const std::vector<Case> read = readCases(folder.path("x"));
  REQUIRE(read.size() == 2);
  const Case& r = read[0];
  CHECK(r.name == "a");
  CHECK(r.family == "add");
  CHECK(r.launch.cluster == launch::Dim3{2, 1, 1});
  CHECK(r.launch.dynamicShared == 60000);
  CHECK(r.launch.stops == "trap");
  CHECK(r.launch.buffers[0].initial == c.launch.buffers[0].initial);
  CHECK(r.launch.buffers[0].pointers.at(0).offset == -4);
  CHECK(r.launch.buffers[0].expected->tolerance.relative == 0.25);
  CHECK(r.launch.arguments[0].buffer == 0);
  CHECK(r.launch.arguments[1].bytes == words({4}));
  CHECK(r.launch.variables.at(0).type == launch::ElementType::F32);
  CHECK(r.candidates.at(0).cubin == c.candidates[0].cubin);
  CHECK(r.memory == c.memory);
  CHECK(r.probe->kind == Probe::Kind::Issue);
  CHECK(r.probe->table == 5);
  CHECK(r.cycles == 0);
  CHECK(r.repetitions == 9);
  CHECK(read[1].name == "b");
  CHECK(!read[1].probe);
}

TEST_CASE("half a file of cases is an error") {
  const Folder folder;
  writeCases(folder.path("x"), {caseOf("a", "addOne")});
  const std::string whole = tools::readWholeFile(folder.path("x"));
  tools::writeWholeFile(folder.path("x"), std::string_view(whole).substr(0, whole.size() / 2));
  CHECK_THROWS_AS(readCases(folder.path("x")), Error);
}

TEST_CASE("a wrong result, a fault, a hang and a crash do not keep the rest from running") {
  const Folder folder;
  const Plan plan =
      planOf(folder, {caseOf("good", "addOne"), caseOf("does nothing", "nothing"), caseOf("faults", "stop"),
                      caseOf("hangs", "hang"), caseOf("crashes", "crash"), caseOf("good again", "addOne")});
  CHECK(runSuite(plan, optionsFor(folder)) == ExitStatus::InputErrors);
  CHECK(outcomes(folder) == "right wrong fault hung crashed right");
  const std::string page = tools::readWholeFile(folder.path("results/report.html"));
  CHECK(page.find("tests/hangs/orias -O3</b>: hung: not done after 3 seconds") != std::string::npos);
  CHECK(page.find("data[0] is 1, and the PTX interpreter has 2; 4 elements differ") != std::string::npos);
  CHECK(page.find("nothing of &lt;nothing&gt;") != std::string::npos);
  CHECK(page.find("Fake GPU (sm_90)") != std::string::npos);
  CHECK(tools::readWholeFile(folder.path("results/report.json")).find("\"hung\": 1") != std::string::npos);
}

TEST_CASE("results that are there already are not run again") {
  const Folder folder;
  const Plan plan = planOf(folder, {caseOf("a", "addOne"), caseOf("b", "addOne"), caseOf("c", "addOne")});
  SuiteOptions options = optionsFor(folder);
  CHECK(runSuite(plan, options) == ExitStatus::Done);
  CHECK(launches(folder) == 3);
  // A run that was interrupted in the middle of a line.
  const std::string file = folder.path("results/results.jsonl"), whole = tools::readWholeFile(file);
  tools::writeWholeFile(file, std::string_view(whole).substr(0, whole.size() - 10));
  CHECK(runSuite(plan, options) == ExitStatus::Done);
  CHECK(launches(folder) == 4);
  CHECK(outcomes(folder) == "right right right");
}

TEST_CASE("the rest of a family that faults is skipped") {
  const Folder folder;
  std::vector<Case> cases;
  for (const char* name : {"1", "2", "3", "4"})
    cases.push_back(caseOf(name, "stop", "trap"));
  cases.push_back(caseOf("5", "addOne", "add"));
  CHECK(runSuite(planOf(folder, std::move(cases)), optionsFor(folder)) == ExitStatus::InputErrors);
  CHECK(outcomes(folder) == "fault fault skipped skipped right");
}

TEST_CASE("a launch that must fault") {
  const Folder folder;
  Case c = caseOf("must", "stop");
  c.launch.stops = "trap";
  CHECK(runSuite(planOf(folder, {c, caseOf("next", "addOne")}), optionsFor(folder)) == ExitStatus::Done);
  CHECK(outcomes(folder) == "right right");
}

TEST_CASE("the time budget ends a run, and the same command continues it") {
  const Folder folder;
  const Plan plan = planOf(folder, {caseOf("a", "hang"), caseOf("b", "addOne")});
  SuiteOptions options = optionsFor(folder);
  options.itemSeconds = 100;
  options.minutes = 3.5 / 60; // three seconds are reserved for the report
  CHECK(runSuite(plan, options) == ExitStatus::Done);
  CHECK(outcomes(folder).empty());
  CHECK(tools::readWholeFile(folder.path("results/report.html")).find("out of time") != std::string::npos);
  options.minutes = 0;
  options.itemSeconds = 3;
  CHECK(runSuite(plan, options) == ExitStatus::InputErrors);
  CHECK(outcomes(folder) == "hung right");
}

TEST_CASE("without a device the suite skips") {
  const Folder folder;
  setenv("FAKE_CUDA_DEVICES", "0", 1);
  CHECK(runSuite(planOf(folder, {caseOf("a", "addOne")}), optionsFor(folder)) == ExitStatus::Skipped);
}

TEST_CASE("cubins for another chip are not run") {
  const Folder folder;
  CHECK(runSuite(planOf(folder, {caseOf("a", "addOne")}, "sm_80"), optionsFor(folder)) == ExitStatus::Skipped);
  CHECK(launches(folder) == 0);
}

TEST_CASE("the table is too short if the device needs more cycles") {
  std::vector<Result> results;
  const auto add = [&](const char* what, unsigned table, std::initializer_list<Outcome> byStall) {
    unsigned stall = 1;
    for (const Outcome outcome : byStall)
      results.push_back(probed(what, stall++, table, outcome));
  };
  using enum Outcome;
  add("short", 2, {Wrong, Wrong, Right, Right});
  add("exact", 3, {Wrong, Wrong, Right, Right});
  add("long", 4, {Wrong, Right, Right, Right});
  add("lucky", 4, {Right, Wrong, Wrong, Right}); // a correct result below a wrong one is ignored
  add("never", 2, {Wrong, Wrong, Wrong, Wrong});
  const std::vector<LatencyLine> lines = latencies(results);
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].found == 3.0);
  CHECK(lines[0].isShort);
  CHECK(lines[1].found == 3.0);
  CHECK(!lines[1].isShort);
  CHECK(lines[2].found == 2.0);
  CHECK(lines[3].found == 4.0);
  CHECK(!lines[3].isShort);
  CHECK(!lines[4].found);
  CHECK(lines[4].isShort);
  // Results with fewer cycles than the table may be wrong.
  CHECK(!results[0].isAlarm());
  CHECK(results[1].isAlarm());
  const std::string page = htmlPage(results, {});
  CHECK(page.find("the table is too short") != std::string::npos);
  CHECK(page.find("2 to spare") != std::string::npos);
}

TEST_CASE("the page says whether ptxas' cubin is right where ours is not") {
  std::vector<Result> results(4);
  for (Result& result : results) {
    result.group = "forms";
    result.outcome = Outcome::Wrong;
    result.memory = "12";
  }
  results[0].name = results[1].name = "doubtful";
  results[2].name = results[3].name = "ours";
  results[0].candidate = results[2].candidate = "orias -O3";
  results[1].candidate = results[3].candidate = "ptxas -O3";
  results[3].outcome = Outcome::Right;
  const std::string page = htmlPage(results, {});
  const std::size_t ours = page.find("<b>forms/ours/orias -O3</b>: wrong: ; ptxas' cubin is right");
  const std::size_t doubtful = page.find("<b>forms/doubtful/orias -O3</b>: wrong: ; ptxas' cubin has the same outcome");
  REQUIRE(ours != std::string::npos);
  REQUIRE(doubtful != std::string::npos);
  CHECK(ours < doubtful);
}

TEST_CASE("times of two compilers are set against each other") {
  std::vector<Result> results(3);
  for (Result& result : results)
    result.group = "launches";
  results[0].name = results[1].name = "a";
  results[0].candidate = "orias -O3";
  results[0].least = 3;
  results[1].candidate = "ptxas -O3";
  results[1].least = 2;
  results[2].name = "b";
  results[2].candidate = "orias -O3";
  results[2].least = 1;
  const std::vector<TimeLine> lines = times(results);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].name == "launches/a");
  CHECK(lines[0].ratio() == doctest::Approx(1.5));
  CHECK(!lines[0].netRatio());
  // The constant cost of a launch must be subtracted.
  Result trivial = results[0];
  trivial.group = "trivial";
  trivial.least = 1;
  results.push_back(trivial);
  results[0].least = 7;
  results[1].least = 4;
  CHECK(times(results).at(0).netRatio() == doctest::Approx(2));
  results[1].least = 1.5;
  CHECK(!times(results).at(0).netRatio());
  CHECK(htmlPage(results, {}).find("launches/a") != std::string::npos);
}

TEST_CASE("the suite's command line") {
  const auto parse = [](std::vector<std::string> line) { return parseSuiteCommand(line); };
  CHECK(parse({"d/cases"}).suite.out == "d/results");
  CHECK(parse({"--minutes", "9", "--out=o", "c"}).suite.minutes == 9);
  CHECK_THROWS_AS(parse({}), tools::UsageError);
  CHECK_THROWS_AS(parse({"a", "b"}), tools::UsageError);
  CHECK_THROWS_AS(parse({"--minutes=0", "a"}), tools::UsageError);
  const Folder folder;
  planOf(folder, {caseOf("a", "addOne")});
  const auto run = [](std::vector<std::string> line) { return runSuiteProgram(line); };
  CHECK(run({"--list", folder.path("cases")}) == ExitStatus::Done);
  CHECK(run({"--only", "test", folder.path("cases")}) == ExitStatus::UsageErrors);
  CHECK(run({"--only", "tests", "--library", ORIAS_FAKE_CUDA, folder.path("cases")}) == ExitStatus::Done);
  CHECK(run({"--only", "tests/a/ptxas", folder.path("cases")}) == ExitStatus::UsageErrors);
  CHECK(outcomes(folder) == "right");
  CHECK(run({"--extract", folder.path("x"), folder.path("cases")}) == ExitStatus::Done);
  CHECK(tools::readWholeFile(folder.path("x/tests_a_orias_-O3.cubin")) == "\177ELF of ours");
  CHECK(launch::readLaunchFile(folder.path("x/tests_a_orias_-O3.json")).buffers[0].expected->bytes ==
        words({2, 3, 4, 5}));
}
