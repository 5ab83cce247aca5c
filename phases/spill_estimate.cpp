#include "phases/spill_estimate.h"

#include <set>
#include <utility>

namespace orias::phases {

namespace {

class SpillEstimate {
 public:
  SpillEstimate(const RegionValues& values, std::span<const std::uint32_t> order, unsigned registers, std::size_t file)
      : values_(values), order_(order), registers_(registers), file_(file), states_(values.values().size()),
        touchesOf_(values.values().size()) {
    for (std::uint32_t at = static_cast<std::uint32_t>(order.size()); at-- > 0;)
      for (const RegionValues::Ref& ref : values.refs(order[at]))
        if (!ref.begins && isInFile(ref.value)) touchesOf_[ref.value].push_back(at);
  }

  SpillCode run() {
    // Values that the region does not reference are spilled first.
    through_ = values_.liveThrough()[file_];
    for (std::uint32_t id = 0; id < states_.size(); ++id)
      if (isInFile(id) && values_.values()[id].isLiveBefore) {
        enter(id);
        states_[id].isStored = true;
      }
    makeRoom();
    for (const std::uint32_t node : order_) {
      for (const RegionValues::Ref& ref : values_.refs(node))
        if (!ref.begins && isInFile(ref.value)) read(ref.value);
      for (const RegionValues::Ref& ref : values_.refs(node))
        if (ref.begins && isInFile(ref.value)) enter(ref.value);
      makeRoom();
    }
    for (std::uint32_t id = 0; id < states_.size(); ++id)
      code_.loads +=
          isInFile(id) && values_.values()[id].isLiveAfter && states_[id].isStored && !states_[id].isInRegister;
    return code_;
  }

 private:
  struct State {
    bool isInRegister = false, isStored = false;
  };

  bool isInFile(std::uint32_t id) const { return values_.values()[id].file == file_; }

  /// The position of the next instruction that reads the value; after all others if only later code reads it.
  std::uint32_t nextTouch(std::uint32_t id) const {
    return touchesOf_[id].empty() ? static_cast<std::uint32_t>(order_.size()) : touchesOf_[id].back();
  }

  void enter(std::uint32_t id) {
    if (touchesOf_[id].empty() && !values_.values()[id].isLiveAfter) return;
    states_[id].isInRegister = true;
    inRegisters_.emplace(nextTouch(id), id);
  }

  void read(std::uint32_t id) {
    if (states_[id].isInRegister) {
      inRegisters_.erase({nextTouch(id), id});
      states_[id].isInRegister = false;
    } else {
      ++code_.loads;
    }
    touchesOf_[id].pop_back();
    enter(id);
  }

  void makeRoom() {
    while (inRegisters_.size() + through_ > registers_) {
      if (through_ != 0) {
        --through_;
        ++code_.loads; // for later code
        continue;
      }
      if (inRegisters_.empty()) return;
      const std::uint32_t id = inRegisters_.rbegin()->second;
      inRegisters_.erase(std::prev(inRegisters_.end()));
      states_[id].isInRegister = false;
      code_.stores += !states_[id].isStored;
      states_[id].isStored = true;
    }
  }

  const RegionValues& values_;
  const std::span<const std::uint32_t> order_;
  const unsigned registers_;
  const std::size_t file_; // an index into kScheduledFiles
  unsigned through_ = 0;
  std::vector<State> states_;                                     // by value
  std::vector<std::vector<std::uint32_t>> touchesOf_;             // by value: positions in the order, the next one last
  std::set<std::pair<std::uint32_t, std::uint32_t>> inRegisters_; // by next touch
  SpillCode code_;
};

} // namespace

SpillCode spillCodeOf(const RegionValues& values, std::span<const std::uint32_t> order, unsigned registers,
                      std::size_t file) {
  return SpillEstimate(values, order, registers, file).run();
}

} // namespace orias::phases
