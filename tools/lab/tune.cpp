#include "tools/lab/tune.h"

#include "phases/knobs.h"
#include "support/check.h"
#include "tools/lab/job_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <random>

namespace orias::lab {

namespace {

constexpr std::size_t kPopulation = 32; ///< random settings at the start
constexpr unsigned kMostChanges = 6;    ///< knobs that a random setting changes
constexpr double kLeastGain = 1e-9;
constexpr double kRegistersFirst = 1e-9; ///< cycles decide between equal registers

/// Knob and value, by name.
using Setting = std::map<std::string, std::int64_t>;

/// Knobs that write text, or that give up speed to be simple, are of no use here.
bool isSearched(const phases::KnobInfo& knob) {
  if (knob.type == phases::KnobType::Text) return false;
  const auto has = [&](std::string_view word) {
    return knob.text.find(word) != std::string_view::npos || knob.name.find(word) != std::string_view::npos;
  };
  return !has("debugging") && !has("checker") && !has("dump") && !has("Dump") && !has("print") && !has("verify") &&
         !has("Verify") && !knob.phase.starts_with('M');
}

/// Values worth a try: of a switch the other, of a number some around the default and the ends of its range.
std::vector<std::int64_t> valuesOf(const phases::KnobInfo& knob) {
  std::vector<std::int64_t> values;
  const std::int64_t d = knob.defaultValue;
  if (knob.type == phases::KnobType::Bool) return {1 - d};
  for (const std::int64_t value : {d / 4, d / 2, d - 1, d + 1, d * 2, d * 4, knob.lowest, knob.highest}) {
    const std::int64_t inRange = std::clamp(value, knob.lowest, knob.highest);
    if (inRange != d && std::ranges::find(values, inRange) == values.end()) values.push_back(inRange);
  }
  return values;
}

class Tuner {
 public:
  Tuner(const TuneOptions& options, Store& store)
      : options_(options), store_(store), version_(versionOfPrograms()), processes_(options.program, options.atOnce),
        random_(options.seed), start_(Clock::now()) {
    for (const phases::KnobInfo& knob : phases::allKnobs()) {
      const bool isNamed = std::ranges::find(options.knobs, knob.name) != options.knobs.end();
      if (options.knobs.empty() ? isSearched(knob) : isNamed) knobs_.push_back(&knob);
    }
    for (const std::string& name : options.knobs)
      if (std::ranges::none_of(knobs_, [&](const phases::KnobInfo* knob) { return knob->name == name; }))
        throw Error(fmt::format("'{}' is not a knob that tune can search", name));
    for (const std::string& setting : options.job.knobs) {
      const std::size_t equals = setting.find('=');
      phases::Knobs().setFromText(setting); // throws for what is none
      first_[setting.substr(0, equals)] = std::stoll(setting.substr(equals + 1));
    }
  }

  Tuned run() {
    Tuned tuned;
    tuned.before = score(first_);
    if (!(tuned.before < kNever)) throw Error("the kernel fails with the default knobs: " + message_);
    tell("to begin with", tuned.before);
    best_ = {{tuned.before, first_}};
    searchRandomly();
    searchLocally();
    putBack();
    tuned.after = best_.front().first;
    for (const auto& [name, value] : best_.front().second) {
      Setting without = best_.front().second;
      without.erase(name);
      tuned.gains.push_back({textOf(name, value), score(without)});
      tuned.knobs.push_back(textOf(name, value));
    }
    tuned.jobs = scores_.size();
    return tuned;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Scored = std::pair<double, Setting>;
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  static std::string textOf(const std::string& name, std::int64_t value) { return fmt::format("{}={}", name, value); }

  bool isOver() const {
    if (options_.mostJobs != 0) return scores_.size() >= options_.mostJobs;
    return std::chrono::duration<double>(Clock::now() - start_).count() >= options_.seconds;
  }

  void tell(std::string_view what, double score) const {
    if (options_.tell) options_.tell(fmt::format("{}: {:.1f}, after {} jobs", what, score, scores_.size()));
  }

  double score(const Setting& setting) { return scores({setting}).front(); }

  /// Measures what is not known yet, several settings at a time.
  std::vector<double> scores(const std::vector<Setting>& settings) {
    std::vector<const Setting*> asked;
    std::vector<Job> jobs;
    std::vector<std::string> ids;
    const auto keep = [&](const Setting& setting, const Measurement& found) {
      message_ = fmt::format("{} {}", stateName(found.state), found.message);
      scores_[setting] = objectiveOf(found, options_);
    };
    for (const Setting& setting : settings) {
      if (scores_.contains(setting)) continue;
      Job job = options_.job;
      job.knobs.clear();
      for (const auto& [name, value] : setting)
        job.knobs.push_back(textOf(name, value));
      const std::string id = jobId(job, version_);
      if (const auto known = store_.find(id)) {
        keep(setting, *known);
        continue;
      }
      if (std::ranges::find(ids, id) != ids.end()) continue;
      asked.push_back(&setting);
      jobs.push_back(std::move(job));
      ids.push_back(id);
    }
    const JobProcesses::Done done = [&](std::size_t i, const Measurement& found) {
      store_.add(ids[i], jobs[i], version_, found);
      keep(*asked[i], found);
    };
    for (std::size_t i = 0; i < jobs.size(); ++i)
      processes_.start(i, jobs[i], done);
    processes_.finish(done);
    std::vector<double> all;
    for (const Setting& setting : settings)
      all.push_back(scores_.at(setting));
    return all;
  }

  /// The setting with one knob changed: to a value, or back to its default.
  Setting changed(Setting setting) {
    const phases::KnobInfo& knob = *knobs_[random_() % knobs_.size()];
    const std::string name(knob.name);
    const std::vector<std::int64_t> values = valuesOf(knob);
    if (values.empty() || (setting.contains(name) && random_() % 2 == 0))
      setting.erase(name);
    else
      setting[name] = values[random_() % values.size()];
    return setting;
  }

  /// Keeps the `most` best settings, fewer knobs first among equals.
  void keepBest(const std::vector<Setting>& settings, std::size_t most) {
    const std::vector<double> found = scores(settings);
    for (std::size_t i = 0; i < settings.size(); ++i)
      if (found[i] < kNever) best_.emplace_back(found[i], settings[i]);
    std::ranges::sort(best_, [](const Scored& a, const Scored& b) {
      return std::tuple(a.first, a.second.size(), a.second) < std::tuple(b.first, b.second.size(), b.second);
    });
    best_.erase(std::unique(best_.begin(), best_.end()), best_.end());
    if (best_.size() > most) best_.resize(most);
  }

  void searchRandomly() {
    if (knobs_.empty()) return;
    std::vector<Setting> settings;
    for (std::size_t i = 0; i < kPopulation; ++i) {
      Setting setting = first_;
      for (std::uint64_t changes = 1 + random_() % kMostChanges; changes > 0; --changes)
        setting = changed(std::move(setting));
      settings.push_back(std::move(setting));
    }
    std::size_t tries = 1;
    for (std::size_t kept = kPopulation / 2; kept >= 1 && !isOver(); kept /= 2, tries *= 2) {
      keepBest(settings, kept);
      tell(fmt::format("best of {}", kept), best_.front().first);
      settings.clear();
      for (const Scored& one : best_)
        for (std::size_t i = 0; i < tries; ++i)
          settings.push_back(changed(one.second));
    }
  }

  /// Each value of each knob, from the best setting, until none of them gains.
  void searchLocally() {
    for (bool gains = true; gains && !isOver();) {
      gains = false;
      std::vector<const phases::KnobInfo*> order = knobs_;
      std::shuffle(order.begin(), order.end(), random_);
      for (const phases::KnobInfo* knob : order) {
        if (isOver()) return;
        const double before = best_.front().first;
        std::vector<Setting> settings;
        for (const std::int64_t value : valuesOf(*knob)) {
          settings.push_back(best_.front().second);
          settings.back()[std::string(knob->name)] = value;
        }
        keepBest(settings, 1);
        if (best_.front().first >= before - kLeastGain) continue;
        gains = true;
        tell(knob->name, best_.front().first);
      }
    }
  }

  /// Resets each knob whose default gives an equally good result.
  void putBack() {
    for (bool goes = true; goes;) {
      goes = false;
      for (const auto& [name, value] : Setting(best_.front().second)) {
        Setting without = best_.front().second;
        without.erase(name);
        const double found = score(without);
        if (found > best_.front().first + kLeastGain) continue;
        best_.front() = {found, std::move(without)};
        goes = true;
      }
    }
  }

  const TuneOptions& options_;
  Store& store_;
  std::string version_;
  JobProcesses processes_;
  std::mt19937_64 random_;
  Clock::time_point start_;
  std::vector<const phases::KnobInfo*> knobs_;
  Setting first_;
  std::map<Setting, double> scores_;
  std::vector<Scored> best_; ///< the best first
  std::string message_;      ///< of the last job
};

} // namespace

double objectiveOf(const Measurement& found, const TuneOptions& options) {
  if (found.state != State::Done) return std::numeric_limits<double>::infinity();
  switch (options.objective) {
  case Objective::Cycles: return found.cycles;
  case Objective::FullMachineCycles: return found.fullMachineCycles;
  case Objective::Registers: break;
  }
  const auto at = std::ranges::find(found.functions, options.kernel, &FunctionFigures::name);
  ORIAS_CHECK(at != found.functions.end(), options.kernel);
  return at->registers + kRegistersFirst * found.cycles;
}

Tuned tune(const TuneOptions& options, Store& store) {
  return Tuner(options, store).run();
}

std::string knobFile(const Tuned& tuned, const TuneOptions& options) {
  std::string text = fmt::format("# {:.1f} instead of {:.1f}, on {}\n[{}]\n", tuned.after, tuned.before,
                                 options.job.chip, options.kernel);
  for (const std::string& setting : tuned.knobs)
    text += setting + "\n";
  return text;
}

} // namespace orias::lab
