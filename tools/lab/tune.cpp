#include "tools/lab/tune.h"

#include "phases/knob_use.h"
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
constexpr unsigned kMaxChanges = 6;     ///< knobs that a random setting changes
constexpr std::size_t kSettings = 8;    ///< most settings compiled per launch, if launches are limited
constexpr double kMinGain = 1e-9;
constexpr double kRegistersFirst = 1e-9; ///< cycles break ties between equal register counts

/// Values by knob name; for options, which begin with a dash, the whole option by its name.
using Setting = std::map<std::string, std::string>;

/// A knob or an option, and its alternative values.
struct Choice {
  std::string name;
  std::vector<std::string> values;
};

bool isOption(std::string_view name) {
  return name.starts_with('-');
}

/// Values worth trying: the opposite of a switch; for a number, some around the default and the ends of its range.
Choice choiceOf(const phases::KnobInfo& knob) {
  Choice choice{std::string(knob.name), {}};
  const std::int64_t d = knob.defaultValue;
  const auto add = [&](std::int64_t value) {
    const std::string text = std::to_string(value);
    if (value != d && std::ranges::find(choice.values, text) == choice.values.end()) choice.values.push_back(text);
  };
  if (knob.type == phases::KnobType::Bool)
    add(1 - d);
  else
    for (const std::int64_t value : {d / 4, d / 2, d - 1, d + 1, d * 2, d * 4, knob.lowest, knob.highest})
      add(std::clamp(value, knob.lowest, knob.highest));
  return choice;
}

/// "--maxrregcount" of "--maxrregcount=64", "-O" of "-O2".
std::string optionName(const std::string& option) {
  if (const std::size_t equals = option.find('='); equals != std::string::npos) return option.substr(0, equals);
  return option.substr(0, option.find_last_not_of("0123456789") + 1);
}

class Tuner {
 public:
  Tuner(const TuneOptions& options, Store& store)
      : options_(options), store_(store), version_(versionOf(Assembler::Orias)),
        processes_(options.program, options.atOnce), random_(options.seed), start_(Clock::now()) {
    for (const phases::KnobInfo& knob : phases::allKnobs()) {
      const bool isNamed = std::ranges::find(options.knobs, knob.name) != options.knobs.end();
      const bool isSearched = options.knobs.empty() && phases::useOf(knob) == phases::KnobUse::Tuning;
      if (knob.type != phases::KnobType::Text && (isSearched || isNamed)) choices_.push_back(choiceOf(knob));
    }
    for (const std::string& name : options.knobs)
      if (std::ranges::find(choices_, name, &Choice::name) == choices_.end())
        throw Error(fmt::format("'{}' is not a knob that tune can search", name));
    for (const std::string& option : options.options) {
      if (!isOption(option)) throw Error(fmt::format("'{}' is not an option", option));
      const auto at = std::ranges::find(choices_, optionName(option), &Choice::name);
      (at == choices_.end() ? choices_.emplace_back(Choice{optionName(option), {}}) : *at).values.push_back(option);
    }
    for (const std::string& setting : options.job.knobs) {
      const std::size_t equals = setting.find('=');
      phases::Knobs().setFromText(setting); // throws for an invalid setting
      first_[setting.substr(0, equals)] = setting.substr(equals + 1);
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
      (isOption(name) ? tuned.options : tuned.knobs).push_back(textOf(name, value));
    }
    tuned.settings = scores_.size();
    tuned.jobs = byCode_.size();
    return tuned;
  }

 private:
  using Clock = std::chrono::steady_clock;
  using Scored = std::pair<double, Setting>;
  static constexpr double kNever = std::numeric_limits<double>::infinity();

  static std::string textOf(const std::string& name, const std::string& value) {
    return isOption(name) ? value : name + "=" + value;
  }

  bool isOver() const {
    if (options_.mostJobs != 0)
      return byCode_.size() >= options_.mostJobs || scores_.size() >= kSettings * options_.mostJobs;
    return std::chrono::duration<double>(Clock::now() - start_).count() >= options_.seconds;
  }

  void tell(std::string_view what, double score) const {
    if (options_.tell)
      options_.tell(
          fmt::format("{}: {:.1f}, after {} settings and {} launches", what, score, scores_.size(), byCode_.size()));
  }

  double score(const Setting& setting) { return scores({setting}).front(); }

  Job jobOf(const Setting& setting) const {
    Job job = options_.job;
    job.knobs.clear();
    for (const auto& [name, value] : setting)
      (isOption(name) ? job.options : job.knobs).push_back(textOf(name, value));
    return job;
  }

  /// Executes jobs that are not in the store, several at a time.
  std::vector<Measurement> measure(const std::vector<Job>& jobs) {
    std::vector<Measurement> found(jobs.size());
    std::vector<std::string> ids;
    for (const Job& job : jobs)
      ids.push_back(jobId(job, version_));
    const JobProcesses::Done done = [&](std::size_t i, const Measurement& measured) {
      store_.add(ids[i], jobs[i], version_, measured);
      found[i] = measured;
    };
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (const auto known = store_.find(ids[i]))
        found[i] = *known;
      else
        processes_.start(i, jobs[i], done);
    processes_.finish(done);
    return found;
  }

  /// Compiles the new settings, and runs the code that is new.
  std::vector<double> scores(const std::vector<Setting>& settings) {
    std::vector<Setting> fresh;
    std::vector<Job> compilations, launches;
    for (const Setting& setting : settings) {
      if (scores_.contains(setting) || std::ranges::find(fresh, setting) != fresh.end()) continue;
      fresh.push_back(setting);
      compilations.push_back(jobOf(setting));
      compilations.back().launchFile.clear();
    }
    const std::vector<Measurement> compiled = measure(compilations);
    std::vector<std::string> codes;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      const std::string& code = compiled[i].code;
      if (compiled[i].state != State::Done) {
        message_ = fmt::format("{} {}", stateName(compiled[i].state), compiled[i].message);
      } else if (!byCode_.contains(code) && std::ranges::find(codes, code) == codes.end()) {
        codes.push_back(code);
        launches.push_back(jobOf(fresh[i]));
      }
    }
    const std::vector<Measurement> launched = measure(launches);
    for (std::size_t i = 0; i < launched.size(); ++i) {
      message_ = fmt::format("{} {}", stateName(launched[i].state), launched[i].message);
      byCode_[codes[i]] = objectiveOf(launched[i], options_);
    }
    for (std::size_t i = 0; i < fresh.size(); ++i)
      scores_[fresh[i]] = compiled[i].state == State::Done ? byCode_.at(compiled[i].code) : kNever;
    std::vector<double> all;
    for (const Setting& setting : settings)
      all.push_back(scores_.at(setting));
    return all;
  }

  /// The setting with one knob or option changed to a value, or reset to its default.
  Setting changed(Setting setting) {
    const Choice& choice = choices_[random_() % choices_.size()];
    if (choice.values.empty() || (setting.contains(choice.name) && random_() % 2 == 0))
      setting.erase(choice.name);
    else
      setting[choice.name] = choice.values[random_() % choice.values.size()];
    return setting;
  }

  /// Keeps the `most` best settings; among equals, those with fewer knobs first.
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
    if (choices_.empty()) return;
    std::vector<Setting> settings;
    for (std::size_t i = 0; i < kPopulation; ++i) {
      Setting setting = first_;
      for (std::uint64_t changes = 1 + random_() % kMaxChanges; changes > 0; --changes)
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

  /// Tries each value of each knob and option, from the best setting, until there is no improvement.
  void searchLocally() {
    for (bool gains = true; gains && !isOver();) {
      gains = false;
      std::vector<Choice> order = choices_;
      std::shuffle(order.begin(), order.end(), random_);
      for (const Choice& choice : order) {
        if (isOver()) return;
        const double before = best_.front().first;
        std::vector<Setting> settings;
        for (const std::string& value : choice.values) {
          settings.push_back(best_.front().second);
          settings.back()[choice.name] = value;
        }
        keepBest(settings, 1);
        if (best_.front().first >= before - kMinGain) continue;
        gains = true;
        tell(choice.name, best_.front().first);
      }
    }
  }

  /// Resets each knob and option whose default gives an equally good result.
  void putBack() {
    for (bool goes = true; goes;) {
      goes = false;
      for (const auto& [name, value] : Setting(best_.front().second)) {
        Setting without = best_.front().second;
        without.erase(name);
        const double found = score(without);
        if (found > best_.front().first + kMinGain) continue;
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
  std::vector<Choice> choices_;
  Setting first_;
  std::map<Setting, double> scores_;
  std::map<std::string, double> byCode_; ///< scores, by Measurement::code
  std::vector<Scored> best_;             ///< the best first
  std::string message_;                  ///< of the last job
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
  for (const std::string& option : tuned.options)
    text = fmt::format("# with the option {}, which a knob file cannot set\n", option) + text;
  for (const std::string& setting : tuned.knobs)
    text += setting + "\n";
  return text;
}

} // namespace orias::lab
