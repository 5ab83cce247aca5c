#include "test/differential/batch.h"

#include "support/check.h"
#include "tools/check_each/check_uniform.h"
#include "tools/launch/write.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

namespace orias::differential {

using engines::Outcome;
using engines::Verdict;

namespace {

/// Adds the time of a scope to a sum.
class Clock {
 public:
  Clock(Times& times, Work work) : sum_(times[static_cast<std::size_t>(work)]) {}
  ~Clock() { sum_ += std::chrono::steady_clock::now() - start_; }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

 private:
  std::chrono::nanoseconds& sum_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

launch::RunOptions limits() {
  launch::RunOptions options;
  options.instructionBudget = 50'000'000;
  return options;
}

/// A program and its results in the engines.
struct Job {
  generator::Program program;
  std::string text;
  ProgramResult result;
  /// The expected memory: that of the interpreter.
  std::optional<launch::Device> wanted;

  Job(const Case& which, std::string_view chip) : program(generator::generate(which.seed, *which.profile)) {
    text = generator::moduleText({&program, 1}, chip);
    result.name = program.launch.name;
  }
  void note(const std::string& who, const Verdict& verdict) {
    if (!verdict.isGood()) result.findings.push_back({verdict.outcome, who, verdict.reason});
  }
  /// The first engine that can run the program provides the expected memory.
  void judge(const std::string& who, launch::Device&& device) {
    if (!wanted)
      wanted.emplace(std::move(device));
    else
      note(who, engines::compare(device, *wanted));
  }
};

void emulate(Job& job, const std::string& who, std::span<const std::byte> cubin, const Settings& settings) {
  launch::Device device(job.program.launch);
  launch::RunOptions options = limits();
  options.timing = settings.timing;
  const Verdict verdict = engines::emulate(cubin, device, options);
  if (verdict.isGood())
    job.judge(who, std::move(device));
  else
    job.note(who + ", run", verdict);
}

void assembleAndRun(Job& job, const Variant& variant, const Settings& settings, Times& times) {
  const std::string who = variant.name.empty() ? "ours" : "ours " + variant.name;
  engines::Compiled compiled;
  {
    const Clock clock(times, Work::Assemble);
    compiled = engines::assemble(job.text, variant.options);
  }
  job.note(who, compiled.verdict);
  if (!settings.run || !compiled.verdict.isGood()) return;
  const Clock clock(times, Work::Emulate);
  emulate(job, who, compiled.cubin, settings);
}

/// Runs one of the checkers of tools/check_each. `check` converts its verdict to a line, which is empty if it is good.
template <typename Check> void checkPhases(Job& job, const std::string& who, const Variant& variant, Check check) {
  check_each::CheckOptions options;
  options.assemble = variant.options;
  options.run = limits();
  const std::string name = variant.name.empty() ? who : who + " " + variant.name;
  try {
    const std::string wrong = check(options);
    if (!wrong.empty()) job.note(name, {Outcome::Mismatch, wrong});
  } catch (const std::exception& error) {
    const std::string text = error.what();
    const bool isUnsupported =
        text.find("not supported") != std::string::npos || text.find("unsupported") != std::string::npos;
    job.note(name, {isUnsupported ? Outcome::Unsupported : Outcome::Rejected, text.substr(0, text.find('\n'))});
  }
}

void checkEach(Job& job, const Variant& variant, Times& times) {
  const Clock clock(times, Work::EachPhase);
  checkPhases(job, "each phase", variant, [&](const check_each::CheckOptions& options) -> std::string {
    const check_each::Verdict verdict = check_each::checkEach(job.text, job.program.launch, options);
    if (verdict.ok) return "";
    const std::string first = verdict.text.substr(verdict.text.find('\n') + 1);
    return fmt::format("{}: {}", verdict.phase, first.substr(0, first.find('\n')));
  });
}

void checkUniform(Job& job, const Variant& variant, Times& times) {
  const Clock clock(times, Work::EachPhase);
  checkPhases(job, "uniform", variant, [&](const check_each::CheckOptions& options) {
    const check_each::UniformVerdict verdict = check_each::checkUniform(job.text, job.program.launch, options);
    if (verdict.skipped > 0) job.note("uniform", {Outcome::Unsupported, verdict.whySkipped});
    return verdict.text.substr(0, verdict.text.find('\n'));
  });
}

/// If a difference disappears when ptxas does not optimize, adds a note: the interpreter is not the cause.
void tryUnoptimized(Job& job, const Settings& settings, Times& times) {
  Finding* last = job.result.findings.empty() ? nullptr : &job.result.findings.back();
  if (!last || !job.wanted || !last->who.starts_with("ptxas") || !isFailure(last->outcome)) return;
  engines::Compiled plain;
  {
    const Clock clock(times, Work::Ptxas);
    plain = engines::assembleWithPtxas(job.text, fmt::format("-arch={} -O0", settings.arch));
  }
  if (!plain.verdict.isGood()) return;
  const Clock clock(times, Work::EmulatePtxas);
  launch::Device device(job.program.launch);
  if (engines::emulate(plain.cubin, device, limits()).isGood() && engines::compare(device, *job.wanted).isGood())
    last->reason += " (right at ptxas -O0)";
}

/// Makes one call for all programs, because starting a call takes longer than compiling a kernel.
void runPtxas(std::deque<Job>& jobs, const Settings& settings, Times& times) {
  const std::string options = fmt::format("-arch={} {}", settings.arch, settings.ptxasOptions);
  std::vector<generator::Program> programs;
  for (Job& job : jobs)
    programs.push_back(job.program);
  engines::Compiled all;
  {
    const Clock clock(times, Work::Ptxas);
    all = engines::assembleWithPtxas(generator::moduleText(programs, settings.arch), options);
  }
  for (Job& job : jobs) {
    engines::Compiled alone;
    if (!all.verdict.isGood()) { // find the program that fails
      const Clock clock(times, Work::Ptxas);
      alone = engines::assembleWithPtxas(job.text, options);
      job.note("ptxas", alone.verdict);
      if (!alone.verdict.isGood()) continue;
    }
    {
      const Clock clock(times, Work::EmulatePtxas);
      emulate(job, "ptxas", all.verdict.isGood() ? all.cubin : alone.cubin, settings);
    }
    tryUnoptimized(job, settings, times);
  }
}

} // namespace

const char* workName(Work work) {
  constexpr const char* kNames[kWorks] = {"generating",
                                          "interpreter",
                                          "orias",
                                          "emulator, our cubins",
                                          "after each phase",
                                          "ptxas",
                                          "emulator, ptxas' cubins"};
  return kNames[static_cast<std::size_t>(work)];
}

bool isFailure(Outcome outcome) {
  return outcome != Outcome::Good && outcome != Outcome::Unsupported;
}

Outcome ProgramResult::outcome() const {
  Outcome worst = Outcome::Good;
  for (const Finding& finding : findings)
    worst = std::max(worst, finding.outcome);
  return worst;
}

std::vector<ProgramResult> runBatch(std::span<const Case> cases, const Settings& settings, Times& times) {
  std::deque<Job> jobs; // a device refers to its launch, so jobs must not move
  for (const Case& which : cases) {
    const Clock clock(times, Work::Generate);
    jobs.emplace_back(which, settings.arch);
  }
  for (Job& job : jobs) {
    if (settings.run || settings.ptxas) {
      const Clock clock(times, Work::Interpret);
      launch::Device device(job.program.launch);
      const Verdict verdict = engines::interpret(job.text, device, limits());
      job.note("interpreter", verdict);
      if (verdict.isGood()) job.wanted.emplace(std::move(device));
    }
    for (std::size_t i = 0; i < settings.variants.size(); ++i) {
      if (settings.rotate && i != job.program.seed % settings.variants.size()) continue;
      if (settings.checkUniform) checkUniform(job, settings.variants[i], times);
      if (settings.eachPhase)
        checkEach(job, settings.variants[i], times);
      else if (settings.run || settings.ptxas || !settings.checkUniform)
        assembleAndRun(job, settings.variants[i], settings, times);
    }
  }
  if (settings.ptxas) runPtxas(jobs, settings, times);
  std::vector<ProgramResult> results;
  for (Job& job : jobs) {
    if (!settings.writeFolder.empty() && isFailure(job.result.outcome())) {
      job.program.launch.file =
          fmt::format("{}-{}.ptx", job.result.name.substr(0, job.result.name.find(':')), job.program.seed);
      job.result.text = job.text;
      try {
        job.result.launchFile = launch::writeLaunch(job.program.launch);
      } catch (const Error& error) {
        job.result.text += fmt::format("// No launch file: {}\n", error.what());
      }
    }
    results.push_back(std::move(job.result));
  }
  return results;
}

} // namespace orias::differential
