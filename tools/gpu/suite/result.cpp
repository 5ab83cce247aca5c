#include "tools/gpu/suite/result.h"

#include "support/check.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace orias::gpu {

using Json = nlohmann::json;

namespace {

constexpr std::array<const char*, kOutcomes> kNames = {"right",   "wrong",   "fault",  "hung",
                                                       "refused", "crashed", "skipped"};

} // namespace

const char* outcomeName(Outcome outcome) {
  return kNames[static_cast<std::size_t>(outcome)];
}

bool Result::isAlarm() const {
  if (outcome == Outcome::Right || outcome == Outcome::Skipped) return false;
  const bool triesLess = probe && probe->kind == Probe::Kind::Stall && probe->stall < probe->table;
  return !(triesLess && outcome == Outcome::Wrong);
}

std::string toLine(const Result& r) {
  Json json = {{"group", r.group},
               {"name", r.name},
               {"candidate", r.candidate},
               {"outcome", outcomeName(r.outcome)},
               {"seconds", r.seconds}};
  if (!r.family.empty()) json["family"] = r.family;
  if (r.outcome != Outcome::Right) json["text"] = r.text;
  if (!r.details.empty()) json["details"] = r.details;
  if (!r.program.empty()) json["program"] = r.program;
  if (r.outcome != Outcome::Right && !r.memory.empty()) json["memory"] = r.memory;
  if (r.registers != 0) json["registers"] = r.registers;
  if (r.localBytes != 0) json["localBytes"] = r.localBytes;
  if (r.least != 0) {
    json["medianMicroseconds"] = r.median;
    json["leastMicroseconds"] = r.least;
  }
  if (r.copiesLeast != 0) json["copiesMicroseconds"] = r.copiesLeast;
  if (r.cycles) json["cyclesPerStep"] = *r.cycles;
  if (r.probe)
    json["probe"] = {{"what", r.probe->what},
                     {"kind", kindName(r.probe->kind)},
                     {"stall", r.probe->stall},
                     {"table", r.probe->table},
                     {"steps", r.probe->steps}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result fromLine(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    Result r;
    r.group = json.at("group");
    r.name = json.at("name");
    r.candidate = json.at("candidate");
    r.family = json.value("family", "");
    const std::string outcome = json.at("outcome");
    const auto found = std::find(kNames.begin(), kNames.end(), outcome);
    if (found == kNames.end()) throw Error("unknown outcome " + outcome);
    r.outcome = static_cast<Outcome>(found - kNames.begin());
    r.text = json.value("text", "");
    r.details = json.value("details", "");
    r.program = json.value("program", "");
    r.memory = json.value("memory", "");
    r.registers = json.value("registers", 0u);
    r.localBytes = json.value("localBytes", 0u);
    r.median = json.value("medianMicroseconds", 0.0);
    r.least = json.value("leastMicroseconds", 0.0);
    r.copiesLeast = json.value("copiesMicroseconds", 0.0);
    r.seconds = json.value("seconds", 0.0);
    if (json.contains("cyclesPerStep")) r.cycles = json["cyclesPerStep"].get<double>();
    if (json.contains("probe")) {
      const Json& p = json["probe"];
      Probe probe{p.at("what"), Probe::Kind::Latency, p.at("stall"), p.at("table"), p.at("steps")};
      for (const Probe::Kind kind : {Probe::Kind::Stall, Probe::Kind::Latency, Probe::Kind::Issue})
        if (p.at("kind") == kindName(kind)) probe.kind = kind;
      r.probe = probe;
    }
    return r;
  } catch (const Json::exception& error) {
    throw Error(fmt::format("a corrupt result line: {}", error.what()));
  }
}

ResultFile::ResultFile(std::string path) : path_(std::move(path)) {
  std::ifstream in(path_);
  std::string whole;
  bool isDamaged = false;
  for (std::string line; std::getline(in, line);) {
    try {
      Result result = fromLine(line);
      known_[result.id()] = results_.size();
      results_.push_back(std::move(result));
      whole += line + '\n';
    } catch (const Error&) {
      isDamaged = true; // an interrupted run leaves half a line
    }
  }
  if (isDamaged) std::ofstream(path_) << whole;
}

void ResultFile::add(const Result& result) {
  std::FILE* out = std::fopen(path_.c_str(), "a");
  const std::string line = toLine(result) + '\n';
  const bool isWritten = out && std::fwrite(line.data(), 1, line.size(), out) == line.size();
  if (!out || std::fclose(out) != 0 || !isWritten) throw Error(fmt::format("cannot write '{}'", path_));
  known_[result.id()] = results_.size();
  results_.push_back(result);
}

} // namespace orias::gpu
