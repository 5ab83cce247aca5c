#include "regalloc/check.h"

#include "encoder/isa/target.h"
#include "ori/analysis/cfg.h"
#include "ori/analysis/dominators.h"
#include "ori/module.h"
#include "ori/print.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::regalloc {

using isa::File;
using ori::Instr;
using ori::Operand;

namespace {

using Unit = std::uint32_t;
using UnitSet = std::vector<Unit>; // sorted

bool has(const UnitSet& set, Unit u) { return std::binary_search(set.begin(), set.end(), u); }
void insert(UnitSet& set, Unit u) {
  auto it = std::lower_bound(set.begin(), set.end(), u);
  if (it == set.end() || *it != u) set.insert(it, u);
}
void remove(UnitSet& set, Unit u) {
  auto it = std::lower_bound(set.begin(), set.end(), u);
  if (it != set.end() && *it == u) set.erase(it);
}

/// What is known at a point of the program.
struct State {
  bool reached = false;
  std::vector<UnitSet> holds;   ///< by location
  std::vector<bool> mayHaveValue; ///< by unit
};

class Checker {
 public:
  Checker(const ori::Function& function, const Assignment& assignment)
      : function_(function), assignment_(assignment), cfg_(function), in_(function.blockIdCount()) {
    firstUnit_.resize(function.vregCount());
    for (ori::VRegId v = 0; v < function.vregCount(); ++v) {
      firstUnit_[v] = units_;
      units_ += function.vreg(v).width;
    }
    std::uint32_t at = 0;
    for (File file : {File::R, File::UR, File::P, File::UP, File::B}) {
      fileBase_[static_cast<unsigned>(file)] = at;
      at += file == File::R ? 256 : file == File::UR ? 64 : 16;
    }
    spillBase_ = at;
    locations_ = at + assignment.spillWords;
  }

  std::vector<std::string> run() {
    checkShapes();
    if (!faults_.empty()) return std::move(faults_);
    flow(cfgEdges(), /*warpValues=*/false);
    if (usesWarpValues()) flow(warpEdges(), /*warpValues=*/true);
    return std::move(faults_);
  }

 private:
  using Edges = std::vector<std::vector<ori::BlockId>>;

  static bool isWarpFile(File file) { return file == File::UR || file == File::UP || file == File::B; }

  bool usesWarpValues() const {
    for (ori::VRegId v = 0; v < function_.vregCount(); ++v)
      if (isWarpFile(function_.vreg(v).file) && assignment_.physical[v] != ~0u) return true;
    return false;
  }

  void checkShapes() {
    for (ori::VRegId v = 0; v < function_.vregCount(); ++v) {
      const ori::VReg& reg = function_.vreg(v);
      std::uint32_t p = assignment_.physical[v];
      if (p == ~0u) continue;
      unsigned limit = function_.module().target().registerCount(reg.file);
      if (p + reg.width > limit) faults_.push_back(fmt::format("register {} is beyond the end of its file", p));
      if (p % reg.align != 0) faults_.push_back(fmt::format("register {} is not aligned to {}", p, reg.align));
    }
  }

  Edges cfgEdges() const {
    Edges edges(function_.blockIdCount());
    for (const ori::Block* b : function_.layout())
      for (ori::BlockId s : cfg_.successors(b->id)) edges[b->id].push_back(s);
    return edges;
  }

  Edges warpEdges() const {
    Edges edges = cfgEdges();
    const ori::DomTree postDominators = ori::DomTree::postDominators(cfg_);
    for (const ori::Block* b : function_.layout()) {
      auto sides = cfg_.successors(b->id);
      if (sides.size() < 2) continue;
      const ori::BlockId meet = postDominators.idom(b->id);
      std::vector<bool> seen(function_.blockIdCount(), false);
      std::vector<ori::BlockId> work(sides.begin(), sides.end());
      while (!work.empty()) {
        ori::BlockId at = work.back();
        work.pop_back();
        if (at == meet || seen[at]) continue;
        seen[at] = true;
        auto next = cfg_.successors(at);
        bool leaves = next.empty();
        for (ori::BlockId s : next) {
          leaves |= s == meet;
          work.push_back(s);
        }
        if (leaves)
          for (ori::BlockId side : sides)
            if (side != meet) edges[at].push_back(side);
      }
    }
    return edges;
  }

  Unit canonical(const isa::Operand& o, unsigned i) const {
    return firstUnit_[assignment_.standsFor[o.reg]] + assignment_.partOf[o.reg] + o.sub + i;
  }
  std::uint32_t location(const isa::Operand& o, unsigned i) const {
    return fileBase_[static_cast<unsigned>(o.file)] + assignment_.physical[o.reg] + o.sub + i;
  }
  bool concerns(const isa::Operand& o) const { return o.isReg() && o.isVirtual() && isWarpFile(o.file) == warpValues_; }

  void flow(const Edges& edges, bool warpValues) {
    warpValues_ = warpValues;
    for (State& s : in_) s = State{};
    State& entry = in_[function_.entry()->id];
    entry.reached = true;
    entry.holds.resize(locations_);
    entry.mayHaveValue.assign(units_, false);
    std::vector<ori::BlockId> work{function_.entry()->id};
    std::vector<bool> queued(function_.blockIdCount(), false);
    while (!work.empty()) {
      ori::BlockId b = work.back();
      work.pop_back();
      queued[b] = false;
      State state = in_[b];
      for (Instr& instr : *function_.block(b)) step(instr, state, nullptr);
      for (ori::BlockId s : edges[b])
        if (meet(in_[s], state) && !queued[s]) {
          queued[s] = true;
          work.push_back(s);
        }
    }
    for (const ori::Block* block : function_.layout()) {
      if (!in_[block->id].reached) continue;
      State state = in_[block->id];
      for (Instr& instr : *block) step(instr, state, &faults_);
    }
  }

  bool meet(State& into, const State& from) const {
    if (!into.reached) {
      into = from;
      return true;
    }
    bool changed = false;
    for (std::uint32_t l = 0; l < locations_; ++l) {
      if (into.holds[l] == from.holds[l]) continue;
      UnitSet both;
      for (Unit u : into.holds[l])
        if (has(from.holds[l], u) || !from.mayHaveValue[u]) both.push_back(u);
      for (Unit u : from.holds[l])
        if (!has(into.holds[l], u) && !into.mayHaveValue[u]) insert(both, u);
      if (both != into.holds[l]) {
        into.holds[l] = std::move(both);
        changed = true;
      }
    }
    for (Unit u = 0; u < units_; ++u)
      if (from.mayHaveValue[u] && !into.mayHaveValue[u]) into.mayHaveValue[u] = changed = true;
    return changed;
  }

  void dropEverywhere(State& state, Unit u) const {
    for (UnitSet& set : state.holds) remove(set, u);
  }

  void step(const Instr& instr, State& state, std::vector<std::string>* faults) {
    auto move = assignment_.spillMoves.find(instr.id);
    const SpillMove* spill = move == assignment_.spillMoves.end() ? nullptr : &move->second;

    if (faults)
      for (const Operand& o : instr.refs())
        if (concerns(o) && !o.isDef) checkUse(instr, o, state, *faults);

    if (spill) {
      stepSpill(instr, *spill, state);
      return;
    }
    const bool plainCopy = instr.op == ori::Op::COPY && !instr.isGuarded() && concerns(instr.op_(0)) && concerns(instr.op_(1)) &&
                           instr.op_(0).file == instr.op_(1).file && !instr.op_(1).neg() && !instr.op_(1).inverted();
    std::vector<UnitSet> copied;
    if (plainCopy)
      for (unsigned i = 0; i < instr.op_(1).width; ++i)
        copied.push_back(assignment_.physical[instr.op_(1).reg] == ~0u ? UnitSet{} : state.holds[location(instr.op_(1), i)]);

    for (const Operand& o : instr.refs()) {
      if (!concerns(o) || !o.isDef || assignment_.physical[o.reg] == ~0u) continue;
      for (unsigned i = 0; i < o.width; ++i) {
        const Unit u = canonical(o, i);
        UnitSet& held = state.holds[location(o, i)];
        const bool oldSurvives = !instr.isGuarded() || has(held, u) || !state.mayHaveValue[u];
        dropEverywhere(state, u);
        held.clear();
        if (plainCopy) {
          held = copied[i];
          remove(held, u);
        }
        if (oldSurvives) insert(held, u);
        state.mayHaveValue[u] = true;
      }
    }
  }

  void stepSpill(const Instr& instr, const SpillMove& spill, State& state) {
    const Operand& reg = instr.op_(spill.reg);
    const bool mine = isWarpFile(reg.file) == warpValues_ ||
                      (spill.kind == SpillMove::Kind::Move && isWarpFile(instr.op_(spill.from).file) == warpValues_);
    if (!mine || assignment_.physical[reg.reg] == ~0u) return;
    for (unsigned i = 0; i < reg.width; ++i) {
      const std::uint32_t word = spillBase_ + spill.word + i;
      switch (spill.kind) {
      case SpillMove::Kind::Store: {
        // Under a guard the word keeps what it held where the guard is false; both are the value when it held it before.
        UnitSet now = state.holds[location(reg, i)];
        if (instr.isGuarded()) {
          const Unit u = canonical(reg, i);
          if (!has(state.holds[word], u) && state.mayHaveValue[u] && !has(now, u)) now.clear();
        }
        state.holds[word] = std::move(now);
        break;
      }
      case SpillMove::Kind::Load: state.holds[location(reg, i)] = state.holds[word]; break;
      case SpillMove::Kind::Move: state.holds[location(reg, i)] = state.holds[location(instr.op_(spill.from), i)]; break;
      case SpillMove::Kind::Remat: state.holds[location(reg, i)] = {canonical(reg, i)}; break;
      }
    }
  }

  void checkUse(const Instr& instr, const Operand& o, const State& state, std::vector<std::string>& faults) const {
    for (unsigned i = 0; i < o.width; ++i) {
      const Unit u = canonical(o, i);
      if (!state.mayHaveValue[u]) continue;
      if (assignment_.physical[o.reg] == ~0u) {
        faults.push_back(fmt::format("{}: reads a register that has a value but no place", ori::print(function_, instr)));
        return;
      }
      if (has(state.holds[location(o, i)], u)) continue;
      faults.push_back(fmt::format("{}: register {} does not hold component {} of virtual register {}", ori::print(function_, instr),
                                   assignment_.physical[o.reg] + o.sub + i, o.sub + i, o.reg));
      return;
    }
  }

  const ori::Function& function_;
  const Assignment& assignment_;
  ori::Cfg cfg_;
  std::vector<State> in_;
  std::vector<Unit> firstUnit_;
  Unit units_ = 0;
  std::uint32_t fileBase_[isa::kFileCount] = {};
  std::uint32_t spillBase_ = 0;
  std::uint32_t locations_ = 0;
  bool warpValues_ = false;
  std::vector<std::string> faults_;
};

} // namespace

std::vector<std::string> check(const ori::Function& function, const Assignment& assignment) {
  return Checker(function, assignment).run();
}

} // namespace orias::regalloc
