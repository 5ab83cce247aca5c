#include "tools/gpu/suite/supervisor.h"

#include "support/check.h"
#include "tools/gpu/suite/report.h"
#include "tools/gpu/suite/worker.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>

namespace orias::gpu {

using tools::ExitStatus;

namespace {

using Clock = Worker::Clock;
using Answer = Worker::Answer;

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

class Supervisor {
 public:
  Supervisor(const Plan& plan, const SuiteOptions& options)
      : plan_(plan), options_(options), results_((std::filesystem::path(options.out) / "results.jsonl").string()) {
    end_ = options.minutes > 0 ? start_ + seconds(options.minutes * 60 - kReserve) : Clock::time_point::max();
  }

  ExitStatus run() {
    if (!getWorker() && Clock::now() < end_) {
      tools::print(stdout, fmt::format("orias-gpu-suite: skipped: {}\n", whyStopped_));
      return ExitStatus::Skipped;
    }
    if (!device_.empty() && device_.find("(" + plan_.chip + ")") == std::string::npos) {
      tools::print(stdout, fmt::format("orias-gpu-suite: skipped: the cubins are for {}, the device is {}\n",
                                       plan_.chip, device_));
      return ExitStatus::Skipped;
    }
    tools::print(stdout,
                 fmt::format("{}\n{} items, of which {} have results\n", device_, plan_.items.size(), countKnown()));
    for (std::size_t i = 0; i < plan_.items.size(); ++i) {
      const Item& item = plan_.items[i];
      if (results_.has(item.id())) continue;
      if (Clock::now() >= end_) {
        whyStopped_ = "out of time";
        break;
      }
      if (failuresOf(item) >= options_.maxFamilyFailures) {
        take(without(item, Outcome::Skipped, "a case of the same family has faulted or hung before"));
        continue;
      }
      if (!getWorker()) break;
      if (!runItem(i)) break;
      if (Clock::now() >= nextReport_) report();
    }
    worker_.reset();
    spare_.reset();
    report();
    tools::print(stdout, summaryText(results_.all()));
    if (!whyStopped_.empty()) tools::print(stdout, whyStopped_ + "\n");
    return std::any_of(results_.all().begin(), results_.all().end(), [](const Result& r) { return r.isAlarm(); })
               ? ExitStatus::InputErrors
               : ExitStatus::Done;
  }

 private:
  static constexpr double kReserve = 3; ///< seconds reserved for the last report and the end of a hanging process
  static constexpr double kReportEvery = 10;
  static constexpr unsigned kStarts = 3; ///< failed starts of processes in a row after which the run ends

  std::size_t countKnown() const {
    return static_cast<std::size_t>(std::count_if(plan_.items.begin(), plan_.items.end(),
                                                  [&](const Item& item) { return results_.has(item.id()); }));
  }

  unsigned failuresOf(const Item& item) const {
    const auto found = failures_.find(item.family + "/" + item.candidateName);
    return item.family.empty() || found == failures_.end() ? 0 : found->second;
  }

  /// Makes sure that there is a process that can run items. Opening the driver takes long, so a second process does it
  /// while the first one works.
  bool getWorker() {
    for (unsigned tries = 0; !worker_; ++tries) {
      if (tries == kStarts) return false;
      worker_ = spare_ ? std::move(spare_) : std::make_unique<Worker>(plan_, options_.library, options_.withCopies);
      const Answer answer = worker_->wait(std::min(Clock::now() + seconds(options_.startSeconds), end_));
      if (answer.kind == Answer::Kind::Ready) {
        device_ = answer.text;
        spare_ = std::make_unique<Worker>(plan_, options_.library, options_.withCopies);
        return true;
      }
      whyStopped_ = answer.kind == Answer::Kind::NoGpu ? answer.text : "timeout while a process opens the driver";
      worker_.reset();
      if (device_.empty() && answer.kind == Answer::Kind::NoGpu) return false; // there never was one
    }
    return true;
  }

  /// False if the time has elapsed before the item has ended.
  bool runItem(std::size_t number) {
    const Item& item = plan_.items[number];
    const Clock::time_point limit = Clock::now() + seconds(options_.itemSeconds);
    worker_->run(number);
    const Answer answer = worker_->wait(std::min(limit, end_));
    switch (answer.kind) {
    case Answer::Kind::Done: take(answer.result); break;
    case Answer::Kind::Late:
      if (end_ < limit) {
        whyStopped_ = "out of time";
        return false;
      }
      take(without(item, Outcome::Hung, fmt::format("not done after {} seconds", options_.itemSeconds)));
      break;
    default: take(without(item, Outcome::Crashed, "the process died")); break;
    }
    if (answer.kind != Answer::Kind::Done || answer.isSpent) worker_.reset();
    return true;
  }

  static Result without(const Item& item, Outcome outcome, std::string why) {
    Result result;
    result.group = item.group;
    result.name = item.name;
    result.family = item.family;
    result.candidate = item.candidateName;
    result.outcome = outcome;
    result.text = std::move(why);
    return result;
  }

  void take(Result result) {
    if (result.outcome == Outcome::Fault || result.outcome == Outcome::Hung || result.outcome == Outcome::Crashed)
      ++failures_[result.family + "/" + result.candidate];
    if (result.isAlarm())
      tools::print(
          stdout, fmt::format("{}: {}: {}\n{}", result.id(), outcomeName(result.outcome), result.text, result.details));
    results_.add(result);
  }

  void report() {
    const RunFacts facts{plan_.made, device_, whyStopped_, std::chrono::duration<double>(Clock::now() - start_).count(),
                         &plan_};
    writeReport(options_.out, results_.all(), facts);
    nextReport_ = Clock::now() + seconds(kReportEvery);
  }

  const Plan& plan_;
  const SuiteOptions& options_;
  ResultFile results_;
  Clock::time_point start_ = Clock::now(), end_, nextReport_ = start_ + seconds(kReportEvery);
  std::unique_ptr<Worker> worker_, spare_;
  std::map<std::string, unsigned> failures_; ///< by family and candidate
  std::string device_, whyStopped_;
};

} // namespace

ExitStatus runSuite(const Plan& plan, const SuiteOptions& options) {
  std::signal(SIGPIPE, SIG_IGN); // the death of a process is detected when its answer is read
  std::filesystem::create_directories(options.out);
  return Supervisor(plan, options).run();
}

} // namespace orias::gpu
