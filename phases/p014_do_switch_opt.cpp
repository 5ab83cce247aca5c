#include "encoder/isa/desc.h"
#include "ori/analysis/divergence.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "phases/phases.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <vector>

namespace orias::phases {

using isa::File;
using isa::Mod;
using isa::Op;
using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;
using ori::kNoId;

namespace {

/// Cases at a leaf of the tree, which are compared one after the other.
constexpr std::size_t kMostAtLeaf = 2;
/// So many times the cases are wanted where lanes go different ways: each test of the tree divides them once more.
constexpr std::size_t kTimesWhenDivergent = 2;

/// One comparison of the chain, at the end of its block: to `target` when the value is `number`.
struct Case {
  Block* block;
  Instr* compare;
  std::uint32_t number;
  BlockId target, rest;
};

std::optional<std::uint32_t> numberOf(const Operand& o) {
  if (o.isImm() && !o.neg()) return static_cast<std::uint32_t>(o.imm);
  if (o.isReg(File::R) && o.isZeroReg()) return 0u;
  return std::nullopt;
}

class Switches {
 public:
  Switches(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(function), isTaken_(cfg_.idCount(), false),
        fewest_(static_cast<std::size_t>(context.knobs.get(Knob::SwitchOptMinCases))) {}

  bool run() {
    bool changed = false;
    // Heads come before what follows them, so that a chain is found from its beginning.
    for (BlockId id : cfg_.reversePostOrder()) {
      if (isTaken_[id]) continue;
      const std::vector<Case> chain = chainFrom(function_.block(id));
      if (chain.size() < 2 || !pays(chain)) continue;
      build(chain);
      changed = true;
    }
    return changed;
  }

 private:
  /// The test that a block ends with, when nobody else reads it.
  std::optional<Case> caseAt(Block* block) const {
    const Instr* branch = ori::plainBranch(*block);
    if (!branch || !branch->isGuarded() || block->fallthrough == kNoId) return std::nullopt;
    const ori::Operand& guard = branch->guard();
    const BlockId taken = branch->op_(1).reg;
    if (guard.file != File::P || !guard.isVirtual() || taken == block->fallthrough) return std::nullopt;
    Instr* compare = function_.singleDef(guard.reg);
    if (!compare || compare->block != block || compare->op != Op::ISETP || compare->isGuarded() || !isPlain(*compare))
      return std::nullopt;
    unsigned readers = 0;
    function_.forEachUse(guard.reg, [&](ori::Operand&) { ++readers; });
    const auto number = numberOf(compare->op_(3).value());
    const auto order = isa::modAs<isa::ICmp>(*compare, Mod::Cmp);
    if (readers != 1 || !number || (order != isa::ICmp::EQ && order != isa::ICmp::NE)) return std::nullopt;
    const ori::Operand& value = compare->op_(2);
    if (!value.isReg(File::R) || !value.isVirtual() || isChangedBehind(*compare, value)) return std::nullopt;
    const bool takenWhenEqual = (order == isa::ICmp::EQ) != guard.inverted();
    return Case{block, compare, *number, takenWhenEqual ? taken : block->fallthrough,
                takenWhenEqual ? block->fallthrough : taken};
  }

  /// A comparison with one result and no second condition.
  static bool isPlain(const Instr& compare) {
    const ori::Operand &second = compare.op_(1), &other = compare.op_(4);
    return (second.isNone() || second.isZeroReg()) && other.isZeroReg() && !other.inverted() &&
           isa::modAs<isa::BoolOp>(compare, Mod::Bool) == isa::BoolOp::AND;
  }

  bool isChangedBehind(const Instr& compare, const ori::Operand& value) const {
    for (const Instr* instr = compare.next; instr; instr = instr->next)
      for (const ori::Operand& o : instr->ops())
        if (o.isDef && o.isVirtual() && o.reg == value.reg) return true;
    return false;
  }

  /// The comparisons of one value with different numbers, each of which is made when the one before has failed.
  std::vector<Case> chainFrom(Block* head) {
    std::vector<Case> chain;
    for (Block* at = head; at;) {
      const auto found = caseAt(at);
      if (!found) break;
      const bool isFirst = chain.empty();
      // Nothing but the comparison stands in the blocks behind the first.
      if (!isFirst && (found->compare != at->first || found->compare->next != at->last)) break;
      if (!isFirst && found->compare->op_(2).value() != chain.front().compare->op_(2).value()) break;
      if (std::any_of(chain.begin(), chain.end(), [&](const Case& c) { return c.number == found->number; })) break;
      chain.push_back(*found);
      isTaken_[at->id] = true;
      Block* next = function_.block(found->rest);
      if (next == head || next->id == cfg_.entry() || cfg_.predecessors(next->id).size() != 1 || isTaken_[next->id])
        break;
      at = next;
    }
    // Where none holds must not be where one of them leads: its phis would name a block twice.
    if (!chain.empty() &&
        std::any_of(chain.begin(), chain.end(), [&](const Case& c) { return c.target == chain.back().rest; }))
      chain.clear();
    return chain;
  }

  bool pays(const std::vector<Case>& chain) {
    const Instr* where = chain.front().block->last;
    if (!divergence_) divergence_.emplace(cfg_);
    const bool isUniform = divergence_->isUniform(chain.front().compare->op_(2).value());
    const std::size_t wanted = isUniform ? fewest_ : kTimesWhenDivergent * fewest_;
    if (chain.size() >= wanted) return true;
    if (chain.size() > 2)
      context_.remarks.refused(where,
                               fmt::format("{} comparisons of one value stay a chain: at least {} where it is {}",
                                           chain.size(), wanted, isUniform ? "uniform" : "divergent"),
                               static_cast<int>(chain.size()));
    return false;
  }

  /// The tests of the chain become the leaves of a tree, in the order of their numbers.
  void build(std::vector<Case> chain) {
    Block* head = chain.front().block;
    const Operand value = chain.front().compare->op_(2).value();
    const BlockId rest = chain.back().rest;
    const BlockId last = chain.back().block->id;
    context_.remarks.did(head->last, fmt::format("{} comparisons of one value become a tree", chain.size()),
                         static_cast<int>(chain.size()));
    source_ = head->last->source;
    depth_ = head->loopDepth;
    // The first test leaves the block of the code in front of it.
    Block* first = function_.newBlockAfter(head);
    first->loopDepth = depth_;
    for (Instr* instr : {chain.front().compare, head->last}) {
      function_.unlink(instr);
      function_.append(first, instr);
    }
    function_.renamePhiSource(function_.block(chain.front().target), head->id, first->id);
    chain.front().block = first;

    for (const Case& c : chain)
      leadOnTo(c, rest);
    for (const Case& c : chain)
      if (c.block->id != last) addPhiSource(rest, last, c.block->id);
    std::sort(chain.begin(), chain.end(), [](const Case& a, const Case& b) { return a.number < b.number; });
    dropUnlessLeaf(chain, rest);
    head->fallthrough = treeOf(chain, 0, chain.size(), value, head)->id;
  }

  /// Makes the test branch to its target, and fall through to where it fails.
  void leadOnTo(const Case& c, BlockId rest) {
    Instr* branch = c.block->last;
    if (branch->op_(1).reg != c.target) {
      function_.setGuard(branch, branch->guard().value().notted());
      function_.setOperand(branch, 1, Operand::label(c.target));
    }
    c.block->fallthrough = rest;
  }

  /// The phis of `block` take from `added` what they take from `known`.
  void addPhiSource(BlockId block, BlockId known, BlockId added) {
    for (Instr& phi : *function_.block(block)) {
      if (phi.op != Op::PHI) break;
      const Operand sources[] = {*ori::phiValueFrom(phi, known), Operand::label(added)};
      function_.addOperands(&phi, sources);
    }
  }

  /// Tests of one leaf stand in a row: only the last of them leads to where all have failed.
  void dropUnlessLeaf(const std::vector<Case>& chain, BlockId rest) { splitLeaves(chain, 0, chain.size(), rest); }
  void splitLeaves(const std::vector<Case>& chain, std::size_t from, std::size_t to, BlockId rest) {
    if (to - from > kMostAtLeaf) {
      splitLeaves(chain, from, from + (to - from) / 2, rest);
      splitLeaves(chain, from + (to - from) / 2, to, rest);
      return;
    }
    for (std::size_t i = from; i + 1 < to; ++i) {
      ori::removePhiSource(function_, function_.block(rest), chain[i].block->id);
      chain[i].block->fallthrough = chain[i + 1].block->id;
    }
  }

  /// The block that decides between the cases from `from` up to `to`.
  Block* treeOf(const std::vector<Case>& chain, std::size_t from, std::size_t to, const Operand& value, Block* behind) {
    if (to - from <= kMostAtLeaf) return chain[from].block;
    const std::size_t middle = from + (to - from) / 2;
    Block* node = function_.newBlockAfter(behind);
    node->loopDepth = depth_;
    const Operand isLess = function_.use(function_.newVReg(File::P));
    ori::Builder b(function_, node);
    b.setSource(source_);
    const auto bound = Operand::immediate(static_cast<std::int32_t>(chain[middle].number));
    b.emit(Op::ISETP, {isLess, Operand::pt(), value, bound, Operand::pt()},
           {{Mod::Cmp, isa::ICmp::LT}, {Mod::Type, isa::IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
    b.setGuard(isLess);
    b.branch(treeOf(chain, from, middle, value, node));
    node->fallthrough = treeOf(chain, middle, to, value, node)->id;
    return node;
  }

  ori::Function& function_;
  PhaseContext& context_;
  const ori::Cfg cfg_;
  std::optional<ori::Divergence> divergence_;
  std::vector<bool> isTaken_; // by block
  const std::size_t fewest_;
  ori::Source source_;
  std::uint8_t depth_ = 0;
};

} // namespace

/// Phase 14, and again as 30. A chain of comparisons of one value with many numbers becomes a balanced tree: the
/// numbers are halved until two are left. A value that differs between lanes wants more of them, as those lanes run all
/// tests of either form. Branch tables of PTX come here, too, as chains.
bool doSwitchOpt(ori::Function& function, PhaseContext& context) {
  return Switches(function, context).run();
}

} // namespace orias::phases
