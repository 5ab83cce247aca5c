#include "test/differential/campaign.h"

#include "support/check.h"
#include "test/differential/batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

namespace orias::differential {

using engines::Outcome;

namespace {

using Seconds = std::chrono::duration<double>;

/// The results of the programs of one profile.
struct Tally {
  std::array<std::uint64_t, static_cast<std::size_t>(Outcome::Count)> programs{};
  std::map<std::string, std::uint64_t> unsupported; ///< by engine and reason
  std::map<std::string, std::uint64_t> known;       ///< by reason: programs whose failures are all explained
};

/// Accepts results in any order and reports them in the order of the programs, so the output of a campaign does not
/// depend on the number of threads.
class Report {
 public:
  explicit Report(const Settings& settings, std::size_t programs) : settings_(settings), programs_(programs) {
    if (settings.failuresFile.empty()) return;
    failures_.open(settings.failuresFile);
    if (!failures_) throw Error(fmt::format("cannot write '{}'", settings.failuresFile));
  }

  void add(std::size_t batch, std::vector<ProgramResult> results, const Times& times) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < kWorks; ++i)
      times_[i] += times[i];
    waiting_.emplace(batch, std::move(results));
    for (auto next = waiting_.find(next_); next != waiting_.end(); next = waiting_.find(next_)) {
      for (const ProgramResult& result : next->second)
        tell(withoutKnown(result));
      waiting_.erase(next);
      ++next_;
    }
    if (settings_.progress) showProgress();
  }

  bool finish() {
    for (const auto& [profile, tally] : tallies_) {
      fmt::print("{}:", profile);
      for (std::size_t i = 0; i < tally.programs.size(); ++i)
        fmt::print("{} {} {}", i ? "," : "", tally.programs[i], outcomeName(static_cast<Outcome>(i)));
      fmt::print("\n");
      for (const auto& [reason, count] : tally.unsupported)
        fmt::print("  {:5} {}\n", count, reason);
      for (const auto& [reason, count] : tally.known)
        fmt::print("  {:5} good, but for what is known: {}\n", count, reason);
    }
    showTimes();
    return failed_ == 0;
  }

 private:
  /// Removes explained failures and counts them. Reports programs that are known to fail but do not.
  ProgramResult withoutKnown(ProgramResult result) {
    if (settings_.known.empty()) return result;
    std::string why;
    std::erase_if(result.findings, [&](const Finding& finding) {
      const auto found = settings_.known.find(result.name + " " + finding.who);
      if (found == settings_.known.end() || !isFailure(finding.outcome)) return false;
      why = found->second;
      return true;
    });
    const std::string peer = result.name + " ptxas"; // exact, or followed by more: "mixed:17 ptxas, run"
    if (const auto known = settings_.known.lower_bound(peer); !why.empty())
      ++tallies_[profileOf(result)].known[why];
    else if (settings_.ptxas && known != settings_.known.end() && known->first.starts_with(peer))
      fmt::print("{} is known to fail, and does not\n", known->first);
    return result;
  }

  static std::string profileOf(const ProgramResult& result) { return result.name.substr(0, result.name.find(':')); }

  void tell(const ProgramResult& result) {
    ++told_;
    lastName_ = result.name;
    Tally& tally = tallies_[profileOf(result)];
    const Outcome outcome = result.outcome();
    ++tally.programs[static_cast<std::size_t>(outcome)];
    for (const Finding& finding : result.findings) {
      if (!isFailure(finding.outcome)) {
        ++tally.unsupported[fmt::format("{}: {}", finding.who, finding.reason)];
        continue;
      }
      const std::string line =
          fmt::format("{} {}: {}: {}\n", result.name, finding.who, outcomeName(finding.outcome), finding.reason);
      fmt::print("{}", line);
      std::fflush(stdout);
      if (failures_.is_open()) failures_ << line << std::flush;
    }
    if (!isFailure(outcome)) return;
    ++failed_;
    if (settings_.writeFolder.empty()) return;
    std::string base = settings_.writeFolder + "/" + result.name;
    std::replace(base.begin() + static_cast<std::ptrdiff_t>(settings_.writeFolder.size()), base.end(), ':', '-');
    std::ofstream(base + ".ptx") << result.text;
    if (!result.launchFile.empty()) std::ofstream(base + ".json") << result.launchFile;
  }

  void showProgress() {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::seconds(2) && told_ < programs_) return;
    shown_ = now;
    const double seconds = Seconds(now - start_).count();
    fmt::print(stderr, "{} of {} programs, the last one {}; {} failed; {:.1f} a second\n", told_, programs_, lastName_,
               failed_, static_cast<double>(told_) / seconds);
  }

  /// Prints to standard error, because figures that differ between runs are not part of the result.
  void showTimes() const {
    const double wall = Seconds(std::chrono::steady_clock::now() - start_).count();
    double all = 0;
    for (auto time : times_)
      all += Seconds(time).count();
    fmt::print(stderr, "{} programs in {:.1f} s, {:.1f} a second; of the threads' time:", told_, wall,
               static_cast<double>(told_) / wall);
    for (std::size_t i = 0; i < kWorks; ++i)
      if (const double part = Seconds(times_[i]).count(); part > 0)
        fmt::print(stderr, " {} {:.0f} %;", workName(static_cast<Work>(i)), 100 * part / all);
    fmt::print(stderr, "\n");
  }

  const Settings& settings_;
  const std::size_t programs_;
  std::mutex mutex_;
  std::map<std::size_t, std::vector<ProgramResult>> waiting_;
  std::size_t next_ = 0; ///< the batch to report next
  std::map<std::string, Tally> tallies_;
  std::ofstream failures_;
  std::uint64_t told_ = 0, failed_ = 0;
  std::string lastName_;
  Times times_{};
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_ = start_;
};

std::vector<Case> allCases(const Settings& settings) {
  if (!settings.replay.empty()) return settings.replay;
  std::vector<Case> cases;
  for (const generator::Profile* profile : settings.profiles)
    for (std::uint64_t i = 0; i < settings.count; ++i)
      cases.push_back({profile, settings.first + i});
  return cases;
}

} // namespace

bool runCampaign(const Settings& settings) {
  const std::vector<Case> cases = allCases(settings);
  Report report(settings, cases.size());
  const std::size_t batches = (cases.size() + settings.batch - 1) / settings.batch;
  std::atomic<std::size_t> next{0};
  std::mutex errorMutex;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      for (std::size_t batch = next++; batch < batches; batch = next++) {
        const std::size_t begin = batch * settings.batch, end = std::min(begin + settings.batch, cases.size());
        Times times{};
        report.add(batch, runBatch(std::span(cases).subspan(begin, end - begin), settings, times), times);
      }
    } catch (...) {
      next = batches;
      const std::lock_guard lock(errorMutex);
      error = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < settings.jobs; ++i)
    threads.emplace_back(work);
  work();
  for (std::thread& thread : threads)
    thread.join();
  if (error) std::rethrow_exception(error);
  return report.finish();
}

} // namespace orias::differential
