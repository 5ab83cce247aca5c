#include "tools/orias-run/report.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace orias::run {

using nlohmann::ordered_json;

namespace {

std::string line(const launch::Mismatch& m, std::string_view wanted) {
  std::string text = fmt::format("{}[{}] is {}, {} {}", m.buffer, m.index, m.got, wanted, m.wanted);
  if (m.count > 1) text += fmt::format("; {} elements are wrong", m.count);
  return text + "\n";
}

ordered_json toJson(const std::vector<launch::Mismatch>& mismatches) {
  ordered_json list = ordered_json::array();
  for (const launch::Mismatch& m : mismatches)
    list.push_back(
        {{"buffer", m.buffer}, {"index", m.index}, {"count", m.count}, {"got", m.got}, {"wanted", m.wanted}});
  return list;
}

} // namespace

std::string renderText(const Outcome& outcome, const launch::Device& device) {
  std::string out;
  for (std::size_t i = 0; i < device.launch.buffers.size(); ++i) {
    const launch::Buffer& buffer = device.launch.buffers[i];
    if (buffer.print == 0) continue;
    out +=
        fmt::format("{}: {}{}\n", buffer.name, launch::elementsText(buffer.type, device.bufferBytes(i), buffer.print),
                    buffer.print < buffer.elements ? " ..." : "");
  }
  for (const launch::Report& report : outcome.result.reports)
    out += fmt::format("{}: {}: {}{}\n", report.kind, report.where, report.text,
                       report.count > 1 ? fmt::format(" ({} times)", report.count) : "");
  for (const launch::Mismatch& m : outcome.wrong)
    out += line(m, "should be");
  for (const launch::Mismatch& m : outcome.different)
    out += line(m, "and the other program has");
  for (const auto& [name, figure] : outcome.result.stats)
    out += fmt::format("{:<40} {:>16.8g}\n", name, figure);
  std::string_view verdict = "as expected";
  const auto expects = [](const launch::Buffer& b) { return b.expected.has_value(); };
  const auto& buffers = device.launch.buffers;
  if (!outcome.endedAsExpected)
    verdict = outcome.result.completed ? "completed, but should have stopped" : "did not complete";
  else if (!outcome.wrong.empty())
    verdict = "wrong results";
  else if (!outcome.different.empty())
    verdict = "the programs differ";
  else if (outcome.hasFindings())
    verdict = "findings";
  else if (device.launch.stops.empty() && device.launch.variables.empty() &&
           !std::any_of(buffers.begin(), buffers.end(), expects))
    verdict = outcome.compared ? "the programs agree" : "done; the launch file has no expected values";
  return out + fmt::format("{}: {} ({} thread instructions)\n", device.launch.name, verdict,
                           outcome.result.threadInstructions);
}

std::string renderJson(const Outcome& outcome, const launch::Device& device) {
  ordered_json json;
  json["launch"] = device.launch.name;
  json["kernel"] = device.launch.kernel;
  json["good"] = outcome.good();
  json["completed"] = outcome.result.completed;
  json["seconds"] = outcome.seconds;
  json["threadInstructions"] = outcome.result.threadInstructions;
  json["warpInstructions"] = outcome.result.warpInstructions;
  json["reports"] = ordered_json::array();
  for (const launch::Report& report : outcome.result.reports)
    json["reports"].push_back(
        {{"kind", report.kind}, {"where", report.where}, {"text", report.text}, {"count", report.count}});
  json["wrong"] = toJson(outcome.wrong);
  if (outcome.compared) json["different"] = toJson(outcome.different);
  json["buffers"] = ordered_json::object();
  for (std::size_t i = 0; i < device.launch.buffers.size(); ++i) {
    const launch::Buffer& buffer = device.launch.buffers[i];
    if (buffer.print)
      json["buffers"][buffer.name] = launch::elementsText(buffer.type, device.bufferBytes(i), buffer.print);
  }
  json["stats"] = ordered_json::object();
  for (const auto& [name, figure] : outcome.result.stats)
    json["stats"][name] = figure;
  // Names of programs may hold any bytes; JSON is UTF-8.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

} // namespace orias::run
