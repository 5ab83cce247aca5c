#include "phases/region_values.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace orias::phases {

using ori::CompId;

namespace {

std::optional<std::uint8_t> indexOf(isa::File file) {
  for (std::uint8_t i = 0; i < kScheduledFiles.size(); ++i)
    if (kScheduledFiles[i] == file) return i;
  return std::nullopt;
}

void raise(RegionCounts& peak, const RegionCounts& live) {
  for (std::size_t f = 0; f < peak.size(); ++f)
    peak[f] = std::max(peak[f], live[f]);
}

} // namespace

/// Finds the values of a region, visiting its instructions in order.
class RegionValues::Finder {
 public:
  Finder(RegionValues& out, const ori::Liveness& liveness) : out_(out), liveness_(liveness) {}

  void add(const ori::Instr& instr) {
    const ori::Components& components = liveness_.components();
    forEach(instr, [&](CompId c, std::uint8_t file, bool isDef) {
      if (!isDef) touch(current(c, file));
    });
    forEach(instr, [&](CompId c, std::uint8_t file, bool isDef) {
      if (!isDef) return;
      // A guarded write keeps the old value, if that is used later.
      if (instr.isGuarded() && (!components.isVirtual(c) || !liveness_.startsLife(instr, c))) {
        touch(current(c, file));
        return;
      }
      const std::uint32_t value = make(file, false);
      current_[c] = value;
      out_.refs_.push_back({value, true});
    });
    out_.starts_.push_back(static_cast<std::uint32_t>(out_.refs_.size()));
  }

  void finish(const ori::LiveCounter& after) {
    for (const auto& [c, value] : current_)
      out_.values_[value].isLiveAfter = after.isLive(c);
  }

 private:
  template <typename F> void forEach(const ori::Instr& instr, F&& f) const {
    for (const ori::Operand& operand : instr.refs())
      if (operand.isReg())
        if (const auto file = indexOf(operand.file))
          liveness_.components().forEach(operand, [&](CompId c) { f(c, *file, operand.isDef); });
  }

  std::uint32_t make(std::uint8_t file, bool isLiveBefore) {
    Value value;
    value.file = file;
    value.isLiveBefore = isLiveBefore;
    out_.values_.push_back(value);
    return static_cast<std::uint32_t>(out_.values_.size() - 1);
  }

  /// The current value of the component: one from before the region if there was no write yet.
  std::uint32_t current(CompId c, std::uint8_t file) {
    const auto known = current_.find(c);
    if (known != current_.end()) return known->second;
    const std::uint32_t value = make(file, true);
    current_.emplace(c, value);
    return value;
  }

  void touch(std::uint32_t value) {
    const auto own = out_.refs_.begin() + static_cast<std::ptrdiff_t>(out_.starts_.back());
    if (std::any_of(own, out_.refs_.end(), [&](const Ref& ref) { return ref.value == value; })) return;
    out_.refs_.push_back({value, false});
    ++out_.values_[value].touches;
  }

  RegionValues& out_;
  const ori::Liveness& liveness_;
  std::unordered_map<CompId, std::uint32_t> current_; // iterated only where the order does not matter
};

RegionValues::RegionValues(std::span<ori::Instr* const> region, const ori::Liveness& liveness,
                           const ori::LiveCounter& after) {
  starts_.reserve(region.size() + 1);
  Finder finder(*this, liveness);
  for (const ori::Instr* instr : region)
    finder.add(*instr);
  finder.finish(after);
}

void RegionValues::setLiveBefore(const ori::FileCounts& counts) {
  for (std::size_t f = 0; f < kScheduledFiles.size(); ++f)
    liveThrough_[f] = counts[static_cast<std::size_t>(kScheduledFiles[f])];
  for (const Value& v : values_)
    if (v.isLiveBefore && liveThrough_[v.file] != 0) --liveThrough_[v.file];
}

RegionCounts RegionValues::bound() const {
  RegionCounts all = liveThrough_;
  for (const Value& v : values_)
    ++all[v.file];
  return all;
}

RegionCounts RegionValues::peak(std::span<const std::uint32_t> order) const {
  ForwardPressure pressure(*this);
  for (std::uint32_t node : order)
    pressure.issue(node);
  return pressure.peak();
}

ForwardPressure::ForwardPressure(const RegionValues& values)
    : values_(&values), left_(values.values().size()), changes_(values.nodeCount()), live_(values.liveThrough()) {
  for (const RegionValues::Value& v : values.values())
    if (v.isLiveBefore) ++live_[v.file];
  for (std::uint32_t node = 0; node < changes_.size(); ++node)
    for (const auto& [id, begins] : values.refs(node)) {
      const RegionValues::Value& v = values.values()[id];
      if (begins) {
        changes_[node][v.file] += v.touches != 0 || v.isLiveAfter;
        continue;
      }
      left_[id].touches = v.touches;
      left_[id].nodes ^= node;
      if (v.touches == 1 && !v.isLiveAfter) --changes_[node][v.file];
    }
  peak_ = live_;
}

void ForwardPressure::issue(std::uint32_t node) {
  for (const auto& [id, begins] : values_->refs(node)) {
    if (begins) continue;
    const RegionValues::Value& v = values_->values()[id];
    Left& left = left_[id];
    left.nodes ^= node;
    --left.touches;
    if (v.isLiveAfter) continue;
    if (left.touches == 0) --live_[v.file];
    if (left.touches == 1) --changes_[left.nodes][v.file];
  }
  RegionCounts now = live_; // including unused results
  for (const auto& [id, begins] : values_->refs(node)) {
    if (!begins) continue;
    const RegionValues::Value& v = values_->values()[id];
    ++now[v.file];
    if (v.touches != 0 || v.isLiveAfter) ++live_[v.file];
  }
  raise(peak_, now);
}

BackwardPressure::BackwardPressure(const RegionValues& values)
    : values_(&values), isLive_(values.values().size(), false), changes_(values.nodeCount()),
      live_(values.liveThrough()) {
  auto touching = std::make_shared<Touching>();
  std::vector<std::uint32_t>& starts = touching->starts;
  starts.assign(isLive_.size() + 1, 0);
  for (std::uint32_t node = 0; node < changes_.size(); ++node)
    for (const auto& [id, begins] : values.refs(node)) {
      ++starts[id + 1];
      if (!begins) ++changes_[node][values.values()[id].file];
    }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  touching->nodes.resize(starts.back());
  std::vector<std::uint32_t> at(starts.begin(), starts.end() - 1);
  for (std::uint32_t node = 0; node < changes_.size(); ++node)
    for (const auto& [id, begins] : values.refs(node))
      touching->nodes[at[id]++] = node;
  touching_ = std::move(touching);
  for (std::uint32_t id = 0; id < isLive_.size(); ++id)
    if (values.values()[id].isLiveAfter) begin(id);
  peak_ = live_;
}

/// The value becomes live. Placing another use then changes nothing; placing its definition ends it.
void BackwardPressure::begin(std::uint32_t value) {
  const std::uint8_t file = values_->values()[value].file;
  isLive_[value] = true;
  ++live_[file];
  for (std::uint32_t i = touching_->starts[value]; i < touching_->starts[value + 1]; ++i)
    --changes_[touching_->nodes[i]][file];
}

void BackwardPressure::place(std::uint32_t node) {
  RegionCounts now = live_; // including unused results
  for (const auto& [id, begins] : values_->refs(node)) {
    if (!begins) continue;
    const RegionValues::Value& v = values_->values()[id];
    if (isLive_[id])
      --live_[v.file];
    else
      ++now[v.file];
    isLive_[id] = false;
  }
  raise(peak_, now);
  for (const auto& [id, begins] : values_->refs(node)) {
    if (!begins && !isLive_[id]) begin(id);
  }
  raise(peak_, live_);
}

} // namespace orias::phases
