#include "tools/lab/plan.h"

#include "orias/options.h"
#include "phases/knobs.h"
#include "phases/manager.h"
#include "phases/module_phases.h"
#include "phases/phase.h"
#include "support/check.h"
#include "tools/common/files.h"
#include "tools/launch/json_node.h"
#include "tools/launch/launch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <glob.h>
#include <random>
#include <set>

namespace orias::lab {

namespace fs = std::filesystem;
using launch::JsonNode;

namespace {

constexpr std::uint64_t kMaxCombinations = 1'000'000;

/// The files that match a pattern, sorted by name.
std::vector<std::string> filesOf(const JsonNode& node, const fs::path& folder) {
  const std::string pattern = (folder / node.text()).string();
  glob_t found{};
  const int status = glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> files;
  if (status == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  if (files.empty()) node.fail(fmt::format("no file matches '{}'", pattern));
  return files;
}

std::vector<std::string> texts(const JsonNode& node) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < node.size(); ++i)
    all.push_back(node.item(i).text());
  return all;
}

std::string valueText(const JsonNode& node) {
  const nlohmann::json& value = node.value();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_number_integer()) return value.dump();
  node.fail("expected a number, true, false or a string");
}

/// "NAME=VALUE"; fails for a knob that does not exist, or an invalid value.
std::string setting(const JsonNode& at, const std::string& name, const std::string& value) {
  try {
    phases::Knobs().set(name, value);
  } catch (const Error& error) {
    at.fail(error.what());
  }
  return name + "=" + value;
}

/// The canonical name of a file, so that a sweep has the same table on every machine.
std::string plainPath(const std::string& file) {
  return fs::absolute(file).lexically_normal().string();
}

void readKernels(const JsonNode& node, const fs::path& folder, Plan& plan) {
  for (std::size_t i = 0; i < node.size(); ++i)
    for (const std::string& file : filesOf(node.item(i), folder)) {
      if (fs::path(file).extension() == ".ptx") {
        plan.kernels.emplace_back(plainPath(file), "");
        continue;
      }
      const std::string program = launch::programPath(launch::readLaunchFile(file), file);
      if (fs::path(program).extension() != ".ptx") node.item(i).fail(fmt::format("'{}' launches no .ptx file", file));
      plan.kernels.emplace_back(plainPath(program), plainPath(file));
    }
}

void readKnobs(const JsonNode& node, Plan& plan) {
  node.allowKeys(std::array<std::string_view, 5>{"search", "values", "settings", "count", "seed"});
  if (const auto search = node.find("search")) {
    const std::string name = search->text();
    if (name == "one-at-a-time")
      plan.search = Search::OneAtATime;
    else if (name == "grid")
      plan.search = Search::Grid;
    else if (name == "random")
      plan.search = Search::Random;
    else
      search->fail("expected one-at-a-time, grid or random");
  }
  if (const auto values = node.find("values")) {
    if (!values->isObject()) values->fail("expected an object of knobs and lists of values");
    for (const auto& [name, unused] : values->value().items()) {
      const JsonNode list = values->at(name);
      KnobValues knob{name, {}};
      for (std::size_t i = 0; i < list.size(); ++i) {
        knob.values.push_back(valueText(list.item(i)));
        setting(list.item(i), name, knob.values.back());
      }
      if (knob.values.empty()) list.fail("has no value");
      plan.knobs.push_back(std::move(knob));
    }
  }
  if (const auto settings = node.find("settings"))
    for (std::size_t i = 0; i < settings->size(); ++i) {
      const JsonNode one = settings->item(i);
      if (!one.isObject()) one.fail("expected an object of knobs and values");
      std::vector<std::string> knobs;
      for (const auto& [name, unused] : one.value().items())
        knobs.push_back(setting(one.at(name), name, valueText(one.at(name))));
      plan.settings.push_back(std::move(knobs));
    }
  if (const auto count = node.find("count")) plan.count = static_cast<unsigned>(count->count(1, kMaxCombinations));
  if (const auto seed = node.find("seed")) plan.seed = seed->count(0, ~std::uint64_t{0} >> 1);
  if (plan.search == Search::Random && plan.count == 0) node.fail("a random search needs a count");
}

void readLimits(const JsonNode& node, Limits& limits) {
  node.allowKeys(std::array<std::string_view, 3>{"seconds", "megabytes", "instructions"});
  if (const auto n = node.find("seconds")) limits.seconds = static_cast<unsigned>(n->count(1, 86400));
  if (const auto n = node.find("megabytes")) limits.megabytes = static_cast<unsigned>(n->count(64, 1 << 20));
  if (const auto n = node.find("instructions")) limits.instructions = n->count(1, ~std::uint64_t{0} >> 1);
}

/// The numbers of all phases that can be disabled.
std::vector<std::string> optionalPhases() {
  std::vector<std::string> all;
  for (const phases::ModulePhase& phase : phases::modulePhases())
    if (phase.isOptional) all.emplace_back(phase.number);
  for (const phases::PhaseInfo& phase : phases::pipeline())
    if (phase.optional) all.emplace_back(phase.number);
  return all;
}

/// The phases of "without": those given by number, or all that can be disabled.
std::vector<std::string> phasesOf(const JsonNode& node) {
  const std::vector<std::string> all = optionalPhases();
  if (!node.isArray()) return node.boolean() ? all : std::vector<std::string>{};
  std::vector<std::string> named = texts(node);
  for (std::size_t i = 0; i < named.size(); ++i)
    if (std::ranges::find(all, named[i]) == all.end())
      node.item(i).fail(fmt::format("'{}' is not the number of a phase that can be disabled", named[i]));
  return named;
}

/// The pairs of "orders"; fails for phases that cannot be exchanged.
std::vector<std::pair<std::string, std::string>> pairsOf(const JsonNode& node) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const JsonNode pair = node.item(i);
    if (pair.size() != 2) pair.fail("expected two phases");
    pairs.emplace_back(pair.item(0).text(), pair.item(1).text());
    try {
      phases::PipelineOptions options;
      options.swapped = {pairs.back().first, pairs.back().second};
      const phases::PhaseManager checked(options);
    } catch (const Error& error) {
      pair.fail(error.what());
    }
  }
  return pairs;
}

} // namespace

Plan parsePlan(std::string_view text, const std::string& path) {
  const nlohmann::json json = launch::parseJson(text, path);
  const JsonNode root(json, path);
  root.allowKeys(std::array<std::string_view, 10>{"$schema", "name", "kernels", "chips", "options", "knobs", "without",
                                                  "orders", "ptxas", "limits"});
  Plan plan;
  plan.name = root.has("name") ? root.at("name").text() : fs::path(path).stem().string();
  readKernels(root.at("kernels"), fs::path(path).parent_path(), plan);
  plan.chips = root.has("chips") ? texts(root.at("chips")) : std::vector<std::string>{Options{}.arch};
  if (const auto options = root.find("options"))
    for (std::size_t i = 0; i < options->size(); ++i)
      plan.options.push_back(texts(options->item(i)));
  if (plan.options.empty()) plan.options.emplace_back();
  if (const auto knobs = root.find("knobs")) readKnobs(*knobs, plan);
  if (const auto without = root.find("without")) plan.leftOut = phasesOf(*without);
  if (const auto orders = root.find("orders")) plan.swapped = pairsOf(*orders);
  if (const auto ptxas = root.find("ptxas")) plan.withPtxas = ptxas->boolean();
  if (const auto limits = root.find("limits")) readLimits(*limits, plan.limits);
  return plan;
}

Plan readPlan(const std::string& path) {
  return parsePlan(tools::readWholeFile(path), path);
}

std::vector<std::vector<std::string>> knobSettings(const Plan& plan) {
  std::vector<std::vector<std::string>> all{{}};
  all.insert(all.end(), plan.settings.begin(), plan.settings.end());
  const auto& knobs = plan.knobs;
  if (knobs.empty()) return all;
  const auto assign = [&](std::size_t knob, std::size_t value) {
    return knobs[knob].name + "=" + knobs[knob].values[value];
  };
  switch (plan.search) {
  case Search::OneAtATime:
    for (std::size_t k = 0; k < knobs.size(); ++k)
      for (std::size_t v = 0; v < knobs[k].values.size(); ++v)
        all.push_back({assign(k, v)});
    break;
  case Search::Grid: {
    std::uint64_t combinations = 1;
    for (const KnobValues& knob : knobs) {
      combinations *= knob.values.size();
      if (combinations > kMaxCombinations)
        throw Error(fmt::format("plan '{}': the grid has more than {} combinations", plan.name, kMaxCombinations));
    }
    for (std::uint64_t n = 0; n < combinations; ++n) {
      std::vector<std::string> one;
      std::uint64_t rest = n;
      for (std::size_t k = 0; k < knobs.size(); ++k) {
        one.push_back(assign(k, rest % knobs[k].values.size()));
        rest /= knobs[k].values.size();
      }
      all.push_back(std::move(one));
    }
    break;
  }
  case Search::Random: {
    std::mt19937_64 random(plan.seed);
    for (unsigned n = 0; n < plan.count; ++n) {
      std::vector<std::string> one;
      for (std::size_t k = 0; k < knobs.size(); ++k)
        one.push_back(assign(k, random() % knobs[k].values.size()));
      all.push_back(std::move(one));
    }
    break;
  }
  }
  return all;
}

std::vector<Job> expand(const Plan& plan) {
  std::vector<Job> jobs;
  std::set<std::string> seen;
  const auto add = [&](Job job) {
    std::sort(job.knobs.begin(), job.knobs.end());
    if (seen.insert(writeJob(job)).second) jobs.push_back(std::move(job));
  };
  const std::vector<std::vector<std::string>> settings = knobSettings(plan);
  for (const auto& [ptx, launch] : plan.kernels)
    for (const std::string& chip : plan.chips)
      for (const std::vector<std::string>& options : plan.options) {
        Job job{Assembler::Orias, ptx, launch, chip, options, {}, {}, {}, plan.limits};
        for (const std::vector<std::string>& knobs : settings) {
          job.knobs = knobs;
          add(job);
        }
        job.knobs.clear();
        for (const std::string& phase : plan.leftOut) {
          job.disabled = {phase};
          add(job);
        }
        job.disabled.clear();
        for (const auto& [first, second] : plan.swapped) {
          job.swapped = {first, second};
          add(job);
        }
        job.swapped.clear();
        if (!plan.withPtxas) continue;
        job.assembler = Assembler::Ptxas;
        add(job);
      }
  return jobs;
}

} // namespace orias::lab
