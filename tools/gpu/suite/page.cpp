#include "tools/gpu/suite/report.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <map>
#include <set>

// The report as a page for users: failures first, then latencies and times. No scripts and no other files.

namespace orias::gpu {

namespace {

constexpr const char* kStyle = R"(
body { font: 15px/1.45 sans-serif; margin: 2em auto; max-width: 1100px; padding: 0 1em; color: #222; background: #fff; }
table { border-collapse: collapse; margin: 0.6em 0 1.6em; }
th, td { border: 1px solid #ccc; padding: 2px 9px; text-align: right; }
th { background: #eee; } td.name, th.name { text-align: left; }
.bad { background: #fbd5d5; } .good { background: #d9f2d9; } .note { color: #666; }
pre { background: #f6f6f6; padding: 6px; margin: 2px 0 10px; white-space: pre-wrap; }
)";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
    case '<': out += "&lt;"; break;
    case '>': out += "&gt;"; break;
    case '&': out += "&amp;"; break;
    default: out += c;
    }
  }
  return out;
}

class Page {
 public:
  Page(const std::vector<Result>& results, const RunFacts& facts) : results_(results), facts_(facts) {}

  std::string make() {
    text_ = fmt::format("<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>orias on a GPU</title>\n"
                        "<style>{}</style></head><body>\n<h1>orias on a GPU</h1>\n",
                        kStyle);
    text_ += fmt::format("<p><b>{}</b><br>Packed: {}<br>{} of {} items have results; this run took {:.0f} s.</p>\n",
                         escaped(facts_.device), escaped(facts_.made), results_.size(),
                         facts_.plan ? facts_.plan->items.size() : results_.size(), facts_.seconds);
    if (!facts_.whyStopped.empty())
      text_ += fmt::format("<p class=\"bad\">Stopped before the end: {}. The same command continues.</p>\n",
                           escaped(facts_.whyStopped));
    groups();
    alarms();
    latencyTable(Probe::Kind::Stall, "Stall counts of dependent instructions",
                 "The least stall count with right results, against our table. If the table has fewer cycles than the "
                 "device needs, our code can be wrong.");
    latencyTable(Probe::Kind::Latency, "Latencies",
                 "Cycles of one step of a dependent chain in one warp, loads with a "
                 "scoreboard wait. Our table is what the schedulers assume.");
    latencyTable(Probe::Kind::Issue, "Issue rates", "Cycles between two independent instructions of one warp.");
    timeTable();
    return text_ + "</body></html>\n";
  }

 private:
  void groups() {
    text_ += "<h2>Results</h2>\n<table><tr><th class=\"name\">group</th><th class=\"name\">cubins</th>";
    for (std::size_t k = 0; k < kOutcomes; ++k)
      text_ += fmt::format("<th>{}</th>", outcomeName(static_cast<Outcome>(k)));
    text_ += "<th>not run</th></tr>\n";
    std::map<std::pair<std::string, std::string>, std::array<unsigned, kOutcomes + 1>> counts;
    std::vector<std::pair<std::string, std::string>> order;
    std::set<std::string> known;
    for (const Result& result : results_)
      known.insert(result.id());
    const auto count = [&](const std::string& group, const std::string& candidate, std::size_t column) {
      const std::pair key{group, candidate};
      if (counts.find(key) == counts.end()) order.push_back(key);
      ++counts[key][column];
    };
    if (facts_.plan)
      for (const Item& item : facts_.plan->items)
        if (known.count(item.id()) == 0) count(item.group, item.candidateName, kOutcomes);
    for (const Result& result : results_)
      count(result.group, result.candidate, static_cast<std::size_t>(result.outcome));
    std::sort(order.begin(), order.end());
    for (const auto& key : order) {
      text_ += fmt::format("<tr><td class=\"name\">{}</td><td class=\"name\">{}</td>", escaped(key.first),
                           escaped(key.second));
      for (std::size_t k = 0; k <= kOutcomes; ++k) {
        const unsigned number = counts[key][k];
        const bool isBad =
            number != 0 && k != static_cast<std::size_t>(Outcome::Right) && k != kOutcomes && key.first != "latency";
        text_ += fmt::format("<td{}>{}</td>", isBad ? " class=\"bad\"" : "", number);
      }
      text_ += "</tr>\n";
    }
    text_ += "</table>\n";
  }

  /// The outcome of ptxas' cubin for the same case and level. If that is right, the fault is likely ours.
  std::string peerOf(const Result& result) const {
    constexpr std::string_view kOurs = "orias ";
    if (!result.candidate.starts_with(kOurs)) return "";
    const std::string id =
        fmt::format("{}/{}/ptxas {}", result.group, result.name, result.candidate.substr(kOurs.size()));
    const auto peer = byId_.find(id);
    if (peer == byId_.end()) return "";
    if (peer->second->outcome == Outcome::Right) return "ptxas' cubin is right";
    if (peer->second->outcome == result.outcome && peer->second->memory == result.memory)
      return "ptxas' cubin has the same outcome: suspect the reference";
    return fmt::format("ptxas' cubin: {}", outcomeName(peer->second->outcome));
  }

  void alarms() {
    constexpr unsigned kMax = 300;
    unsigned number = 0;
    std::vector<const Result*> alarms;
    for (const Result& result : results_) {
      byId_[result.id()] = &result;
      if (result.isAlarm()) alarms.push_back(&result);
    }
    std::stable_partition(alarms.begin(), alarms.end(),
                          [&](const Result* result) { return peerOf(*result).find("is right") != std::string::npos; });
    for (const Result* alarm : alarms) {
      const Result& result = *alarm;
      if (number++ == 0)
        text_ += "<h2>Failures</h2>\n<p class=\"note\">Run one again: <code>./run --fresh --out again --only "
                 "NAME</code></p>\n";
      if (number > kMax) continue;
      const std::string peer = peerOf(result);
      text_ += fmt::format(
          "<p><b>{}</b>: {}: {}{}{}</p>\n<pre>{}{}{}</pre>\n", escaped(result.id()), outcomeName(result.outcome),
          escaped(result.text), peer.empty() ? "" : "; ", peer, escaped(result.program),
          result.program.empty() || result.program.ends_with('\n') ? "" : "\n", escaped(result.details));
    }
    if (number > kMax) text_ += fmt::format("<p>... and {} more, in report.json.</p>\n", number - kMax);
    if (number == 0) text_ += "<p class=\"good\">No failures.</p>\n";
  }

  void latencyTable(Probe::Kind kind, const char* title, const char* note) {
    std::vector<LatencyLine> lines = latencies(results_);
    std::erase_if(lines, [&](const LatencyLine& line) { return line.kind != kind; });
    if (lines.empty()) return;
    std::stable_partition(lines.begin(), lines.end(), [](const LatencyLine& line) { return line.isShort; });
    text_ += fmt::format("<h2>{}</h2>\n<p class=\"note\">{}</p>\n<table><tr><th class=\"name\">what</th>"
                         "<th>device</th><th>our table</th><th class=\"name\"></th></tr>\n",
                         title, note);
    for (const LatencyLine& line : lines) {
      const std::string found = !line.found                  ? "never right"
                                : kind == Probe::Kind::Stall ? fmt::format("{:.0f}", *line.found)
                                                             : fmt::format("{:.2f}", *line.found);
      std::string said;
      if (kind == Probe::Kind::Stall && line.found)
        said = line.isShort               ? "the table is too short"
               : *line.found < line.table ? fmt::format("{:.0f} to spare", line.table - *line.found)
                                          : "";
      text_ += fmt::format("<tr{}><td class=\"name\">{}</td><td>{}</td><td>{}</td><td class=\"name\">{}</td></tr>\n",
                           line.isShort ? " class=\"bad\"" : "", escaped(line.what), found, line.table, said);
    }
    text_ += "</table>\n";
  }

  void timeTable() {
    const std::vector<TimeLine> lines = times(results_);
    if (lines.empty()) return;
    text_ += fmt::format(
        "<h2>Times against ptxas</h2>\n<p class=\"note\">Least time of several launches, in microseconds; the slowest "
        "against ptxas first. A launch that does nothing takes {:.2f}; the net ratio is without that, and missing for "
        "kernels that take hardly longer. The "
        "full machine is the ratio with copies of the grid that fill the device.</p>\n<table><tr><th "
        "class=\"name\">launch</th><th class=\"name\">level</th>"
        "<th>ours</th><th>ptxas</th><th>ratio</th><th>net</th><th>full machine</th><th>our "
        "registers</th><th>ptxas</th></tr>\n",
        lines.front().overhead);
    for (const TimeLine& line : lines) {
      const std::optional<double> net = line.netRatio();
      const std::optional<double> full = line.copiesRatio();
      text_ += fmt::format("<tr><td class=\"name\">{}</td><td class=\"name\">{}</td><td>{:.2f}</td><td>{:.2f}</td>"
                           "<td>{:.2f}</td><td{}>{}</td><td{}>{}</td><td>{}</td><td>{}</td></tr>\n",
                           escaped(line.name), line.level, line.ours, line.theirs, line.ratio(),
                           net && *net > 1.1 ? " class=\"bad\"" : "", net ? fmt::format("{:.2f}", *net) : "",
                           full && *full > 1.1 ? " class=\"bad\"" : "", full ? fmt::format("{:.2f}", *full) : "",
                           line.ourRegisters, line.theirRegisters);
    }
    text_ += "</table>\n";
  }

  const std::vector<Result>& results_;
  const RunFacts& facts_;
  std::map<std::string, const Result*> byId_;
  std::string text_;
};

} // namespace

std::string htmlPage(const std::vector<Result>& results, const RunFacts& facts) {
  return Page(results, facts).make();
}

} // namespace orias::gpu
