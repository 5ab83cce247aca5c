#include "tools/gpu/suite/report.h"

#include "tools/common/files.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orias::gpu {

namespace {

using Json = nlohmann::ordered_json;

/// The groups in the order of the results.
std::vector<std::string> groupsOf(const std::vector<Result>& results) {
  std::vector<std::string> groups;
  for (const Result& result : results)
    if (std::find(groups.begin(), groups.end(), result.group) == groups.end()) groups.push_back(result.group);
  return groups;
}

using Counts = std::array<unsigned, kOutcomes>;

Counts countsOf(const std::vector<Result>& results, const std::string& group) {
  Counts counts{};
  for (const Result& result : results)
    if (result.group == group) ++counts[static_cast<std::size_t>(result.outcome)];
  return counts;
}

/// The lowest stall count from which on all tried counts gave right results.
std::optional<double> leastRightStall(const std::vector<Result>& results, const std::string& what) {
  std::map<unsigned, bool> isRight;
  for (const Result& result : results)
    if (result.probe && result.probe->kind == Probe::Kind::Stall && result.probe->what == what)
      isRight[result.probe->stall] = result.outcome == Outcome::Right;
  std::optional<double> least;
  for (auto it = isRight.rbegin(); it != isRight.rend() && it->second; ++it)
    least = it->first;
  return least;
}

} // namespace

std::vector<LatencyLine> latencies(const std::vector<Result>& results) {
  std::vector<LatencyLine> lines;
  for (const Result& result : results) {
    if (!result.probe) continue;
    const Probe& probe = *result.probe;
    if (std::any_of(lines.begin(), lines.end(),
                    [&](const LatencyLine& line) { return line.kind == probe.kind && line.what == probe.what; }))
      continue;
    LatencyLine line{probe.kind, probe.what, probe.table, result.cycles, false};
    if (probe.kind == Probe::Kind::Stall) {
      line.found = leastRightStall(results, probe.what);
      line.isShort = !line.found || *line.found > line.table;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::optional<double> TimeLine::netRatio() const {
  constexpr double kLeast = 1; // microsecond: the resolution of events
  if (overhead == 0 || ours - overhead < kLeast || theirs - overhead < kLeast) return std::nullopt;
  return (ours - overhead) / (theirs - overhead);
}

std::optional<double> TimeLine::copiesRatio() const {
  if (ourCopies == 0 || theirCopies == 0) return std::nullopt;
  return ourCopies / theirCopies;
}

std::vector<TimeLine> times(const std::vector<Result>& results) {
  std::map<std::string, const Result*> byId;
  for (const Result& result : results)
    if (result.least > 0 && result.outcome == Outcome::Right) byId[result.id()] = &result;
  double overhead = 0;
  for (const auto& [id, result] : byId)
    if (result->group == "trivial" && (overhead == 0 || result->least < overhead)) overhead = result->least;
  std::vector<TimeLine> lines;
  for (const auto& [id, ours] : byId) {
    constexpr std::string_view kOurs = "orias ";
    if (!ours->candidate.starts_with(kOurs)) continue;
    const std::string level = ours->candidate.substr(kOurs.size());
    const auto theirs = byId.find(fmt::format("{}/{}/ptxas {}", ours->group, ours->name, level));
    if (theirs == byId.end()) continue;
    lines.push_back({ours->group + "/" + ours->name, level, ours->least, theirs->second->least, ours->registers,
                     theirs->second->registers, ours->copiesLeast, theirs->second->copiesLeast, overhead});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const TimeLine& a, const TimeLine& b) {
    const auto key = [](const TimeLine& line) {
      return line.copiesRatio().value_or(line.netRatio().value_or(line.ratio()));
    };
    return key(a) > key(b);
  });
  return lines;
}

std::string summaryText(const std::vector<Result>& results) {
  std::string text = fmt::format("{:<14}", "group");
  for (std::size_t k = 0; k < kOutcomes; ++k)
    text += fmt::format(" {:>8}", outcomeName(static_cast<Outcome>(k)));
  text += '\n';
  for (const std::string& group : groupsOf(results)) {
    text += fmt::format("{:<14}", group);
    for (const unsigned count : countsOf(results, group))
      text += fmt::format(" {:>8}", count);
    text += '\n';
  }
  return text;
}

void writeReport(const std::string& folder, const std::vector<Result>& results, const RunFacts& facts) {
  Json json = {{"made", facts.made},
               {"device", facts.device},
               {"seconds", facts.seconds},
               {"stopped", facts.whyStopped},
               {"items", facts.plan ? facts.plan->items.size() : results.size()},
               {"groups", Json::array()}};
  for (const std::string& group : groupsOf(results)) {
    Json line = {{"group", group}};
    const Counts counts = countsOf(results, group);
    for (std::size_t k = 0; k < kOutcomes; ++k)
      line[outcomeName(static_cast<Outcome>(k))] = counts[k];
    json["groups"].push_back(std::move(line));
  }
  json["latencies"] = Json::array();
  for (const LatencyLine& line : latencies(results))
    json["latencies"].push_back({{"kind", kindName(line.kind)},
                                 {"what", line.what},
                                 {"table", line.table},
                                 {"found", line.found ? Json(*line.found) : Json()},
                                 {"tableIsShort", line.isShort}});
  json["times"] = Json::array();
  double logs = 0;
  const std::vector<TimeLine> timeLines = times(results);
  for (const TimeLine& line : timeLines) {
    json["times"].push_back({{"name", line.name},
                             {"level", line.level},
                             {"ourMicroseconds", line.ours},
                             {"ptxasMicroseconds", line.theirs},
                             {"ratio", line.ratio()},
                             {"netRatio", line.netRatio() ? Json(*line.netRatio()) : Json()},
                             {"ourCopiesMicroseconds", line.ourCopies},
                             {"ptxasCopiesMicroseconds", line.theirCopies},
                             {"copiesRatio", line.copiesRatio() ? Json(*line.copiesRatio()) : Json()},
                             {"ourRegisters", line.ourRegisters},
                             {"ptxasRegisters", line.theirRegisters}});
    logs += std::log(line.ratio());
  }
  if (!timeLines.empty()) json["meanRatio"] = std::exp(logs / static_cast<double>(timeLines.size()));
  json["results"] = Json::array();
  for (const Result& result : results)
    json["results"].push_back(Json::parse(toLine(result)));
  const auto path = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  tools::writeWholeFile(path("report.json"), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  tools::writeWholeFile(path("report.html"), htmlPage(results, facts));
}

} // namespace orias::gpu
