#include "phases/remat/target.h"

#include "encoder/isa/target.h"

#include <algorithm>

namespace orias::phases {

namespace {

constexpr auto kR = static_cast<std::size_t>(isa::File::R);
/// The reciprocal of the share of registers that the allocator needs to align tuples.
constexpr unsigned kRoomForTuples = 12;
constexpr unsigned kShare = 80; ///< percent
/// A class is within reach if its limit is at most this many registers lower.
constexpr unsigned kReach = 16;

} // namespace

std::string_view nameOf(RematTarget::Reason reason) {
  switch (reason) {
  case RematTarget::Reason::Limit: return "limit of the function";
  case RematTarget::Reason::Occupancy: return "occupancy class";
  case RematTarget::Reason::Share: return "share of the pressure";
  }
  return {};
}

RematTargets::RematTargets(const ori::Function& function, const PhaseContext& context)
    : context_(context), classes_(function, context), limit_(usable(context.maxRegisters)) {
  if (context.knobs.enabled(Knob::CtaReconfigAwareMrpa) && ori::hasRegisterRequests(function))
    counts_.emplace(function, context.maxRegisters);
}

unsigned RematTargets::usable(unsigned registers) const {
  const unsigned reserved = context_.target.reservedRegisters();
  const unsigned free = std::max(registers, reserved) - reserved;
  const std::int64_t wanted =
      static_cast<std::int64_t>(free - free / kRoomForTuples) + context_.knobs.get(Knob::RegTargetAdjust);
  return static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 0, free));
}

unsigned RematTargets::limitIn(ori::BlockId id) const {
  return counts_ ? std::min(limit_, usable(counts_->atStart(id))) : limit_;
}

unsigned RematTargets::ceiling() const {
  const auto wanted = static_cast<unsigned>(context_.knobs.get(Knob::RematMaxregCeiling));
  return wanted != 0 ? std::min(limit_, wanted) : limit_;
}

bool RematTargets::mayBeFor(unsigned most) const {
  return most > ceiling() || context_.knobs.get(Knob::RematForOcc) == 0 ||
         context_.knobs.enabled(Knob::RematBeforeSched);
}

std::vector<RematTarget> RematTargets::forLive(unsigned live) const {
  using Reason = RematTarget::Reason;
  const unsigned ceiling = this->ceiling();
  if (live > ceiling) return {{ceiling, Reason::Limit}};
  const auto percent = static_cast<double>(context_.knobs.get(Knob::RematForOcc));
  if (percent == 0) return {{live * kShare / 100, Reason::Share}};
  std::vector<RematTarget> targets;
  if (!context_.knobs.enabled(Knob::RematBeforeSched)) return targets;
  for (const unsigned end : classes_.ends())
    if (end < live && live - end <= kReach && 100 * classes_.warps(end) >= percent * classes_.warps(live))
      targets.push_back({end, Reason::Occupancy});
  return targets;
}

bool RematTargets::areWarpsWorth(unsigned before, unsigned after, double added, double all) const {
  const double gain = classes_.warps(after) / std::max(classes_.warps(before), 1.0) - 1;
  return added <= static_cast<double>(context_.knobs.get(Knob::RematWorkForWarps)) / 100.0 * gain * all;
}

unsigned RematTargets::excessIn(ori::BlockId id, const ori::RegisterPressure& pressure,
                                const RematTarget& target) const {
  const unsigned wanted = std::min(target.registers, limitIn(id)), live = pressure.inBlock(id)[kR];
  return live > wanted ? live - wanted : 0;
}

unsigned RematTargets::excess(const ori::RegisterPressure& pressure, const ori::Cfg& cfg,
                              const RematTarget& target) const {
  unsigned most = 0;
  for (const ori::BlockId id : cfg.reversePostOrder())
    most = std::max(most, excessIn(id, pressure, target));
  return most;
}

} // namespace orias::phases
