#include "phases/modulo/expand.h"

#include "ori/builder.h"
#include "ori/cfg_edit.h"

#include <algorithm>
#include <fmt/format.h>

namespace orias::phases::modulo {

using isa::Operand;
using ori::Block;
using ori::BlockId;
using ori::Instr;

namespace {

/// Step n of the pipelined loop runs stage s of iteration n - s, for all s. The prologue is the steps in which some of
/// these iterations do not exist yet; the kernel is the others. Each step ends with the branch of iteration n. Where
/// that leaves the loop, further steps without iterations above n finish the iterations in flight.
class Expander {
 public:
  Expander(ori::Function& function, const LoopBody& body, const Schedule& schedule, const Expansion& expansion,
           BlockId exit)
      : function_(function), body_(body), schedule_(schedule), expansion_(expansion), exit_(exit),
        order_(schedule.slotOrder()), stages_(static_cast<int>(schedule.stages())) {}

  Block* run() {
    nameValues();
    const int unroll = static_cast<int>(expansion_.unroll);
    std::vector<Block*> steps;
    for (int n = 0; n < stages_ - 1 + unroll; ++n)
      steps.push_back(newBlock(n < stages_ - 1 ? body_.entry->loopDepth : body_.block->loopDepth));
    // Steps with the same registers in flight share the code after the exit.
    epilogues_.assign(static_cast<std::size_t>(unroll), nullptr);
    for (int n = 0; n < static_cast<int>(steps.size()); ++n) {
      for (std::uint32_t node : order_) {
        const int iteration = n - static_cast<int>(schedule_.stage(node));
        if (iteration >= 0 && node != body_.branch()) copyTo(steps[n], node, iteration);
      }
      Block* end = epilogueOf(n);
      const bool isLast = n + 1 == static_cast<int>(steps.size());
      Block* next = isLast ? steps[stages_ - 1] : steps[n + 1];
      branchTo(steps[n], n, isLast ? next : end, isLast);
      steps[n]->fallthrough = isLast ? end->id : next->id;
    }
    replaceBlock(steps);
    return steps[0];
  }

 private:
  void nameValues() {
    for (std::size_t v = 0; v < body_.values.size(); ++v) {
      const Value& value = body_.values[v];
      std::vector<ori::VRegId>& names = names_.emplace_back();
      for (unsigned c = 0; c < expansion_.copies[v]; ++c) {
        if (c == 0 && value.keepsRegister) {
          names.push_back(value.reg);
          continue;
        }
        const ori::VReg like = function_.vreg(value.reg);
        names.push_back(function_.newVReg(like.file, like.width, like.name));
        function_.vreg(names.back()).align = like.align;
        function_.vreg(names.back()).divergent = like.divergent;
      }
    }
  }

  Operand renamed(std::uint32_t node, int slot, int iteration) const {
    const Instr& instr = *body_.instrs[node];
    Operand operand = slot < 0 ? instr.guard().value() : instr.op_(static_cast<unsigned>(slot)).value();
    const ValueRef ref = body_.refs[node][static_cast<std::size_t>(slot + 1)];
    if (ref.value != ori::kNoId) operand.reg = nameOf(ref.value, iteration + ref.shift);
    return operand;
  }

  ori::VRegId nameOf(std::uint32_t value, int instance) const {
    const std::vector<ori::VRegId>& names = names_[value];
    return names[static_cast<std::size_t>(instance) % names.size()];
  }

  void copyTo(Block* block, std::uint32_t node, int iteration) {
    const Instr& instr = *body_.instrs[node];
    std::vector<Operand> operands;
    for (int slot = 0; slot < static_cast<int>(instr.operandCount); ++slot)
      operands.push_back(renamed(node, slot, iteration));
    Instr* copy = function_.create(instr.op, operands, instr.source);
    copy->mods = instr.mods;
    copy->mayContract = instr.mayContract;
    function_.append(block, copy);
    if (instr.isGuarded()) function_.setGuard(copy, renamed(node, -1, iteration));
  }

  /// Emits the branch of iteration n to `to`, for the lanes that stay or for those that leave.
  void branchTo(Block* block, int n, const Block* to, bool isForStaying) {
    const Instr& branch = *body_.instrs[body_.branch()];
    std::vector<Operand> operands;
    bool staysWhenTaken = false;
    for (int slot = 0; slot < static_cast<int>(branch.operandCount); ++slot) {
      if (branch.op_(static_cast<unsigned>(slot)).isLabel()) {
        staysWhenTaken = branch.op_(static_cast<unsigned>(slot)).reg == body_.block->id;
        operands.push_back(Operand::label(to->id));
      } else {
        operands.push_back(renamed(body_.branch(), slot, n));
      }
    }
    Instr* copy = function_.create(branch.op, operands, branch.source);
    copy->mods = branch.mods;
    function_.append(block, copy);
    const Operand condition = renamed(body_.branch(), -1, n);
    function_.setGuard(copy, staysWhenTaken == isForStaying ? condition : condition.notted());
  }

  Block* epilogueOf(int n) {
    // Before step `stages - 2` fewer iterations are in flight.
    Block** shared = n >= stages_ - 2 ? &epilogues_[static_cast<std::size_t>(n) % epilogues_.size()] : nullptr;
    if (shared && *shared) return *shared;
    Block* block = newBlock(body_.entry->loopDepth);
    ends_.push_back(block);
    for (int more = 1; more < stages_; ++more)
      for (std::uint32_t node : order_) {
        const int stage = static_cast<int>(schedule_.stage(node));
        const int iteration = n + more - stage;
        if (stage >= more && iteration >= 0 && node != body_.branch()) copyTo(block, node, iteration);
      }
    // The registers that the code after the loop reads.
    ori::Builder builder(function_, block);
    builder.setSource(body_.block->last->source);
    for (std::uint32_t v = 0; v < body_.values.size(); ++v) {
      const Value& value = body_.values[v];
      if (!value.isLiveOut) continue;
      const ori::VRegId last = nameOf(v, n + (value.kind == Value::Kind::Carried ? 1 : 0));
      if (last != value.reg) builder.copy(function_.use(value.reg), function_.use(last));
    }
    block->fallthrough = exit_;
    if (shared) *shared = block;
    return block;
  }

  Block* newBlock(std::uint8_t depth) {
    Block* block = function_.newBlock(body_.block->name);
    block->isCold = body_.block->isCold;
    block->loopDepth = depth;
    return block;
  }

  void replaceBlock(const std::vector<Block*>& steps) {
    std::vector<Block*> from;
    for (Block* block : function_.layout())
      if (block != body_.block) from.push_back(block);
    for (Block* block : from) {
      bool leadsHere = false;
      function_.forEachSuccessor(*block, [&](BlockId to) { leadsHere |= to == body_.block->id; });
      if (leadsHere) ori::redirectEdge(function_, block, body_.block, steps[0]);
    }
    std::vector<Block*> order;
    for (Block* block : function_.layout()) {
      const bool isNew =
          std::ranges::find(steps, block) != steps.end() || std::ranges::find(ends_, block) != ends_.end();
      if (block == body_.block) {
        order.insert(order.end(), steps.begin(), steps.end());
        // The last step falls through to its epilogue.
        order.push_back(function_.block(steps.back()->fallthrough));
        for (Block* end : ends_)
          if (end->id != steps.back()->fallthrough) order.push_back(end);
        order.push_back(block);
      } else if (!isNew) {
        order.push_back(block);
      }
    }
    function_.setLayout(std::move(order));
    function_.eraseBlock(body_.block);
  }

  ori::Function& function_;
  const LoopBody& body_;
  const Schedule& schedule_;
  const Expansion& expansion_;
  const BlockId exit_;
  const std::vector<std::uint32_t> order_;
  const int stages_;
  std::vector<std::vector<ori::VRegId>> names_; // by value: registers of its instances, used in rotation
  std::vector<Block*> epilogues_;               // by number of the step, modulo the copies of the kernel
  std::vector<Block*> ends_;                    // all epilogues
};

} // namespace

Block* expandLoop(ori::Function& function, const LoopBody& body, const Schedule& schedule, const Expansion& expansion,
                  BlockId exit) {
  return Expander(function, body, schedule, expansion, exit).run();
}

std::size_t expandedSize(const LoopBody& body, const Schedule& schedule, const Expansion& expansion) {
  const std::size_t stages = schedule.stages();
  std::size_t size = 0;
  for (std::uint32_t n = 0; n < body.instrs.size(); ++n) {
    const std::size_t stage = schedule.stage(n);
    const std::size_t inPrologue = stages - 1 - stage;
    const std::size_t earlyExits = stages > 2 ? (stages - 2) * stage : 0; // at most
    size += inPrologue + expansion.unroll * (1 + stage) + earlyExits;
  }
  return size;
}

} // namespace orias::phases::modulo
