#include "encoder/isa/desc.h"
#include "ori/analysis/analyses.h"
#include "ori/builder.h"
#include "ori/cfg_edit.h"
#include "ori/jump_table.h"
#include "ori/module.h"
#include "phases/phases.h"
#include "phases/value_switch.h"

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

/// The most cases at a leaf of the tree. They are compared in sequence.
constexpr std::size_t kMaxAtLeaf = 2;
/// Where lanes diverge, a tree requires so many times the cases: each test of the tree divides the lanes once more.
constexpr std::size_t kTimesWhenDivergent = 2;
/// A table is worth its load if it replaces at least so many tests. Its size and its share of unused entries are
/// bounded.
constexpr std::size_t kMinTests = 4;
constexpr std::uint64_t kMaxEntries = 1024;
constexpr std::uint64_t kMaxEntriesPerCase = 8;

/// One comparison of the chain, at the end of its block: branches to `target` when the value is `number`.
struct Case {
  Block* block;
  Instr* compare;
  std::uint32_t number;
  BlockId target, rest;
};

class Switches {
 public:
  Switches(ori::Function& function, PhaseContext& context)
      : function_(function), context_(context), cfg_(&function.analyses().cfg()), isTaken_(cfg_->idCount(), false),
        fewest_(static_cast<std::size_t>(context.knobs.get(Knob::SwitchOptMinCases))),
        fewestInTable_(static_cast<std::uint64_t>(context.knobs.get(Knob::SwitchOptMinTableCases))) {}

  bool run() {
    const bool hasNewTables = makeTables();
    if (hasNewTables) {
      // The trees below query divergence, which needs the current control flow.
      cfg_ = &function_.analyses().cfg();
      isTaken_.assign(cfg_->idCount(), false);
    }
    return makeTrees() || hasNewTables;
  }

 private:
  // Reverse post-order visits heads first, so a switch is found from its beginning.

  bool makeTables() {
    bool changed = false;
    for (BlockId id : cfg_->reversePostOrder())
      if (!isTaken_[id]) changed |= becomesTable(function_.block(id));
    return changed;
  }

  bool makeTrees() {
    bool changed = false;
    for (BlockId id : cfg_->reversePostOrder()) {
      if (isTaken_[id]) continue;
      const std::vector<Case> chain = chainFrom(function_.block(id));
      if (chain.size() < 2 || !pays(chain)) continue;
      build(chain);
      changed = true;
    }
    return changed;
  }

  // --- tables

  /// The table entries that differ from the usual target, from the first to the last, as signed or unsigned numbers.
  struct Table {
    BlockId usual = kNoId;
    std::uint32_t first = 0;
    std::uint64_t span = 0, cases = 0; ///< number of entries, and of those that do not lead to the usual target
  };

  static std::uint64_t countOf(const std::vector<WordRange>& words) {
    std::uint64_t count = 0;
    for (const WordRange& range : words)
      count += std::uint64_t{range.last} - range.first + 1;
    return count;
  }

  static Table tableOf(const ValueSwitch& found) {
    Table table;
    std::uint64_t most = 0;
    for (const auto& [target, words] : found.targets)
      if (const std::uint64_t count = countOf(words); count > most) {
        most = count;
        table.usual = target;
      }
    table.cases = (std::uint64_t{1} << 32) - most;
    table.span = std::uint64_t{1} << 32;
    for (const std::uint32_t origin : {0u, 1u << 31}) { // unsigned numbers, then signed ones
      std::uint32_t low = ~0u, high = 0;
      for (const auto& [target, words] : found.targets)
        for (const WordRange& range : words) {
          if (target == table.usual) continue;
          const bool isWhole = range.first - origin <= range.last - origin;
          low = std::min(low, isWhole ? range.first - origin : 0u);
          high = std::max(high, isWhole ? range.last - origin : ~0u);
        }
      if (low <= high && std::uint64_t{high} - low + 1 < table.span) {
        table.span = std::uint64_t{high} - low + 1;
        table.first = low + origin;
      }
    }
    return table;
  }

  /// Only out of SSA form: phis would have to be updated for the values that come from the table.
  bool becomesTable(Block* head) {
    if (function_.ssa) return false;
    const auto found = valueSwitchAt(*cfg_, head);
    if (!found || found->blocks.size() < kMinTests) return false;
    const Table table = tableOf(*found);
    if (table.cases < fewestInTable_ || table.span > kMaxEntries) return false;
    if (table.span > kMaxEntriesPerCase * table.cases) {
      context_.remarks.missed(
          head->last, fmt::format("no jump table for {} cases: it would have {} entries", table.cases, table.span),
          static_cast<int>(table.cases));
      return false;
    }
    context_.remarks.applied(
        head->last,
        fmt::format("replaced {} tests of one value with a jump table of {} entries", found->blocks.size(), table.span),
        static_cast<int>(table.span));
    buildTable(*found, table);
    return true;
  }

  void buildTable(const ValueSwitch& found, const Table& table) {
    std::vector<BlockId> targets(table.span, table.usual);
    for (const auto& [target, words] : found.targets)
      for (const WordRange& range : words)
        for (std::uint64_t i = 0; target != table.usual && i <= range.last - range.first; ++i)
          targets[static_cast<std::uint32_t>(range.first + i - table.first)] = target;

    Block* head = found.head;
    const ori::Source source = head->last->source;
    Instr* compare = function_.singleDef(head->last->guard().reg);
    function_.erase(head->last);
    function_.erase(compare);
    std::vector<bool> isGone(function_.blockIdCount() + 1, false);
    for (const BlockId id : found.blocks) {
      isTaken_[id] = true;
      isGone[id] = id != head->id;
    }
    Block* choice = function_.newBlockAfter(head);
    choice->loopDepth = head->loopDepth;
    isGone.resize(function_.blockIdCount(), false);

    ori::Builder b(function_, head);
    b.setSource(source);
    Operand index = found.value;
    if (table.first != 0) {
      index = b.newR();
      b.emit(Op::IADD3, {index, Operand::pt(), Operand::pt(), found.value,
                         Operand::immediate(static_cast<std::int32_t>(0u - table.first)), Operand::rz()});
    }
    const Operand isBeyond = b.newP();
    b.emit(Op::ISETP,
           {isBeyond, Operand::pt(), index, Operand::immediate(static_cast<std::int32_t>(table.span)), Operand::pt()},
           {{Mod::Cmp, isa::ICmp::GE}, {Mod::Type, isa::IntType::U32}, {Mod::Bool, isa::BoolOp::AND}});
    b.setGuard(isBeyond);
    b.branch(function_.block(table.usual));
    head->fallthrough = choice->id;
    ori::Builder jump(function_, choice);
    jump.setSource(source);
    ori::emitJmx(jump, index, targets);
    function_.eraseBlocks(isGone);
  }

  // --- chains

  /// The test at the end of a block, if it compares with one number.
  std::optional<Case> caseAt(Block* block) const {
    const auto test = wordTestAt(function_, block);
    if (!test || test->numbers.size() != 1 || test->numbers[0].first != test->numbers[0].last) return std::nullopt;
    return Case{block, test->compare, test->numbers[0].first, test->target, test->rest};
  }

  /// The comparisons of one value with different numbers, each made when the previous one has failed.
  std::vector<Case> chainFrom(Block* head) {
    std::vector<Case> chain;
    for (Block* at = head; at;) {
      const auto found = caseAt(at);
      if (!found) break;
      const bool isFirst = chain.empty();
      // Blocks after the first contain nothing but the comparison.
      if (!isFirst && (found->compare != at->first || found->compare->next != at->last)) break;
      if (!isFirst && found->compare->op_(2).value() != chain.front().compare->op_(2).value()) break;
      if (std::any_of(chain.begin(), chain.end(), [&](const Case& c) { return c.number == found->number; })) break;
      chain.push_back(*found);
      isTaken_[at->id] = true;
      Block* next = function_.block(found->rest);
      if (next == head || next->id == cfg_->entry() || cfg_->predecessors(next->id).size() != 1 || isTaken_[next->id])
        break;
      at = next;
    }
    // The default target must not be the target of a case: its phis would have the same predecessor twice.
    if (!chain.empty() &&
        std::any_of(chain.begin(), chain.end(), [&](const Case& c) { return c.target == chain.back().rest; }))
      chain.clear();
    return chain;
  }

  bool pays(const std::vector<Case>& chain) {
    const Instr* where = chain.front().block->last;
    if (!divergence_)
      divergence_ = &function_.analyses().divergence(); // before the first tree changes the control flow
    const bool isUniform = divergence_->isUniform(chain.front().compare->op_(2).value());
    const std::size_t wanted = isUniform ? fewest_ : kTimesWhenDivergent * fewest_;
    if (chain.size() >= wanted) return true;
    if (chain.size() > 2)
      context_.remarks.missed(where,
                              fmt::format("no comparison tree: {} comparisons, minimum is {} for a {} value",
                                          chain.size(), wanted, isUniform ? "uniform" : "divergent"),
                              static_cast<int>(chain.size()));
    return false;
  }

  /// The tests of the chain become the leaves of a tree, sorted by number.
  void build(std::vector<Case> chain) {
    Block* head = chain.front().block;
    const Operand value = chain.front().compare->op_(2).value();
    const BlockId rest = chain.back().rest;
    const BlockId last = chain.back().block->id;
    context_.remarks.applied(head->last, fmt::format("replaced {} comparisons of one value with a tree", chain.size()),
                             static_cast<int>(chain.size()));
    source_ = head->last->source;
    depth_ = head->loopDepth;
    // The first test is split from the block of the code before it.
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
    splitLeaves(chain, 0, chain.size(), rest);
    head->fallthrough = treeOf(chain, 0, chain.size(), value, head)->id;
  }

  /// Makes the test branch to its target, and fall through to `rest` where it fails.
  void leadOnTo(const Case& c, BlockId rest) {
    Instr* branch = c.block->last;
    if (branch->op_(1).reg != c.target) {
      function_.setGuard(branch, branch->guard().value().notted());
      function_.setOperand(branch, 1, Operand::label(c.target));
    }
    c.block->fallthrough = rest;
  }

  /// Gives the phis of `block` the same source for predecessor `added` as for `known`.
  void addPhiSource(BlockId block, BlockId known, BlockId added) {
    for (Instr& phi : *function_.block(block)) {
      if (phi.op != Op::PHI) break;
      const Operand sources[] = {*ori::phiValueFrom(phi, known), Operand::label(added)};
      function_.addOperands(&phi, sources);
    }
  }

  /// The tests of one leaf are in sequence: only the last of them leads to `rest`, where all have failed.
  void splitLeaves(const std::vector<Case>& chain, std::size_t from, std::size_t to, BlockId rest) {
    if (to - from > kMaxAtLeaf) {
      splitLeaves(chain, from, from + (to - from) / 2, rest);
      splitLeaves(chain, from + (to - from) / 2, to, rest);
      return;
    }
    for (std::size_t i = from; i + 1 < to; ++i) {
      ori::removePhiSource(function_, function_.block(rest), chain[i].block->id);
      chain[i].block->fallthrough = chain[i + 1].block->id;
    }
  }

  /// Returns the block that decides between the cases from `from` up to `to`.
  Block* treeOf(const std::vector<Case>& chain, std::size_t from, std::size_t to, const Operand& value, Block* after) {
    if (to - from <= kMaxAtLeaf) return chain[from].block;
    const std::size_t middle = from + (to - from) / 2;
    Block* node = function_.newBlockAfter(after);
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
  const ori::Cfg* cfg_;
  const ori::Divergence* divergence_ = nullptr;
  std::vector<bool> isTaken_; // by block
  const std::size_t fewest_;
  const std::uint64_t fewestInTable_;
  ori::Source source_;
  std::uint8_t depth_ = 0;
};

} // namespace

/// Phase 14, and again as 30. Converts sequences of tests on one value. If the numbers are dense, a table is read
/// instead (JMX, which phase 80 expands). Other chains of comparisons with many numbers become a balanced tree: the
/// numbers are halved until two are left. A value that differs between lanes requires more cases, as those lanes run
/// all tests of either form.
bool doSwitchOpt(ori::Function& function, PhaseContext& context) {
  return Switches(function, context).run();
}

} // namespace orias::phases
