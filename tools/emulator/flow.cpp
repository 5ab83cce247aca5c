// Control flow of lanes: branches, exits, and reconvergence.

#include "tools/emulator/machine.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace orias::emu {

namespace {

constexpr std::uint32_t kWordBytes = 16;

std::uint32_t firstLane(std::uint32_t mask) {
  return static_cast<std::uint32_t>(std::countr_zero(mask));
}

} // namespace

void Machine::jump(std::uint32_t lanes, std::uint32_t target, std::uint32_t block) {
  Warp& w = warp();
  Path& here = path();
  const std::uint32_t stay = here.mask & ~lanes;
  if (code_.hasPhis())
    for (std::uint32_t rest = here.mask; rest != 0; rest &= rest - 1)
      w.from[firstLane(rest)] = block;
  const bool isBackward = lanes != 0 && target <= here.pc;
  if (lanes == 0) {
    ++here.pc;
  } else if (stay == 0) {
    here.pc = target;
  } else {
    // The current path takes the lanes that fall through; the others wait for their turn.
    if (figures_) figures_->divide();
    Path other{target, lanes};
    here.mask = stay;
    ++here.pc;
    w.paths.push_back(other);
  }
  countTurn(isBackward);
}

void Machine::branch(const Operation& op, std::uint32_t lanes) {
  lanes &= predicateMask(op, op.predicate);
  constexpr int kUniform = 1; // the slots: predicate, uniform predicate, target
  if (op.inst.op == isa::Op::BRA_UNIFORM) lanes &= predicateMask(op, kUniform);
  if (isa::getMod(op.inst, isa::Mod::Sub2) != 0) { // U: all branch, if all (or with ANY, one) take it
    const bool oneIsEnough = isa::getMod(op.inst, isa::Mod::Sub3) != 0;
    lanes = lanes == path().mask || (oneIsEnough && lanes != 0) ? path().mask : 0;
  }
  jump(lanes, op.target, op.block);
}

/// Returns whether some lanes in the mask of BRA.DIV and BRA.CONV are missing here, or the guard is false for one of
/// them. The guard needs special treatment: ptxas makes it false where lanes want different masks, in which case they
/// count as diverged.
bool Machine::isDivided(const Operation& op, std::uint32_t lanes) {
  lanes &= predicateMask(op, op.predicate);
  const int mask = 1; // the slots: predicate, mask, target
  const isa::Operand& operand = op.inst.operands[mask];
  const std::uint32_t named = operand.isNone()     ? ~0u
                              : operand.inverted() ? ~uniformWord(op, mask, 0)
                                                   : uniformWord(op, mask, 0);
  return (named & warp().live & ~lanes) != 0;
}

void Machine::branchDivided(const Operation& op, std::uint32_t lanes) {
  jump(isDivided(op, lanes) ? path().mask : 0, op.target, op.block);
}

void Machine::branchConverged(const Operation& op, std::uint32_t lanes) {
  jump(isDivided(op, lanes) ? 0 : path().mask, op.target, op.block);
}

/// BRX, RET, CALL.REL Ra: branches to a base plus a register; the lanes may diverge.
void Machine::branchIndexed(const Operation& op, std::uint32_t lanes) {
  lanes &= predicateMask(op, op.predicate);
  Path& here = path();
  const std::uint32_t stay = here.mask & ~lanes, next = here.pc + 1;
  std::int64_t base = 0;
  const bool isAbsolute = op.inst.op == isa::Op::RET && isa::getMod(op.inst, isa::Mod::Sub) != 0;
  for (unsigned s = 0; s < op.inst.operandCount && !isAbsolute; ++s)
    if (const isa::Operand& o = op.inst.operands[s]; o.kind == isa::Operand::Kind::Label)
      base = o.reg != isa::Operand::kNoReg ? std::int64_t{o.reg} * kWordBytes : std::int64_t{next} * kWordBytes + o.imm;
  std::vector<Path> fresh;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = firstLane(rest);
    const auto byte = static_cast<std::uint64_t>(base + static_cast<std::int64_t>(value64(op, op.base, lane)));
    if (byte >= kDriverFunctions && byte < kConstantWindow) {
      callDriverAt(byte, lanes);
      here.pc = next;
      return;
    }
    if (byte % kWordBytes != 0 || byte / kWordBytes >= code_.size())
      return stop("memcheck", fmt::format("a jump to {:#x}, which is outside the code", byte));
    const auto target = static_cast<std::uint32_t>(byte / kWordBytes);
    const auto same = std::find_if(fresh.begin(), fresh.end(), [&](const Path& p) { return p.pc == target; });
    if (same != fresh.end())
      same->mask |= 1u << lane;
    else
      fresh.push_back({target, 1u << lane});
  }
  goApart(std::move(fresh), stay);
}

/// The lanes of each path branch there, and those of `stay` continue. One of these paths executes next.
void Machine::goApart(std::vector<Path> ways, std::uint32_t stay) {
  Path& here = path();
  const std::uint32_t next = here.pc + 1;
  if (ways.empty()) {
    here.pc = next;
    return;
  }
  const bool isBackward = ways[0].pc < next;
  if (figures_ && (stay != 0 || ways.size() > 1)) figures_->divide();
  if (stay != 0) {
    here.mask = stay;
    here.pc = next;
  } else {
    here = ways.back();
    ways.pop_back();
  }
  warp().paths.insert(warp().paths.end(), ways.begin(), ways.end());
  countTurn(isBackward);
}

/// JMX: branches to the instruction with the number.
void Machine::branchByNumber(const Operation& op, std::uint32_t lanes) {
  const std::vector<std::uint32_t>& targets = program_.targets[static_cast<std::size_t>(op.targets)];
  std::vector<Path> ways;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = firstLane(rest);
    const std::uint32_t number = word(op, op.base, 0, lane);
    if (number >= targets.size())
      return stop("memcheck", fmt::format("a jump with offset {} from {}", number, targets.size()));
    const auto same = std::ranges::find(ways, targets[number], &Path::pc);
    if (same != ways.end())
      same->mask |= 1u << lane;
    else
      ways.push_back({targets[number], 1u << lane});
  }
  goApart(std::move(ways), path().mask & ~lanes);
}

/// CALL.REL to a label. The return address is already in registers.
void Machine::call(const Operation& op, std::uint32_t lanes) {
  jump(lanes & predicateMask(op, op.predicate), op.target, op.block);
}

/// CALL.ABS to an address from the linker.
void Machine::callAbsolute(const Operation& op, std::uint32_t lanes) {
  constexpr std::size_t kTarget = 1; // of the slots
  lanes &= predicateMask(op, op.predicate);
  if (op.inst.operands[kTarget].kind == isa::Operand::Kind::Symbol) // only in Ori, which is a single function
    return stop("unsupported", "a call of a function that is not part of the code");
  const std::uint64_t byte = op.preset[kTarget].u64();
  if (byte >= kDriverFunctions && byte < kConstantWindow) {
    callDriverAt(byte, lanes);
    ++path().pc;
    return;
  }
  if (byte % kWordBytes != 0 || byte / kWordBytes >= code_.size())
    return stop("memcheck", fmt::format("a call of {:#x}, which is outside the code", byte));
  jump(lanes, static_cast<std::uint32_t>(byte / kWordBytes), op.block);
}

void Machine::exit(const Operation& op, std::uint32_t lanes) {
  lanes &= predicateMask(op, op.predicate);
  abandonCopies(lanes);
  if (stopped_) return;
  Warp& w = warp();
  Path& here = path();
  w.live &= ~lanes;
  here.mask &= ~lanes;
  ++here.pc;
  if (here.mask == 0) {
    w.paths.erase(w.paths.begin() + static_cast<std::ptrdiff_t>(w.current));
    w.current = 0;
    isSwitching_ = true;
  }
  if (lanes == 0) return;
  releaseWaiting();
  checkBarriers();
}

void Machine::trap(const Operation& op, std::uint32_t lanes) {
  if (lanes != 0) return stop("trap", "the program stops itself");
  (void)op;
  ++path().pc;
}

// --- convergence barriers
// ---------------------------------------------------------------------------------------------

/// BSSY: registers these lanes at a reconvergence point.
void Machine::armBarrier(const Operation& op, std::uint32_t lanes) {
  std::uint32_t* masks = warp().b.data() + std::size_t{op.barrier} * kLanes;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    masks[firstLane(rest)] = lanes;
  ++path().pc;
}

/// Removes these lanes from the barrier; the others no longer wait for them.
void Machine::removeFromBarrier(std::uint32_t lanes, std::uint32_t barrier) {
  std::uint32_t* masks = warp().b.data() + std::size_t{barrier} * kLanes;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t members = masks[firstLane(rest)];
    for (std::uint32_t m = members; m != 0; m &= m - 1)
      masks[firstLane(m)] &= ~(1u << firstLane(rest));
    masks[firstLane(rest)] = 0;
  }
}

/// BREAK: these lanes leave the barrier.
void Machine::leaveBarrier(const Operation& op, std::uint32_t lanes) {
  lanes &= predicateMask(op, op.predicate);
  removeFromBarrier(lanes, op.barrier);
  ++path().pc;
  if (lanes != 0) releaseWaiting();
}

void Machine::wait(std::uint32_t lanes, Path::State state, std::uint32_t wanted, std::uint32_t barrier) {
  Path& here = path();
  Path waiting{here.pc, lanes, state, wanted, barrier};
  if (lanes == here.mask) {
    here = waiting;
    isSwitching_ = true;
    return;
  }
  here.mask &= ~lanes;
  warp().paths.push_back(waiting);
}

/// BSYNC: waits for the lanes of the barrier.
void Machine::convergeAt(const Operation& op, std::uint32_t lanes) {
  lanes &= predicateMask(op, op.predicate);
  const std::uint32_t* masks = warp().b.data() + std::size_t{op.barrier} * kLanes;
  const std::uint32_t others = path().mask & ~lanes;
  const std::uint32_t pc = path().pc;
  // Usually all lanes are here.
  std::uint32_t stillToWait = lanes;
  while (stillToWait != 0) {
    const std::uint32_t members = masks[firstLane(stillToWait)];
    std::uint32_t alike = 0;
    for (std::uint32_t rest = stillToWait; rest != 0; rest &= rest - 1)
      if (masks[firstLane(rest)] == members) alike |= 1u << firstLane(rest);
    stillToWait &= ~alike;
    if ((members & warp().live & ~warp().yielded & ~alike) == 0 && alike == path().mask) {
      if ((members & warp().live & ~alike) != 0) removeFromBarrier(alike, op.barrier);
      ++path().pc;
      return;
    }
    wait(alike, Path::State::AtConvergence, members, op.barrier);
  }
  if (others != 0) path().pc = pc + 1;
  releaseWaiting();
}

/// WARPSYNC: waits for the lanes of a mask, each at a WARPSYNC for the same mask. Lanes whose masks are all here
/// continue together, unless it is EXCLUSIVE: then those of each mask continue separately. Lanes that are not in their
/// own mask execute an illegal instruction (observed on H200).
void Machine::warpSync(const Operation& op, std::uint32_t lanes) {
  lanes &= predicateMask(op, op.predicate);
  const std::uint32_t others = path().mask & ~lanes, pc = path().pc;
  const bool isAll = op.base < 0;
  const bool isExclusive = op.inst.op == isa::Op::WARPSYNC && isa::getMod(op.inst, isa::Mod::Sub) != 0;
  std::uint32_t wantedByAny = 0;
  for (std::uint32_t rest = isAll ? 0 : lanes; rest != 0; rest &= rest - 1) {
    const unsigned lane = firstLane(rest);
    const std::uint32_t wanted = word(op, op.base, 0, lane);
    if ((wanted >> lane & 1) == 0)
      return stop("illegal", fmt::format("lane {} waits for the lanes {:#x} only", lane, wanted));
    wantedByAny |= wanted;
  }
  if (others == 0 && !isAll && !isExclusive && (wantedByAny & warp().live & ~lanes) == 0) {
    warp().yielded &= ~lanes;
    ++path().pc;
    return;
  }
  std::uint32_t stillToWait = lanes;
  while (stillToWait != 0) {
    const std::uint32_t wanted = isAll ? ~0u : word(op, op.base, 0, firstLane(stillToWait));
    std::uint32_t alike = 0;
    for (std::uint32_t rest = stillToWait; rest != 0; rest &= rest - 1)
      if (isAll || word(op, op.base, 0, firstLane(rest)) == wanted) alike |= 1u << firstLane(rest);
    stillToWait &= ~alike;
    if ((wanted & warp().live & ~alike) == 0 && alike == path().mask) {
      warp().yielded &= ~alike;
      ++path().pc;
      return;
    }
    wait(alike, Path::State::AtWarpSync, wanted, 0);
  }
  if (others != 0) path().pc = pc + 1;
  releaseWaiting();
}

void Machine::releaseWaiting() {
  Warp& w = warp();
  bool someWereReleased = false;
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < w.paths.size(); ++i) {
      const Path first = w.paths[i];
      if (first.state != Path::State::AtConvergence && first.state != Path::State::AtWarpSync) continue;
      const std::uint32_t* masks = w.b.data() + std::size_t{first.barrier} * kLanes;
      const bool isBarrier = first.state == Path::State::AtConvergence;
      // BREAK may have changed the set of lanes that a lane waits for.
      const auto wantedBy = [&](const Path& p) { return isBarrier ? masks[firstLane(p.mask)] : p.wanted; };
      // Lanes that have yielded are not waited for.
      const std::uint32_t awaited = isBarrier ? w.live & ~w.yielded : w.live;
      const std::uint32_t wanted = wantedBy(first) & awaited;
      std::uint32_t here = 0;
      const auto belongs = [&](const Path& p) {
        return p.state == first.state && (!isBarrier || p.barrier == first.barrier) &&
               (wantedBy(p) & awaited) == wanted;
      };
      for (const Path& p : w.paths)
        if (belongs(p)) here |= p.mask;
      if ((wanted & ~here) != 0) continue;
      const bool leavesOthers = (wantedBy(first) & w.live & ~here) != 0; // those that have yielded
      // All are here: lanes at the same instruction continue as one path.
      std::vector<Path> released;
      std::vector<Path> kept;
      const std::size_t current = w.current;
      Path running = current < w.paths.size() ? w.paths[current] : Path{};
      for (const Path& p : w.paths) {
        if (!belongs(p)) {
          kept.push_back(p);
          continue;
        }
        const auto same =
            std::find_if(released.begin(), released.end(), [&](const Path& r) { return r.pc == p.pc + 1; });
        if (same != released.end())
          same->mask |= p.mask;
        else
          released.push_back({p.pc + 1, p.mask});
      }
      if (!isBarrier) w.yielded &= ~here;
      if (leavesOthers) removeFromBarrier(here, first.barrier);
      kept.insert(kept.end(), released.begin(), released.end());
      w.paths = std::move(kept);
      w.current = 0;
      for (std::size_t k = 0; k < w.paths.size(); ++k)
        if ((w.paths[k].mask & running.mask) != 0) w.current = k;
      someWereReleased = again = true;
      break;
    }
  }
  if (someWereReleased && !w.paths.empty() && path().state == Path::State::Ready && !stopped_) return;
  if (w.paths.empty() || path().state != Path::State::Ready) isSwitching_ = true;
}

/// YIELD and NANOSLEEP: other warps, and other lanes of the warp, may run first. BSYNC does not wait for lanes that
/// have yielded, until a WARPSYNC has converged them (observed on H200).
void Machine::giveWay(const Operation&, std::uint32_t lanes) {
  Warp& w = warp();
  ++path().pc;
  if (lanes == 0 || meetsAnywhere_) return;
  if (w.paths.size() > 1) {
    w.yielded |= path().mask;
    releaseWaiting();
  }
  isSwitching_ = givesWay_ = true;
}

void Machine::readBarrier(const Operation& op, std::uint32_t lanes) {
  std::uint32_t* masks = warp().b.data() + std::size_t{op.barrier} * kLanes;
  const bool clears = isa::getMod(op.inst, isa::Mod::Sub) != 0;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = firstLane(rest);
    setWord(op, op.result, 0, lane, masks[lane]);
    if (clears) masks[lane] = 0;
  }
}

void Machine::writeBarrier(const Operation& op, std::uint32_t lanes) {
  std::uint32_t* masks = warp().b.data() + std::size_t{op.barrier} * kLanes;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
    masks[firstLane(rest)] = word(op, op.base, 0, firstLane(rest));
}

/// BMOV.32 from a number or another barrier, given by physical operands.
void Machine::setBarrier(const Operation& op, std::uint32_t lanes) {
  const auto masksOf = [&](unsigned slot) {
    return warp().b.data() + std::size_t{op.inst.operands[slot].reg} * kLanes;
  };
  std::uint32_t* const to = masksOf(0);
  const isa::Operand& from = op.inst.operands[1];
  const bool clears = op.inst.op == isa::Op::BMOV_BB && isa::getMod(op.inst, isa::Mod::Sub) != 0;
  for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    const std::uint32_t lane = firstLane(rest);
    to[lane] = from.isImm() ? static_cast<std::uint32_t>(from.imm) : masksOf(1)[lane];
    if (clears) masksOf(1)[lane] = 0;
  }
}

/// BMOV.32 B, MACTIVE. Written for all lanes, because lanes that are enabled later also read the mask.
void Machine::saveActive(const Operation& op, std::uint32_t lanes) {
  std::fill_n(warp().b.data() + std::size_t{op.barrier} * kLanes, kLanes, lanes);
}

/// BMOV.32 MACTIVE, B. PQUAD enables lanes that wait elsewhere, or have exited, until the mask is restored. The path
/// executes for them, too, and no other path is scheduled in between.
void Machine::setActive(const Operation& op, std::uint32_t lanes) {
  std::uint32_t mask = warp().b[std::size_t{op.barrier} * kLanes + firstLane(lanes)];
  if (isa::getMod(op.inst, isa::Mod::Sub) != 0)
    for (unsigned quad = 0; quad < kLanes; quad += 4)
      if ((mask >> quad & 0xf) != 0) mask |= 0xfu << quad;
  path().mask = mask;
}

// --- Ori before phase 99: lanes reconverge at the start of any block

void Machine::mergePaths() {
  Warp& w = warp();
  for (std::size_t i = 0; i < w.paths.size(); ++i) {
    if (i == w.current || w.paths[i].state != Path::State::Ready || w.paths[i].pc != path().pc) continue;
    path().mask |= w.paths[i].mask;
    w.paths.erase(w.paths.begin() + static_cast<std::ptrdiff_t>(i));
    if (w.current > i) --w.current;
    --i;
  }
}

void Machine::enterBlock() {
  mergePaths();
  if (turn_ < patience_) return;
  for (const Path& p : warp().paths)
    if (p.state == Path::State::Ready && p.pc < path().pc) isSwitching_ = true;
}

/// The phis of a block: each lane takes the values for its predecessor block.
void Machine::phis(const Operation& op, std::uint32_t lanes) {
  Warp& w = warp();
  const PhiGroup& group = program_.phis[static_cast<std::size_t>(op.phis)];
  const auto sourceOf = [&](unsigned lane) {
    const auto found = std::find(group.predecessors.begin(), group.predecessors.end(), w.from[lane]);
    return static_cast<std::size_t>(found - group.predecessors.begin());
  };
  const auto read = [&](const Code::Place& p, unsigned extra, unsigned lane) -> std::uint32_t {
    if (!p.isRegister || p.isZero) return static_cast<std::uint32_t>(p.constant >> (32 * std::min(extra, 1u)));
    switch (p.file) {
    case isa::File::R: return w.row(p.row + extra)[lane];
    case isa::File::P: return w.p[p.row] >> lane & 1;
    case isa::File::UR: return w.u[p.row + extra];
    case isa::File::UP: return w.up[p.row];
    case isa::File::B: return w.b[p.row * kLanes + lane];
    }
    return 0;
  };
  struct Target {
    Write write;
    std::size_t value;
  };
  phiValues_.clear();
  std::vector<Target> targets;
  for (const PhiGroup::Phi& phi : group.phis) {
    const Code::Place to = code_.place(phi.result);
    for (unsigned k = 0; k < phi.result.width; ++k) {
      const From file = to.file == isa::File::P    ? From::Predicate
                        : to.file == isa::File::UR ? From::Uniform
                        : to.file == isa::File::UP ? From::UniformPredicate
                                                   : From::Lane;
      targets.push_back({{0, 0, file, isa::Access::Port::Main, to.row + k}, phiValues_.size()});
      phiValues_.resize(phiValues_.size() + kLanes);
      for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const std::uint32_t lane = firstLane(rest);
        const std::size_t from = sourceOf(lane);
        if (from >= phi.values.size())
          return stop("unsupported", "a block is entered by an edge that its phis do not list");
        const isa::Operand& value = phi.values[from];
        std::uint32_t bits = value.isNone() ? 0 : read(code_.place(value), k, lane);
        if (value.isReg() && value.inverted() && !value.isZeroReg()) bits ^= 1;
        phiValues_[targets.back().value + lane] = bits;
      }
    }
  }
  for (const Target& t : targets)
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
      store(t.write, firstLane(rest), phiValues_[t.value + firstLane(rest)]);
}

} // namespace orias::emu
