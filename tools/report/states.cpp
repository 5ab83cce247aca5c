#include "tools/report/states.h"

#include "ori/analysis/cfg.h"
#include "ori/analysis/register_pressure.h"
#include "ori/print.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace orias::report {

using nlohmann::ordered_json;

namespace {

constexpr std::uint32_t kNone = ~0u;

/// The positions of the elements that occur once; by element.
std::vector<std::uint32_t> singlePlaces(const std::vector<std::uint32_t>& sequence, std::size_t elements) {
  constexpr std::uint32_t kMany = kNone - 1;
  std::vector<std::uint32_t> place(elements, kNone);
  for (std::uint32_t i = 0; i < sequence.size(); ++i)
    place[sequence[i]] = place[sequence[i]] == kNone ? i : kMany;
  std::ranges::replace(place, kMany, kNone);
  return place;
}

struct Match {
  std::uint32_t before, after;
};

/// The longest subsequence of `matches` (ascending in `after`) that ascends in `before`, too.
std::vector<Match> longestAscending(const std::vector<Match>& matches) {
  std::vector<std::uint32_t> ends; // by length: the lowest end of such a sequence
  std::vector<std::uint32_t> previous(matches.size(), kNone);
  for (std::uint32_t i = 0; i < matches.size(); ++i) {
    const auto at =
        std::ranges::lower_bound(ends, matches[i].before, {}, [&](std::uint32_t m) { return matches[m].before; });
    if (at != ends.begin()) previous[i] = *(at - 1);
    if (at == ends.end())
      ends.push_back(i);
    else
      *at = i;
  }
  std::vector<Match> chosen;
  for (std::uint32_t i = ends.empty() ? kNone : ends.back(); i != kNone; i = previous[i])
    chosen.push_back(matches[i]);
  std::ranges::reverse(chosen);
  return chosen;
}

} // namespace

std::vector<Edit> difference(const std::vector<std::uint32_t>& before, const std::vector<std::uint32_t>& after) {
  std::size_t elements = 0;
  for (const auto* sequence : {&before, &after})
    for (const std::uint32_t e : *sequence)
      elements = std::max<std::size_t>(elements, e + 1);
  const std::vector<std::uint32_t> inBefore = singlePlaces(before, elements), inAfter = singlePlaces(after, elements);
  std::vector<Match> matches;
  for (std::uint32_t i = 0; i < after.size(); ++i)
    if (inAfter[after[i]] == i && inBefore[after[i]] != kNone) matches.push_back({inBefore[after[i]], i});
  matches = longestAscending(matches);
  matches.push_back({static_cast<std::uint32_t>(before.size()), static_cast<std::uint32_t>(after.size())});

  std::vector<Edit> edits;
  std::uint32_t b = 0, a = 0; // start of the gap before the next match
  for (const Match& match : matches) {
    std::uint32_t bEnd = match.before, aEnd = match.after;
    while (b < bEnd && a < aEnd && before[b] == after[a])
      ++b, ++a;
    while (b < bEnd && a < aEnd && before[bEnd - 1] == after[aEnd - 1])
      --bEnd, --aEnd;
    if (b < bEnd || a < aEnd) edits.push_back({b, bEnd - b, {after.begin() + a, after.begin() + aEnd}});
    b = match.before + 1;
    a = match.after + 1;
  }
  return edits;
}

std::uint32_t States::rowOf(std::int64_t id, std::uint32_t line, std::uint32_t loc, std::string text) {
  const auto [at, isNew] =
      known_.try_emplace(fmt::format("{} {} {} {}", id, line, loc, text), static_cast<std::uint32_t>(rows_.size()));
  if (isNew) rows_.push_back({id, line, loc, std::move(text)});
  return at->second;
}

std::uint32_t States::rowOf(const ori::Function& function, const ori::Block& block) {
  std::string text = fmt::format(".L{}:", block.id);
  const std::vector<ori::BlockId> successors = function.successors(block);
  for (std::size_t i = 0; i < successors.size(); ++i)
    text += fmt::format("{}.L{}", i == 0 ? "  to " : ", ", successors[i]);
  if (block.loopDepth != 0) text += fmt::format("  loop depth {}", block.loopDepth);
  if (!block.name.empty()) text += fmt::format("  {}", block.name);
  const std::size_t rows = rows_.size();
  const std::uint32_t row = rowOf(-1 - static_cast<std::int64_t>(block.id), 0, 0, std::move(text));
  if (rows_.size() != rows) blocks_.push_back({row, block.loopDepth, successors});
  return row;
}

void States::add(State state, std::vector<std::uint32_t> rows) {
  state.edits = difference(now_, rows);
  // A change of the text format is not a change by the phase.
  if (!states_.empty() && states_.back().isOri == state.isOri)
    for (const Edit& edit : state.edits) {
      state.removed += edit.removed;
      state.added += static_cast<unsigned>(edit.added.size());
    }
  states_.push_back(std::move(state));
  now_ = std::move(rows);
}

void States::addPtx(std::size_t phase, std::string_view text, bool hasChanged) {
  std::vector<std::uint32_t> rows;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    rows.push_back(rowOf(kPtxRow, 0, 0, std::string(text.substr(0, end))));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  State state;
  state.phase = phase;
  state.hasChanged = hasChanged;
  state.instructions = static_cast<std::size_t>(
      std::ranges::count_if(rows, [&](std::uint32_t row) { return rows_[row].text.ends_with(';'); }));
  add(std::move(state), std::move(rows));
}

void States::addOri(std::size_t phase, const ori::Function& function, bool hasChanged) {
  State state;
  state.phase = phase;
  state.isOri = true;
  state.hasChanged = hasChanged;
  if (!hasChanged && !states_.empty() && states_.back().isOri) {
    state.instructions = states_.back().instructions;
    state.peak = states_.back().peak;
    states_.push_back(std::move(state));
    return;
  }
  std::vector<std::uint32_t> rows;
  for (const ori::Block* block : function.layout()) {
    rows.push_back(rowOf(function, *block));
    for (const ori::Instr& instr : *block) {
      rows.push_back(rowOf(instr.id, instr.source.ptxLine, instr.source.loc, ori::print(function, instr)));
      ++state.instructions;
    }
  }
  const ori::Cfg cfg(function);
  state.peak = ori::RegisterPressure(ori::Liveness(cfg)).maximum();
  add(std::move(state), std::move(rows));
}

void States::setTime(std::size_t phase, double milliseconds) {
  const auto found = std::ranges::find(states_.rbegin(), states_.rend(), phase, &State::phase);
  if (found != states_.rend()) found->milliseconds = milliseconds;
}

ordered_json States::json() const {
  ordered_json states = ordered_json::array();
  for (const State& s : states_) {
    ordered_json edits = ordered_json::array();
    for (const Edit& edit : s.edits)
      edits.push_back({edit.at, edit.removed, edit.added});
    ordered_json state = {{"phase", s.phase == kAsRead ? ordered_json() : ordered_json(s.phase)},
                          {"form", s.isOri ? "ori" : "ptx"},
                          {"changed", s.hasChanged},
                          {"added", s.added},
                          {"removed", s.removed},
                          {"instructions", s.instructions},
                          {"milliseconds", s.milliseconds},
                          {"edits", std::move(edits)}};
    if (s.isOri) state["peak"] = {{"R", s.peak[0]}, {"UR", s.peak[1]}, {"P", s.peak[2]}, {"UP", s.peak[3]}};
    states.push_back(std::move(state));
  }
  ordered_json ids = ordered_json::array(), lines = ordered_json::array(), locs = ordered_json::array(),
               texts = ordered_json::array();
  for (const Row& row : rows_) {
    ids.push_back(row.id == kPtxRow ? ordered_json() : ordered_json(row.id));
    lines.push_back(row.line);
    locs.push_back(row.loc);
    texts.push_back(row.text);
  }
  ordered_json blocks = ordered_json::array();
  for (const BlockRow& block : blocks_)
    blocks.push_back({{"row", block.row}, {"depth", block.depth}, {"to", block.successors}});
  return {{"states", std::move(states)},
          {"rows",
           {{"id", std::move(ids)}, {"line", std::move(lines)}, {"loc", std::move(locs)}, {"text", std::move(texts)}}},
          {"blocks", std::move(blocks)}};
}

} // namespace orias::report
