#include "orias/orias.h"
#include "support/check.h"
#include "tools/common/files.h"
#include "tools/lab/job_files.h"
#include "tools/lab/job_processes.h"
#include "tools/lab/plan.h"
#include "tools/lab/render.h"
#include "tools/lab/store.h"
#include "tools/lab/tune.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unistd.h>

using namespace orias;
using namespace orias::lab;

namespace {

namespace fs = std::filesystem;

constexpr const char* kPtx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 p)
{
  .reg .b64 %a;
  .reg .b32 %r;
  ld.param.u64 %a, [p];
  ld.global.u32 %r, [%a];
  add.u32 %r, %r, 5;
  st.global.u32 [%a], %r;
  ret;
}
)";

constexpr const char* kLaunch = R"({"file": "add.ptx", "kernel": "add", "grid": 1, "block": 1,
  "buffers": [{"name": "x", "type": "u32", "count": 1, "init": "7"}], "arguments": [{"buffer": "x"}]})";

/// A temporary folder with one kernel and its launch.
class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("orias-lab-test-{}", ::getpid())) {
    fs::create_directories(path_);
    write("add.ptx", kPtx);
    write("add.json", kLaunch);
  }
  ~Folder() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, std::string_view text) const { tools::writeWholeFile(file(name), text); }
  Plan plan(const std::string& json) const { return parsePlan(json, file("plan.json")); }
  Job job() const {
    Job job;
    job.ptxFile = file("add.ptx");
    job.launchFile = file("add.json");
    job.chip = "sm_90";
    return job;
  }

 private:
  fs::path path_;
};

std::string errorOf(const Folder& folder, const std::string& json) {
  try {
    folder.plan(json);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a plan expands to the defaults, each value alone, phases left out, pairs swapped, and ptxas") {
  const Folder folder;
  const Plan plan = folder.plan(R"({"kernels": ["*.json"], "chips": ["sm_80", "sm_90"], "options": [["-O3"], ["-O1"]],
    "knobs": {"values": {"SchedReuse": [false], "PreSchedRegisterTarget": [32, 64]}}, "without": ["63"],
    "orders": [["49", "50"]], "ptxas": true})");
  const std::vector<Job> jobs = expand(plan);
  CHECK(jobs.size() == 2 * 2 * (1 + 3 + 1 + 1 + 1));
  CHECK(jobs[0].knobs.empty());
  CHECK(jobs[0].launchFile == folder.file("add.json"));
  CHECK(jobs[0].ptxFile == folder.file("add.ptx"));
  CHECK(expand(folder.plan(R"({"kernels": ["./add.json"]})"))[0].ptxFile == folder.file("add.ptx"));
  CHECK(jobs[1].knobs == std::vector<std::string>{"PreSchedRegisterTarget=32"});
  CHECK(jobs[3].knobs == std::vector<std::string>{"SchedReuse=0"});
  CHECK(jobs[4].disabled == std::vector<std::string>{"63"});
  CHECK(jobs[5].swapped == std::vector<std::string>{"49", "50"});
  CHECK(jobs[6].assembler == Assembler::Ptxas);
}

TEST_CASE("a grid has each combination, a random search the same ones for a seed") {
  const Folder folder;
  const std::string knobs = R"("values": {"SchedReuse": [0, 1], "PreSchedRegisterTarget": [16, 32, 64]}})";
  const Plan grid = folder.plan(R"({"kernels": ["add.ptx"], "knobs": {"search": "grid", )" + knobs + "}");
  CHECK(expand(grid).size() == 1 + 6); // the defaults, and 2 times 3 combinations
  const auto random = [&](unsigned seed) {
    return knobSettings(folder.plan(fmt::format(
        R"({{"kernels": ["add.ptx"], "knobs": {{"search": "random", "count": 8, "seed": {}, {}}})", seed, knobs)));
  };
  CHECK(random(1).size() == 9);
  CHECK(random(1) == random(1));
  CHECK(random(1) != random(2));
}

TEST_CASE("errors of a plan say where they are") {
  const Folder folder;
  CHECK(contains(errorOf(folder, R"({"kernels": ["none*.ptx"]})"), "kernels[0]"));
  CHECK(
      contains(errorOf(folder, R"({"kernels": ["add.ptx"], "knobs": {"values": {"SchedReus": [1]}}})"), "SchedReuse"));
  CHECK(contains(errorOf(folder, R"({"kernels": ["add.ptx"], "knobs": {"values": {"SchedReuse": [7]}}})"), "0 to 1"));
  CHECK(contains(errorOf(folder, R"({"kernels": ["add.ptx"], "knobs": {"search": "random"}})"), "count"));
  CHECK(contains(errorOf(folder, R"({"kernels": ["add.ptx"], "without": ["101"]})"), "without[0]")); // is needed
  CHECK(contains(errorOf(folder, R"({"kernels": ["add.ptx"], "chip": ["sm_90"]})"), "chip"));
  CHECK(
      contains(errorOf(folder, R"({"kernels": ["add.ptx"], "orders": [["22", "29"]]})"), "orders[0]")); // 23 is needed
  CHECK(contains(errorOf(folder, R"({"kernels": ["add.ptx"], "orders": [["22"]]})"), "two phases"));
}

TEST_CASE("results are known by the bytes of the inputs and by all options") {
  const Folder folder;
  const Job job = folder.job();
  CHECK(parseJob(writeJob(job)) == job);
  folder.write("same.ptx", kPtx);
  Job same = job;
  same.ptxFile = folder.file("same.ptx");
  CHECK(jobId(job, "1") == jobId(same, "1"));
  std::set<std::string> ids = {jobId(job, "1"), jobId(job, "2")};
  const auto differs = [&](auto&& change) {
    Job other = job;
    change(other);
    return ids.insert(jobId(other, "1")).second;
  };
  CHECK(ids.size() == 2);
  CHECK(differs([](Job& j) { j.chip = "sm_80"; }));
  CHECK(differs([](Job& j) { j.options = {"-O1"}; }));
  CHECK(differs([](Job& j) { j.knobs = {"SchedReuse=0"}; }));
  CHECK(differs([](Job& j) { j.disabled = {"63"}; }));
  CHECK(differs([](Job& j) { j.swapped = {"49", "50"}; }));
  CHECK(differs([](Job& j) { j.assembler = Assembler::Ptxas; }));
  CHECK(differs([](Job& j) { j.launchFile.clear(); }));
  folder.write("add.ptx", std::string(kPtx) + "// changed\n");
  CHECK(ids.insert(jobId(job, "1")).second);
}

TEST_CASE("a job is measured, and a cubin that computes something else is found to be wrong") {
  const Folder folder;
  const Job job = folder.job();
  const Measurement right = measure(job);
  CHECK(right.message == "");
  CHECK(right.state == State::Done);
  CHECK(right.cycles > 0);
  CHECK(right.fullMachineCycles > 0);
  REQUIRE(right.functions.size() == 1);
  CHECK(right.functions[0].registers > 2);
  CHECK(right.functions[0].codeBytes == right.functions[0].instructions * 16);
  // Equal code has equal hashes, regardless of the options.
  Job same = job, serial = job;
  same.knobs = {"LoopUnrollMinGain=20"};
  serial.knobs = {"SchedSerial=1"};
  CHECK(right.code != "");
  CHECK(measure(same).code == right.code);
  CHECK(measure(serial).code != right.code);

  std::string other = kPtx;
  other.replace(other.find("%r, 5"), 5, "%r, 6");
  const Result wrongCubin = assemble(other);
  Measurement wrong;
  measureLaunch(job, kPtx, wrongCubin.cubin, wrong);
  CHECK(wrong.state == State::Wrong);
  CHECK(contains(wrong.message, "x[0] is 13, not 12"));

  folder.write("add.ptx", "nonsense");
  CHECK(measure(job).state == State::Refused);
}

TEST_CASE("measurements survive the way through text and through a store") {
  const Folder folder;
  Job job = folder.job();
  const Measurement found = measure(job);
  const auto isEqual = [](const Measurement& a, const Measurement& b) {
    return writeMeasurement(a) == writeMeasurement(b);
  };
  CHECK(isEqual(parseMeasurement(writeMeasurement(found)), found));
  const std::string path = folder.file("results.db");
  {
    Store store(path);
    CHECK(!store.find("id").has_value());
    store.add("id", job, "1", found);
  }
  Store again(path);
  const auto kept = again.find("id");
  REQUIRE(kept.has_value());
  CHECK(isEqual(*kept, found));
  const std::vector<std::string> ids = {"id"};
  again.setPlan("plan", ids);
  again.setPlan("plan", ids);
  CHECK(again.query("SELECT count(*) AS n FROM plans").rows[0][0] == "1");
  CHECK_THROWS_AS(again.query("DELETE FROM jobs"), Error);
  CHECK_THROWS_AS(again.query("SELECT 1; SELECT 2"), Error);
  CHECK_THROWS_AS(Store(folder.file("none.db"), Store::Mode::ReadOnly), Error);
  CHECK_THROWS_AS(Store(folder.file("add.ptx")), Error);
}

TEST_CASE("tables are written as text, CSV and JSON") {
  const Store::Table table{
      {"name", "n"}, {{"a,\"b\"", "7"}, {"two\nlines", std::nullopt}}, {{false, true}, {false, false}}};
  CHECK(render(table, TableFormat::Csv) == "name,n\r\n\"a,\"\"b\"\"\",7\r\n\"two\nlines\",\r\n");
  CHECK(
      render(table, TableFormat::Json) ==
      "[\n {\n  \"name\": \"a,\\\"b\\\"\",\n  \"n\": 7\n },\n {\n  \"name\": \"two\\nlines\",\n  \"n\": null\n }\n]\n");
  CHECK(render(table, TableFormat::Text) == "name   n\na,\"b\"  7\ntwo\n");
}

TEST_CASE("jobs that crash, hang or answer cost only themselves") {
  const Folder folder;
  const auto program = [&](const std::string& name, std::string_view script) {
    folder.write(name, script);
    fs::permissions(folder.file(name), fs::perms::owner_all);
    return folder.file(name);
  };
  const auto outcome = [&](const std::string& path) {
    JobProcesses processes(path, 2);
    std::vector<Measurement> found;
    const auto keep = [&](std::size_t, const Measurement& m) { found.push_back(m); };
    Job job = folder.job();
    job.limits.seconds = 1;
    processes.start(0, job, keep);
    processes.finish(keep);
    REQUIRE(found.size() == 1);
    return found[0];
  };
  CHECK(outcome(program("hang", "#!/bin/sh\nsleep 1000\n")).state == State::OutOfTime);
  const Measurement crash = outcome(program("crash", "#!/bin/sh\nkill -SEGV $$\n"));
  CHECK(crash.state == State::Fault);
  CHECK(contains(crash.message, "signal 11"));
  Measurement answer;
  answer.state = State::Done;
  answer.cycles = 42;
  CHECK(outcome(program("answer", "#!/bin/sh\ncat >/dev/null\necho '" + writeMeasurement(answer) + "'\n")).cycles ==
        42);
  CHECK_THROWS_AS(outcome(folder.file("none")), Error);
}

TEST_CASE("results of job files are merged in any order, more than once, and with some missing") {
  const Folder folder;
  const Plan plan =
      folder.plan(R"({"kernels": ["add.json"], "knobs": {"values": {"PreSchedRegisterTarget": [8, 16, 24]}}})");
  const std::string root = folder.file("jobs");
  CHECK(writeJobFiles(plan, root, Engine::Slurm, "orias-lab") == 4);
  const std::string array = tools::readWholeFile(root + "/jobs.sh");
  CHECK(contains(array, "--array=0-3"));
  std::vector<std::string> ids;
  for (const fs::directory_entry& entry : fs::directory_iterator(root + "/jobs"))
    ids.push_back(entry.path().stem().string());
  std::ranges::sort(ids);
  REQUIRE(ids.size() == 4);

  Measurement answer;
  answer.state = State::Done;
  folder.write("answer", "#!/bin/sh\ncat >/dev/null\necho '" + writeMeasurement(answer) + "'\n");
  fs::permissions(folder.file("answer"), fs::perms::owner_all);
  const auto doJob = [&](const std::string& id) {
    doJobFile(folder.file("answer"), root + "/jobs/" + id + ".json", root + "/results/" + id + ".json");
  };
  Store store(folder.file("merged.db"));
  const auto counts = [&] {
    const Merged merged = mergeResults(root, store);
    return std::vector<std::size_t>{merged.added, merged.known, merged.missing.size()};
  };
  CHECK(counts() == std::vector<std::size_t>{0, 0, 4});
  doJob(ids[3]);
  doJob(ids[1]);
  CHECK(counts() == std::vector<std::size_t>{2, 0, 2});
  tools::writeWholeFile(root + "/results/" + ids[0] + ".json", std::string_view(R"({"version)"));
  tools::writeWholeFile(root + "/results/" + ids[2] + ".json", std::string_view(R"({"version": "0", "result": {}})"));
  const Merged merged = mergeResults(root, store);
  CHECK(merged.known == 2);
  CHECK(std::set<std::string>(merged.missing.begin(), merged.missing.end()) ==
        std::set<std::string>{ids[0] + ": not readable", ids[2] + ": of other programs"});
  fs::remove(root + "/results/" + ids[0] + ".json");
  fs::remove(root + "/results/" + ids[2] + ".json");
  for (const std::string& id : ids)
    doJob(id);
  CHECK(counts() == std::vector<std::size_t>{2, 2, 0});
  CHECK(store.query("SELECT count(*) FROM plans").rows[0][0] == "4");
}

TEST_CASE("a store of the first schema gets the columns that came later") {
  const Folder folder;
  const std::string path = folder.file("old.db");
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  const char* old =
      "CREATE TABLE jobs (id TEXT PRIMARY KEY, assembler TEXT NOT NULL, ptx TEXT NOT NULL, launch TEXT NOT NULL, "
      "chip TEXT NOT NULL, options TEXT NOT NULL, knobs TEXT NOT NULL, disabled TEXT NOT NULL, version TEXT "
      "NOT NULL, state TEXT NOT NULL, message TEXT NOT NULL, seconds REAL NOT NULL, kilobytes INTEGER NOT "
      "NULL, executed REAL, cycles REAL, full_cycles REAL, warps REAL);"
      "CREATE TABLE functions (job TEXT, name TEXT, kernel INTEGER, registers INTEGER, uniform_registers "
      "INTEGER, barriers INTEGER, instructions INTEGER, code_bytes INTEGER, shared_bytes INTEGER, frame_bytes "
      "INTEGER, spill_bytes INTEGER, PRIMARY KEY (job, name));"
      "CREATE TABLE plans (plan TEXT, position INTEGER, job TEXT, PRIMARY KEY (plan, position));"
      "INSERT INTO jobs VALUES ('a','orias','k.ptx','','sm_90','','','','1','done','',1,1,1,2,3,4);"
      "PRAGMA user_version=1;";
  CHECK(sqlite3_exec(database, old, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  Store store(path);
  REQUIRE(store.find("a").has_value());
  CHECK(store.find("a")->code == "");
  store.add("b", folder.job(), "2", measure(folder.job()));
  CHECK(store.find("b")->code != "");
}

TEST_CASE("results has the jobs that a plan asked for last, not those of earlier programs") {
  const Folder folder;
  Store store(folder.file("versions.db"));
  Measurement found = measure(folder.job());
  store.add("old", folder.job(), "1", found);
  store.setPlan("p", std::vector<std::string>{"old"});
  store.add("new", folder.job(), "2", found);
  store.setPlan("p", std::vector<std::string>{"new"});
  CHECK(store.query("SELECT count(*) FROM jobs").rows[0][0] == "2");
  CHECK(store.query("SELECT count(*) FROM results").rows[0][0] == "1");
}

TEST_CASE("tuning searches knobs and options, and runs each code once") {
  const Folder folder;
  TuneOptions options;
  options.job = folder.job();
  options.kernel = "add";
  options.mostJobs = 6;
  options.knobs = {"SchedSerial", "LoopUnrollMinGain"};
  options.options = {"-O1", "-O2", "--maxrregcount=32"};
  options.program = ORIAS_LAB_PROGRAM;
  Store store(":memory:");
  const Tuned tuned = tune(options, store);
  CHECK(tuned.after <= tuned.before);
  CHECK(tuned.jobs < tuned.settings); // unrolling changes nothing in code without a loop
  CHECK(store.query("SELECT count(DISTINCT options) > 1 FROM jobs").rows[0][0] == "1");
  CHECK(
      store.query("SELECT max(n) FROM (SELECT count(*) AS n FROM jobs WHERE launch != '' AND code != '' GROUP BY code)")
          .rows[0][0] == "1");
  options.options = {"O1"};
  CHECK_THROWS_AS(tune(options, store), Error);
  options.options.clear();
  options.knobs = {"DumpRemat"}; // debugging knobs must be listed by name
  CHECK_NOTHROW(tune(options, store));
}

TEST_CASE("the objective of tuning counts only right results") {
  Measurement found;
  TuneOptions options;
  options.kernel = "add";
  found.cycles = 100;
  found.fullMachineCycles = 7;
  found.functions = {{.name = "add", .registers = 10}};
  found.state = State::Wrong;
  CHECK(objectiveOf(found, options) > 1e300);
  found.state = State::Done;
  CHECK(objectiveOf(found, options) == 100);
  options.objective = Objective::FullMachineCycles;
  CHECK(objectiveOf(found, options) == 7);
  options.objective = Objective::Registers;
  CHECK(objectiveOf(found, options) == doctest::Approx(10));
}
